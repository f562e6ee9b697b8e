"""The house keeps its plan: who may import whom, what each stage depends on, what the README shows."""

import dataclasses
import re
import subprocess
import sys
from typing import ClassVar, get_origin, get_type_hints

import pytest
import yaml

from bakeoff.config.run import KINDS
from imports import ROOT, SRC, closure, imported_modules, own_files, room_of, shortest_paths

# What each room may import, besides itself. Single modules at the top are rooms of one file.
EVERYWHERE = {"errors", "whole", "__init__"}
ALLOWED = {
    "cli": {
        "compare", "config", "machine", "object_detection_api", "planning", "predict", "progress", "quiet",
        "reproduce", "runs", "sweep", "tracking", "workspace",
    },
    "compare": {"dvc", "effects", "metrics", "report", "runs", "tasks", "tracking", "workspace"},
    "reproduce": {"config", "dvc", "tracking", "workspace"},
    "effects": {"report"},
    "sweep": {"config", "dvc", "effects", "machine", "planning", "progress", "runs", "tables", "tracking", "workspace"},
    "stages": {
        "config", "export", "input", "machine", "networks", "object_detection_api", "pictures", "progress", "quiet",
        "records", "report", "runs", "tasks", "tracking", "training", "workspace",
    },
    "export": {"boxes", "input", "machine", "networks", "predict", "quiet", "records", "tasks", "training"},
    "predict": {
        "config", "dvc", "input", "networks", "progress", "quiet", "records", "tasks", "tracking", "training",
        "workspace",
    },
    "runs": {"machine", "tracking", "workspace"},
    "planning": {"config", "dvc", "input", "lr", "networks", "quiet", "records", "tasks", "training", "workspace"},
    "object_detection_api": {
        "config", "input", "lr", "networks", "progress", "records", "tasks", "training", "workspace",
    },
    "config": {"curve", "input", "lr", "machine", "networks", "quiet", "records", "tasks", "tracking", "training"},
    "tracking": {"dvc", "machine", "progress", "workspace"},
    "training": {
        "input", "lr", "machine", "networks", "pictures", "progress", "records", "runs", "tables",
        "tasks",
    },
    "tasks": {"boxes", "metrics", "networks"},
    "input": {"boxes", "networks", "records"},
    "networks": set(),
    "records": {"progress", "workspace"},
    "report": {"metrics", "records", "tables"},
    "metrics": set(),
    "lr": set(), "boxes": set(), "curve": set(), "pictures": set(), "progress": set(), "quiet": set(), "tables": set(),
    "machine": set(), "whole": set(), "workspace": set(), "dvc": {"workspace"}, "errors": set(), "__init__": set(),
}  # fmt: skip
ONLY_IN = {
    "hydra": {"config", "sweep"},
    "omegaconf": {"config"},
    "mlflow": {"tracking"},
    "dvc": set(),
    "optuna": {"sweep"},
    "sklearn": {"records"},
}
SOURCES = sorted(SRC.rglob("*.py"))
PIPELINE = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]


def test_every_arrow_between_rooms_is_allowed() -> None:
    arrows = {(room_of(file), room_of(other), file.name) for file in SOURCES for other in own_files(file)}
    forbidden = {
        (source, target, file)
        for source, target, file in arrows
        if target not in {source, *EVERYWHERE, *ALLOWED.get(source, set())}
    }
    assert forbidden == set()


def test_every_room_is_in_the_plan() -> None:
    assert {room_of(file) for file in SOURCES} == set(ALLOWED)


@pytest.mark.parametrize("library", sorted(ONLY_IN))
def test_a_library_is_imported_only_in_its_rooms(library: str) -> None:
    users = {room_of(file) for file in SOURCES if any(name.split(".")[0] == library for name in imported_modules(file))}
    assert users <= ONLY_IN[library]


def test_stages_in_dvc_yaml_are_the_modules_in_stages() -> None:
    assert set(PIPELINE) == {file.stem for file in (SRC / "stages").glob("*.py")} - {"__init__"}


@pytest.mark.parametrize("stage", sorted(PIPELINE))
def test_a_stage_depends_on_exactly_the_code_that_it_imports(stage: str) -> None:
    listed = [path for path in PIPELINE[stage]["deps"] if path.startswith("src/")]
    assert sorted(listed) == shortest_paths(closure(SRC / "stages" / f"{stage}.py"))


@pytest.mark.parametrize("stage", sorted(PIPELINE))
def test_a_stage_command_needs_no_shell(stage: str) -> None:
    assert PIPELINE[stage]["cmd"] == f"python -m bakeoff.stages.{stage}"


@pytest.mark.parametrize("stage", ["train", "evaluate", "export"])
def test_a_stage_is_told_of_every_group_of_the_variant_that_it_reads(stage: str) -> None:
    """`variant` names a run and `track` says where copies go; neither decides a result."""
    [keys] = [
        entry["models/config/run.yaml"] for entry in PIPELINE[stage]["params"] if "models/config/run.yaml" in entry
    ]
    readers = [SRC / "stages" / f"{stage}.py", *([SRC / "training/rig.py"] if stage == "train" else [])]
    source = "".join(file.read_text(encoding="utf-8") for file in readers)
    read = set(re.findall(r"\brun\.(?!yaml)(\w+)", source)) - {"track", "name", "variant", "batches_of", "order"}
    read = read - {"legs"} | {"lr"} if "legs" in read else read  # they are made of train, lr and derived
    assert read | {"derived"} == set(keys)


@pytest.mark.parametrize(
    "module",
    [
        "bakeoff.cli",
        "bakeoff.compare.verdict",
        "bakeoff.config.run",
        "bakeoff.config.compose",
        "bakeoff.object_detection_api.options",
        "bakeoff.runs.leftovers",
        "bakeoff.runs.report",
    ],
)
def test_what_does_not_compute_does_not_import_tensorflow(module: str) -> None:
    heavy = "{'tensorflow', 'keras', 'mlflow', 'sklearn'} & set(sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, {module}; print({heavy} or 'light')"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "light", done.stderr


def test_the_tree_in_the_readme_is_the_real_one() -> None:
    """Every path shown exists, and every file is shown by itself or by a folder that is shown without its content."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [tree] = re.findall(r"```tree\n(.*?)```", readme, re.DOTALL)
    shown: list[str] = []
    folders: list[str] = []
    for line in tree.splitlines():
        match = re.match(r"( *)(\S+)", line)
        assert match, line
        folders[len(match[1]) // 2 :] = [match[2]]
        shown.append("".join(folders))
    leaves = {path for path in shown if not any(other.startswith(path) for other in shown if other != path)}
    real = _tracked_files()
    assert [path for path in leaves if not any(_covers(path, file) for file in real)] == []
    assert [file for file in real if not any(_covers(path, file) for path in leaves)] == []


def _covers(shown: str, file: str) -> bool:
    return file.startswith(shown) if shown.endswith("/") else file == shown


@pytest.mark.parametrize("group", sorted(KINDS))
def test_every_key_and_option_is_in_the_reference(group: str) -> None:
    reference = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
    [section] = re.findall(rf"^### {group}\n(.*?)(?=^##)", reference, re.DOTALL | re.MULTILINE)
    words = set(re.findall(r"[\w.]+", section))
    options = {file.stem for file in (ROOT / "conf" / group).glob("*.yaml")}
    keys = {key for cls in KINDS[group].values() for key in _keys(cls)}
    assert (options | keys) - words == set()


@pytest.mark.parametrize("group", sorted(KINDS))
def test_every_key_is_read_somewhere(group: str) -> None:
    """A setting that nothing reads is a promise that nothing keeps."""
    code = "\n".join(file.read_text(encoding="utf-8") for file in SOURCES)
    for cls in KINDS[group].values():
        for key in _keys(cls):
            name = key.rpartition(".")[2]
            assert re.search(rf"[\w)]\.{name}\b", code), f"{group}.{key}"


def _keys(cls: type, prefix: str = "") -> list[str]:
    keys = []
    for field, hint in get_type_hints(cls).items():
        if get_origin(hint) is ClassVar:
            continue
        keys += _keys(hint, f"{prefix}{field}.") if dataclasses.is_dataclass(hint) else [f"{prefix}{field}"]
    return keys


def test_the_changelog_starts_with_this_version() -> None:
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert version and first and first[1] == version[1]


def test_the_lock_names_no_address() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert not re.search(r"https?:|index-url|find-links", lock)


def _tracked_files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return listed.stdout.splitlines()
