"""What a run read besides its code is brought along, or named."""

from pathlib import Path

import pytest

from bakeoff.experiments.reproduce import run_inputs
from bakeoff.experiments.reproduce.clean_clone import fresh_workspace
from bakeoff.experiments.reproduce.run_inputs import bring
from bakeoff.learning.checkpoints.trained_state import TrainedState
from support.messages import missing_in
from support.repository import git

IMAGES = {"data": {"kind": "image_folders", "path": "data/raw/photos"}}


@pytest.fixture
def photos(commit: str) -> Path:
    Path("data/raw/photos/cat").mkdir(parents=True)
    Path("data/raw/photos/cat/1.jpg").write_bytes(b"a cat")
    return Path("data/raw/photos")


def brought(
    run_yaml: dict, commit: str, *files: str, state: dict | None = None
) -> tuple[list[tuple[str, bool]], list[bool]]:
    """What is said of what is missing, and which files are there then."""
    with fresh_workspace(commit, None, keep=False) as folder:
        lacks = bring(run_yaml, TrainedState.from_tree(state or {}), folder, print)
        return [(lack.text, lack.is_fatal) for lack in lacks], [(folder / path).is_file() for path in files]


def test_drawn_data_needs_nothing(commit: str) -> None:
    assert brought({"data": {"kind": "digit_scenes"}}, commit) == ([], [])


def test_data_that_neither_git_nor_dvc_has_is_taken_as_it_is_now_and_that_is_said(commit: str, photos: Path) -> None:
    lacks, there = brought(IMAGES, commit, "data/raw/photos/cat/1.jpg")
    [(lack_text, is_fatal)] = lacks
    assert not is_fatal and missing_in(lack_text, "data/raw/photos", "git", "DVC", "as it is") == []
    assert there == [True]
    assert (photos / "cat/1.jpg").read_bytes() == b"a cat"  # the fresh workspace went away, what it linked did not


def test_data_that_is_taken_as_it_is_is_no_link_to_a_folder(commit: str, photos: Path) -> None:
    """Which render_config refuses, for DVC sees nothing through it."""
    with fresh_workspace(commit, None, keep=False) as folder:
        bring(IMAGES, TrainedState(), folder, print)
        taken = folder / "data/raw/photos"
        assert (taken / "cat/1.jpg").read_bytes() == b"a cat"
        assert not any(path.is_symlink() for path in (taken, *taken.rglob("*")))


def test_data_that_is_nowhere_is_named_before_anything_runs(commit: str) -> None:
    [(lack_text, is_fatal)], _ = brought(IMAGES, commit)
    assert is_fatal and missing_in(lack_text, "data/raw/photos", "git", "DVC", "`dvc push`") == []


def test_each_part_of_merged_data_is_looked_for(commit: str, photos: Path) -> None:
    for name, path in (("one", "data/raw/photos"), ("two", "data/raw/gone")):
        Path(f"conf/data/{name}.yaml").parent.mkdir(exist_ok=True)
        Path(f"conf/data/{name}.yaml").write_text(f"kind: image_folders\npath: {path}\n", encoding="utf-8")
    git("add", "--all")
    git("commit", "--quiet", "--message", "options")
    lacks, _ = brought({"data": {"kind": "merged", "merge": ["one", "two"]}}, git("rev-parse", "HEAD"))
    assert [(text.split(":")[0], is_fatal) for text, is_fatal in lacks] == [
        ("data/raw/photos", False), ("data/raw/gone", True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("remote", "where"),
    [
        ("", ("DVC's cache", "no remote")),
        ("['remote \"store\"']\n    url = /store\n", ("DVC's cache", "its remote (no such file)")),
    ],
)  # fmt: skip
def test_data_of_which_dvc_has_but_the_name_is_missing(
    commit: str, remote: str, where: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("data/raw").mkdir(parents=True)
    Path("data/raw/photos.dvc").write_text("outs:\n- md5: 0f.dir\n  path: photos\n", encoding="utf-8")
    Path(".dvc/config").write_text(remote, encoding="utf-8")
    git("add", "--force", "--all", "data", ".dvc")
    git("commit", "--quiet", "--message", "data")
    asked = []

    def failing(command: list[str], folder: Path, show: object) -> tuple[int, list[str]]:
        asked.append(command[3])
        (folder / "data/raw/photos").mkdir(exist_ok=True)  # a part of it
        return 1, ["some words", "ERROR: no such file"]

    monkeypatch.setattr(run_inputs, "run_command", failing)
    [(lack_text, is_fatal)], _ = brought(IMAGES, git("rev-parse", "HEAD"))
    assert is_fatal and missing_in(lack_text, "data/raw/photos", "git", *where, "`dvc push`") == []
    brought({"data": {"path": "data/raw/others"}}, git("rev-parse", "HEAD"))  # which is nothing to ask DVC for
    assert asked == (["checkout", "pull"] if remote else ["checkout"])


def test_first_weights_of_another_run_are_those_that_were_fetched(commit: str) -> None:
    run = {"train": {"init": {"weights": "0f" * 16}}}
    kept = Path(f".bakeoff/fetched/{'0f' * 16}/best.weights.h5")
    [(lack_text, is_fatal)], _ = brought(run, commit)
    assert is_fatal and lack_text.endswith("are not in .bakeoff/fetched any more")
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"weights")
    assert brought(run, commit, kept.as_posix()) == ([], [True])


def test_first_weights_in_a_file_are_taken_as_they_are(commit: str) -> None:
    Path("pretrained.h5").write_bytes(b"weights")
    lacks, there = brought({"train": {"init": {"weights": "pretrained.h5", "names": None}}}, commit, "pretrained.h5")
    assert there == [True]
    [(lack_text, is_fatal)] = lacks
    assert not is_fatal and missing_in(lack_text, "pretrained.h5", "first weights", "git", "DVC", "as it is") == []


@pytest.mark.parametrize("weights", ["zoo/ssd", "zoo/ssd/ckpt-0", "data/weights/zoo/ssd/ckpt-0.index"])
def test_a_checkpoint_of_the_zoo_comes_along_whole(commit: str, weights: str) -> None:
    folder = Path("data/weights/zoo/ssd")
    folder.mkdir(parents=True)
    parts = [f"{folder}/ckpt-0{end}" for end in (".data-00000-of-00001", ".index")]
    for part in parts:
        Path(part).write_bytes(b"weights")
    lacks, there = brought({"train": {"init": {"weights": weights}}}, commit, *parts)
    assert there == [True, True]
    named = [folder.as_posix()] if weights == "zoo/ssd" else parts
    assert [(text.split(":")[0], is_fatal) for text, is_fatal in lacks] == [(name, False) for name in named]


def test_a_checkpoint_of_the_zoo_that_dvc_tracks_is_asked_of_dvc(commit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("data/weights/zoo").mkdir(parents=True)
    Path("data/weights/zoo/ssd.dvc").write_text("outs:\n- md5: 0f.dir\n  path: ssd\n", encoding="utf-8")
    git("add", "--force", "--all", "data")
    git("commit", "--quiet", "--message", "weights")

    def checkout(command: list[str], folder: Path, show: object) -> tuple[int, list[str]]:
        assert command[3:] == ["checkout", "data/weights/zoo/ssd.dvc"]
        (folder / "data/weights/zoo/ssd").mkdir()
        (folder / "data/weights/zoo/ssd/ckpt-0.index").write_bytes(b"weights")
        return 0, []

    monkeypatch.setattr(run_inputs, "run_command", checkout)
    lacks = brought({"train": {"init": {"weights": "zoo/ssd"}}}, git("rev-parse", "HEAD"),
                    "data/weights/zoo/ssd/ckpt-0.index")  # fmt: skip
    assert lacks == ([], [True])


def test_first_weights_in_the_home_of_nobody_are_said_to_be_missing(commit: str) -> None:
    [(lack_text, is_fatal)], _ = brought({"train": {"init": {"weights": "~nobody-of-that-name/ckpt-0"}}}, commit)
    assert is_fatal and missing_in(lack_text, "~nobody-of-that-name/ckpt-0", "first weights", "neither in") == []


@pytest.mark.parametrize("named", ["0a1b", "0a1b2c3d4e5f6071", "4e" * 16])
def test_the_run_that_it_continues_comes_along(commit: str, named: str) -> None:
    work = Path(".bakeoff/runs/0a1b2c3d4e5f6071")
    (work / "1-run").mkdir(parents=True)
    (work / "1-run/00000004").write_bytes(b"checkpoint")
    (work / "run").write_text("4e" * 16, encoding="utf-8")
    (work / "lock").touch()
    state = {"lineage": {"parents": [{"fingerprint": work.name, "step": 4}]}}
    lacks, there = brought(
        {"train": {"continue_from": named}}, commit, f"{work}/1-run/00000004", f"{work}/lock", state=state
    )
    assert there == [True, False]
    [(lack_text, is_fatal)] = lacks
    named = ("train.continue_from", "last checkpoint", "run 0a1b2c3d4e5f6071", "as it is")
    assert not is_fatal and missing_in(lack_text, *named) == []


@pytest.mark.parametrize(
    ("state", "parts"),
    [
        ({}, ("run 0a1b ", ".bakeoff/runs")),
        ({"lineage": {"parents": [{"fingerprint": "7788"}]}}, ("fingerprint", " id")),
    ],
)  # fmt: skip
def test_a_run_that_it_continues_and_that_is_not_here_is_fatal(
    commit: str, state: dict, parts: tuple[str, ...]
) -> None:
    Path(".bakeoff/runs/7788").mkdir(parents=True)
    [(lack_text, is_fatal)], _ = brought({"train": {"continue_from": "0a1b"}}, commit, state=state)
    assert is_fatal and missing_in(lack_text, "train.continue_from", *parts) == []
