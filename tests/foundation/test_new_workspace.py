"""What `bakeoff init` writes, and where it writes nothing."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
import yaml

from bakeoff.config.compose.compose import compose
from bakeoff.foundation import new_workspace, workspace
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.new_workspace import make_workspace
from bakeoff.foundation.result_code import DECIDING
from support.imports import ROOT
from support.messages import missing_in

PIPELINE = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))
OTHERS_STAGES = "stages:\n  clean:\n    cmd: echo\n"


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def test_the_stages_are_the_repositorys_with_a_digest_for_each_folder_of_code(tmp_path: Path) -> None:
    make_workspace(tmp_path, example=True)
    made = yaml.safe_load((tmp_path / "dvc.yaml").read_text(encoding="utf-8"))
    code = made["stages"].pop("code")
    assert code["always_changed"] and code["outs"] == [{"models/code.yaml": {"cache": False, "persist": True}}]
    assert made["stages"].keys() == DECIDING.keys()
    for name, stage in made["stages"].items():
        assert stage["params"].pop(0) == {"models/code.yaml": [name]}
        ours = PIPELINE["stages"][name]
        own = [path for path in ours["deps"] if not path.startswith("src/") and path != "conf/variant.yaml"]
        assert stage == {**ours, "deps": own}
    assert {**made, "stages": 0} == {**PIPELINE, "stages": 0}


@pytest.mark.parametrize("example", [True, False])
def test_the_example_composes_as_the_repository_does_and_an_own_one_asks_for_data(
    tmp_path: Path, example: bool
) -> None:
    make_workspace(tmp_path, example=example)
    with chdir(tmp_path):
        composed = compose(workspace.PARAMS, workspace.CONF)
        place = composed.place_of("lr.peak")
    assert place.startswith(f"bakeoff/conf/lr/{'cosine' if example else 'photographs'}")
    assert composed.preset == ("demo" if example else "photographs")
    if example:
        assert composed.problems.lines == []
        assert composed.tree == compose(ROOT / "params.yaml", ROOT / "conf").tree
    else:
        [line] = composed.problems.lines
        assert missing_in(line, "params.yaml", ": data: is missing; ", "yolo") == []


def test_an_own_option_stands_beside_the_built_in_ones_and_before_them(tmp_path: Path) -> None:
    make_workspace(tmp_path, example=True)
    conf = tmp_path / "conf"
    (conf / "lr/gentle.yaml").write_text("defaults: [cosine]\npeak: 0.0007\n", encoding="utf-8")
    (conf / "memory/medium.yaml").write_text("budget: 3.5GB\n", encoding="utf-8")
    params = tmp_path / "params.yaml"
    gentle = compose(params, conf, overrides=["lr=gentle"])
    assert gentle.tree["lr"] == compose(params, conf, overrides=["lr=cosine", "lr.peak=0.0007"]).tree["lr"]
    assert gentle.tree["memory"]["budget"] == "3.5GB" and gentle.problems.lines == []
    [warning] = gentle.problems.warnings
    assert missing_in(warning, "memory", "conf/memory/medium.yaml", "built-in") == []


def test_a_killed_init_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_workspace(tmp_path / "whole", example=False)
    whole = contents(tmp_path / "whole")
    write = new_workspace.write_whole
    for writes in range(len(whole)):
        left = iter(range(writes))

        def killed(path: Path, content: str, *, lasting: bool, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise KeyboardInterrupt
            write(path, content, lasting=lasting)

        folder = tmp_path / str(writes)
        monkeypatch.setattr(new_workspace, "write_whole", killed)
        with pytest.raises(KeyboardInterrupt):
            make_workspace(folder, example=False)
        assert not (folder / "dvc.yaml").exists()
        (folder / "conf").mkdir(exist_ok=True)
        (folder / "conf/README.md.4711.partial").touch()  # as a kill in the middle of a write leaves it
        monkeypatch.setattr(new_workspace, "write_whole", write)
        make_workspace(folder, example=False)
        assert contents(folder) == whole


def test_what_a_repository_has_stays_and_its_rules_for_git_grow(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / ".gitignore").write_text("*.log\n.env\n", encoding="utf-8")
    (tmp_path / "robot.py").write_text("drive()\n", encoding="utf-8")
    inner = tmp_path / "vision"
    make_workspace(inner, example=False)
    assert not (inner / ".git").exists()
    make_workspace(tmp_path / "second", example=False)  # beside it
    shutil.rmtree(inner)
    shutil.rmtree(tmp_path / "second")
    written = make_workspace(tmp_path, example=False)
    assert ".gitignore" in written and (tmp_path / "robot.py").read_text(encoding="utf-8") == "drive()\n"
    rules = (tmp_path / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert rules[:2] == ["*.log", ".env"] and ".bakeoff/" in rules and rules.count(".env") == 1


def fill(folder: Path, **files: str) -> None:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_yaml", ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


@pytest.mark.parametrize(
    ("files", "parts"),
    [
        ({"dvc_yaml": OTHERS_STAGES}, ("dvc.yaml", "stages of something else")),
        ({"params_yaml": "lr: 0.1\n"}, ("params.yaml", "free")),
        ({"conf__db__mysql_yaml": "port: 1\n"}, ("conf/db/mysql.yaml", "free")),
    ],
)
def test_init_refuses_a_folder_that_something_else_uses(
    files: dict[str, str], parts: tuple[str, ...], tmp_path: Path
) -> None:
    fill(tmp_path, **files)
    before = contents(tmp_path)
    with pytest.raises(WorkspaceError) as refused:
        make_workspace(tmp_path, example=True)
    assert missing_in(str(refused.value), *parts) == [] and "\n" not in str(refused.value)
    assert contents(tmp_path) == before and not (tmp_path / ".git").exists()


def test_init_refuses_a_workspace_its_inside_and_a_file(tmp_path: Path) -> None:
    made = tmp_path / "made"
    make_workspace(made, example=True)
    (tmp_path / "file").touch()
    for folder, part in ((made, "is a workspace already"), (made / "data/mine", "made"), (tmp_path / "file", "a file")):
        with pytest.raises(WorkspaceError, match=part):
            make_workspace(folder, example=True)


def test_init_needs_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkspaceError, match="git: must be installed"):
        make_workspace(tmp_path / "made", example=False)
    assert not (tmp_path / "made").exists()
