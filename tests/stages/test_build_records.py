"""build_records as a user runs it: by hand and through DVC, on files of their own."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.stages import build_records
from support.drawing import encoded, voc, write, write_images
from support.messages import missing_in
from support.workspace_copy import Workspace, tiny_workspace

FOLDERS = "data: {use: image_folders, path: data/raw/animals}"
Stage = Callable[[], tuple[int, list[str], list[str]]]


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """With images, of which no records were built."""
    workspace = tiny_workspace(tmp_path_factory.mktemp("new") / "clone", {"data": FOLDERS})
    write_images(workspace.folder / "data/raw/animals", {"cat": 10, "dog": 10})
    return workspace


@pytest.fixture
def workspace(new: Workspace, tmp_path: Path) -> Workspace:
    return new.copy(tmp_path / "clone")


@pytest.fixture
def stage(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Stage:
    """Exit code, output and errors of the stage in this process, with the code of these tests."""
    shutil.rmtree(workspace.folder / "src")
    monkeypatch.chdir(workspace.folder)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.setattr(sys, "argv", ["build_records", "--workers", "1"])

    def answer() -> tuple[int, list[str], list[str]]:
        code = 0
        try:
            build_records.main()
        except SystemExit as end:
            code = int(end.code or 0)
        printed = capsys.readouterr()
        return code, printed.out.splitlines(), printed.err.splitlines()

    return answer


def test_one_line_says_what_was_made_and_the_next_what_was_dropped(workspace: Workspace) -> None:
    write(workspace.folder / "data/raw/animals/cat/broken.jpg", encoded(77)[:300])
    printed = workspace.run("python", "-m", "bakeoff.stages.build_records", "--workers", "2").stdout.splitlines()
    parts = ("build_records: 16 train", "4 validation", "2 classes", "classification", "1 file rejected")
    assert missing_in(printed[0], *parts) == []
    assert any(line.startswith("  rejected: cat/broken.jpg: broken JPEG: cut off") for line in printed[1:])
    assert printed[-1].startswith("  in 2 shards: data/records/ (digest ")


def test_a_mistake_is_a_line_and_an_exit_code(workspace: Workspace, stage: Stage) -> None:
    workspace.edit("params.yaml", "data/raw/animals", "data/raw/animal")
    code, _, printed = stage()
    assert code == 2
    [line] = printed
    assert missing_in(line, "data/raw/animal: ", "data.path", "`dvc add data/raw/animal`") == []


def test_options_are_merged_by_name(workspace: Workspace, stage: Stage) -> None:
    write_images(workspace.folder / "data/raw/more", {"cat": 5, "dog": 5}, first_seed=100)
    for name, folder in (("first", "animals"), ("second", "more")):
        write(workspace.folder / f"conf/data/{name}.yaml", f"kind: image_folders\npath: data/raw/{folder}\n")
    workspace.edit("params.yaml", FOLDERS, "data: {use: merged, merge: [first, second]}")
    _, printed, _ = stage()
    assert printed[0].startswith("build_records: 24 train, 6 validation examples of 2 classes")
    workspace.edit("params.yaml", "[first, second]", "[first, digits]")
    code, _, printed = stage()
    [line] = printed
    assert code == 2 and missing_in(line, "params.yaml: data.merge: ", "digits", "DigitScenes") == []


@pytest.mark.parametrize("place", ["data/raw/animals", "data/raw/deep/down"])
def test_dvc_notices_a_changed_an_added_a_removed_and_a_replaced_file(place: str, workspace: Workspace) -> None:
    (workspace.folder / place).parent.mkdir(exist_ok=True)
    (workspace.folder / "data/raw/animals").rename(workspace.folder / place)
    workspace.edit("params.yaml", "data/raw/animals", place)
    workspace.build()
    workspace.commit_stage("build_records")
    assert workspace.repro("build_records") == set()
    raw = workspace.folder / place
    digests = [workspace.records_digest()]
    changes = (
        lambda: write(raw / "cat/003.jpg", encoded(500)),
        lambda: write(raw / "cat/new.jpg", encoded(501)),
        lambda: (raw / "dog/004.jpg").unlink(),
        lambda: (raw / "dog/005.jpg").replace(raw / "dog/006.jpg"),
    )
    for change in changes:
        change()
        assert workspace.changed_dependencies("build_records") == {"data/raw"}
        workspace.build()
        workspace.commit_stage("build_records")
        assert workspace.changed_dependencies("build_records") == set()
        digests.append(workspace.records_digest())
    assert len(set(digests)) == 5


def test_an_experiment_in_a_copy_has_the_data_after_dvc_add_and_says_so_before(workspace: Workspace) -> None:
    done = workspace.run("dvc", "exp", "run", "--temp", "build_records", ok=False)
    assert "`dvc add data/raw/animals`" in done.stdout + done.stderr
    workspace.dvc("add", "data/raw/animals")
    workspace.commit()
    assert "data/raw/animals.dvc" in workspace.run("git", "ls-files").stdout.split()
    workspace.run("dvc", "exp", "run", "--temp", "-S", "+data.max_side=16", "build_records")


def test_files_side_by_side_are_named_by_empty_folders(workspace: Workspace, stage: Stage) -> None:
    raw = workspace.folder / "data/raw/boxes"
    for number in range(4):
        write(raw / f"{number}.jpg", encoded(number))
        write(raw / f"{number}.xml", voc([("cat", 1, 1, 9, 9)]))
    workspace.edit("params.yaml", FOLDERS, 'data: {use: pascal_voc, path: data/raw/boxes, images: "", annotations: ""}')
    _, printed, _ = stage()
    assert missing_in(printed[0], "build_records: 3 train", "1 validation", "1 class ", "detection") == []
