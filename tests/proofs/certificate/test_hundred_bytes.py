"""A real run, reproduced, certified and cloned: one bit of a hundred bytes is flipped there, and each byte is named."""

import hashlib
import json
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from support.workspace_copy import Workspace, tiny_workspace

pytest.importorskip("model_signing", reason="the extra `certify` is not installed")
pytestmark = pytest.mark.slow
EACH = 20  # flips in a part
PARTS = ("weights", "config", "data", "lock", "code")
OFFICIAL = ("-c", "import sys; from model_signing._cli import main; sys.argv[0] = 'model_signing'; main()")
BAKEOFF = (sys.executable, "-m", "bakeoff")


@pytest.fixture(scope="module")
def author(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with a run, its reproduction, a pair of keys and the signed folder."""
    place = tmp_path_factory.mktemp("proof")
    author = tiny_workspace(place / "author")
    author.run("dvc", "remote", "add", "--quiet", "--default", "shelf", str(place / "shelf"))
    author.run(*BAKEOFF, "repro")
    author.commit()
    author.run(*BAKEOFF, "reproduce", "HEAD")
    author.run("dvc", "push", "--quiet")
    private, public = place / "private.pem", place / "certificate.pub"
    author.run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(private))
    author.run("openssl", "ec", "-in", str(private), "-pubout", "-out", str(public))
    print(author.run(*BAKEOFF, "certify", ".", "--key", str(private), "--out", str(place / "given")).stdout)
    return author


@pytest.fixture
def clone(author: Workspace, tmp_path: Path) -> Workspace:
    """Another clone with everything pulled."""
    author.run("git", "clone", "--quiet", ".", str(tmp_path / "clone"))
    shutil.copytree(author.folder.parent / "given", tmp_path / "given")
    clone = Workspace(tmp_path / "clone")
    clone.run("dvc", "remote", "add", "--quiet", "--force", "--default", "shelf", str(author.folder.parent / "shelf"))
    assert "weights: 0 files, 0 differ, " in verify(clone, author)[1]
    clone.run("dvc", "pull", "--quiet")
    return clone


def verify(clone: Workspace, author: Workspace) -> tuple[int, str]:
    """By the author's code, for that of the clone is damaged."""
    given, key = clone.folder.parent / "given/certificate.json", author.folder.parent / "certificate.pub"
    done = author.run(*BAKEOFF, "verify", str(given), "--key", str(key), "--in", str(clone.folder), ok=False)
    assert done.stderr == "", done.stderr
    return done.returncode, done.stdout


def verify_officially(clone: Workspace, author: Workspace) -> tuple[int, str]:
    key = author.folder.parent / "certificate.pub"
    words = ("verify", "key", "../given", "--signature", "../given/model.sig", "--public_key", str(key))
    done = clone.run(sys.executable, *OFFICIAL, *words, ok=False)
    return done.returncode, done.stdout + done.stderr


def read_certificate(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "certificate.json").read_text(encoding="utf-8"))


def flip(path: Path, offset: int, bit: int) -> tuple[bytes, int, int]:
    """Flip a bit, not through a link into DVC's cache; return what the file held, and the byte now and before."""
    good = path.read_bytes()
    content = bytearray(good)
    content[offset] ^= 1 << bit
    path.unlink()
    path.write_bytes(content)
    return good, content[offset], good[offset]


def test_one_flipped_bit_of_a_hundred_bytes_is_named_each_time(author: Workspace, clone: Workspace) -> None:
    code, out = verify(clone, author)
    print(out)
    assert code == 0 and verify_officially(clone, author)[0] == 0
    tree = read_certificate(clone.folder.parent / "given")
    assert tree["predicate"]["reproduction"]["verdict"] == "identical"
    chance, named = random.Random(20), 0
    for part in PARTS:
        stated = tree["predicate"][part]["files"] if part != "weights" else tree["subject"]
        names = [one["name"] for one in stated if part != "weights" or one["name"].startswith("models/train/")]
        for _ in range(EACH):
            name = chance.choice([name for name in names if (clone.folder / name).stat().st_size])
            path = clone.folder / name
            offset = chance.randrange(path.stat().st_size)
            good, now, then = flip(path, offset, chance.randrange(8))
            code, out = verify(clone, author)
            line = f"differs: {name}: byte {offset:,}: is 0x{now:02x}, was certified as 0x{then:02x}"
            assert code == 1 and out.splitlines()[-1] == line, out
            print(line)
            path.write_bytes(good)
            named += 1
    assert named == 100 and verify(clone, author)[0] == 0


def test_a_flipped_bit_of_each_file_that_is_given_away_is_named_by_both_commands(
    author: Workspace, clone: Workspace
) -> None:
    folder, chance = clone.folder.parent / "given", random.Random(21)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    for path in files:
        name = path.relative_to(folder).as_posix()
        offset = chance.randrange(path.stat().st_size)
        good, now, then = flip(path, offset, chance.randrange(8))
        (code, out), (official_code, official_out) = verify(clone, author), verify_officially(clone, author)
        assert code == official_code == 1 and out.startswith(f"differs: {path}: "), out
        assert name == "model.sig" or name in official_out
        print(out.strip())
        if (good_copy := clone.folder / "models/export" / name).is_file() and good_copy.read_bytes() == good:
            assert f"byte {offset:,}: is 0x{now:02x}, was certified as 0x{then:02x}" in out
        path.write_bytes(good)
    assert len(files) > 8 and verify(clone, author)[0] == 0
    listed = {one["name"]: one["digest"]["sha256"] for one in read_certificate(folder)["subject"]}
    tflite = hashlib.sha256((folder / "saved_model/saved_model.pb").read_bytes()).hexdigest()
    assert listed["models/export/saved_model/saved_model.pb"] == tflite
