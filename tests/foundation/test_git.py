"""What is not committed, as a patch: applied to the commit elsewhere, it must give the same files to the byte."""

import subprocess
from pathlib import Path

import pytest

from bakeoff.foundation.git import LARGEST, list_left_out, make_patch

HOSTILE = {"color.ui": "always", "diff.noprefix": "true", "diff.external": "false", "core.quotepath": "true"}


def git(*arguments: str, given: bytes | None = None) -> bytes:
    return subprocess.run(["git", *arguments], input=given, capture_output=True, check=True).stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "t")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "t@localhost")
    git("init", "--quiet", "--initial-branch=main")
    Path("models").mkdir()
    for name, content in {
        "blank_at_the_end.py": b"one\n\n", "crlf.csv": b"a\r\nb\r\n", "latin.txt": b"caf\xe9\n", "gone.txt": b"x\n",
        "models/run.yaml": b"a: 1\n", "dvc.lock": b"a: 1\n",
    }.items():  # fmt: skip
        Path(name).write_bytes(content)
    git("add", "--all")
    git("commit", "--quiet", "--message", "first")
    return folder


def files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def edit() -> None:
    Path("blank_at_the_end.py").write_bytes(b"two\n\n")
    Path("crlf.csv").write_bytes(b"a\r\nc\r\n")
    Path("latin.txt").write_bytes(b"th\xe9\n")
    Path("gone.txt").unlink()
    Path("größe und ä.yaml").write_bytes(b"use: mine\n")
    Path("a:b*").write_bytes(b"no pattern\n")
    Path("empty").touch()
    Path("picture.png").write_bytes(bytes(range(256)) * 4)


def test_the_patch_gives_the_same_files_elsewhere(repository: Path, tmp_path: Path) -> None:
    for key, value in HOSTILE.items():
        git("config", key, value)
    edit()
    index = (repository / ".git/index").read_bytes()
    patch = make_patch()
    assert patch is not None and list_left_out(patch) == []
    assert (repository / ".git/index").read_bytes() == index
    git("clone", "--quiet", ".", str(tmp_path / "there"))
    git("-C", str(tmp_path / "there"), "apply", "--whitespace=nowarn", "-", given=patch)
    assert files(tmp_path / "there") == files(repository)


def test_outputs_of_the_stages_are_no_changes(repository: Path) -> None:
    Path("models/run.yaml").write_bytes(b"a: 2\n")
    Path("models/new.json").write_bytes(b"{}\n")
    Path("dvc.lock").write_bytes(b"a: 2\n")
    assert make_patch() is None


def test_a_large_unknown_file_is_named_with_its_size(repository: Path) -> None:
    Path("clip.mp4").write_bytes(bytes(LARGEST + 1))
    Path("small.txt").write_bytes(b"# not in here: nothing (1 bytes)\n")
    patch = make_patch()
    assert patch is not None
    assert patch.startswith(b"# not in here: clip.mp4 (1000001 bytes)\ndiff --git a/small.txt")
    assert list_left_out(patch) == ["clip.mp4"]


def test_files_that_may_hold_keys_are_named_and_never_taken(repository: Path) -> None:
    secrets = [".env", ".env.local", "home/.netrc", "id_ed25519", "aws_credentials.json", "server.pem", "my-token.txt"]
    Path("home").mkdir()
    for name in secrets:
        Path(name).write_text("s3cr3t\n")
    Path("notes.txt").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\ns3cr3t\n")
    Path("keyboard.py").write_text("tokens = 3\n")
    Path("team.key").write_text("old\n")
    git("add", "--force", "team.key")
    git("commit", "--quiet", "-m", "key")
    Path("team.key").write_text("s3cr3t\n")
    patch = make_patch()
    assert patch is not None and b"s3cr3t" not in patch
    assert sorted(list_left_out(patch)) == sorted([*secrets, "notes.txt", "team.key"])
    assert b"+tokens = 3" in patch


def test_files_that_runs_of_before_only_named_are_left_out() -> None:
    assert list_left_out(b"# git does not know conf/lr/mine.yaml\ndiff --git a/x b/x\n") == ["conf/lr/mine.yaml"]


def test_there_are_no_changes_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    assert make_patch() is None
