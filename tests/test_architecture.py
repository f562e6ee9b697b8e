"""The house keeps its plan: who may import whom, what each stage depends on, what the page of files shows."""

import ast
import dataclasses
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import ClassVar, get_origin, get_type_hints

import pytest
import yaml

from bakeoff.config.compose.variant import KINDS
from bakeoff.foundation.result_code import (
    ACCOMPANYING_WINGS,
    ASKED_BY_STAGES,
    COMPOSING_WINGS,
    DECIDING,
    DECIDING_WINGS,
    DOORS,
    GROUND,
    deciding_paths,
)
from support.imports import ROOT, SRC, imported_modules, own_files, room_of, wing_of

WINGS = (*DECIDING_WINGS, *COMPOSING_WINGS, *ACCOMPANYING_WINGS, *GROUND, "stages")
# Imports go down: a room may import rooms of the lines below its own, and the ground everywhere.
LAYERS = (
    {"app/cli"},
    {"stages"},
    {"app/api"},
    {
        "app/web", "experiments/certificate", "experiments/cluster", "experiments/data_diff", "experiments/gate",
        "experiments/learning_curve", "inference/active_learning", "inference/label_errors",
    },
    {"experiments/model_card", "experiments/sweep", "inference/device", "inference/drift", "inference/evaluate"},
    {
        "experiments/checkpoint_store", "experiments/compare", "experiments/planning", "experiments/reproduce",
        "inference/predict",
    },
    {"experiments/importance", "experiments/runs", "importing/api_config", "importing/datasets"},
    {"importing/weights"},
    {"tracking/callbacks"},
    {"tracking"},
    {"tracking/sync"},
    {"tracking/store"},
    {"tracking/journal"},
    {"tracking/results"},
    {"config/api_export"},
    {"config/compose"},
    {"config"},
    {"evaluation", "export"},
    {"learning/training"},
    {"learning/pretrained"},
    {"learning/checkpoints", "learning/run_file"},
    {"learning/plan"},
    {"learning/tasks"},
    {"dataset/building", "learning/input"},
    {"dataset/sources", "learning/lr", "learning/metrics", "learning/networks"},
    {"dataset/records"},
)  # fmt: skip
ONLY_IN = {
    "hydra": {"config/compose", "experiments/sweep"},
    "omegaconf": {"config/compose", "experiments/sweep"},
    "mlflow": {"tracking", "tracking/store", "tracking/sync"},
    "model_signing": {"experiments/certificate"},
    "dvc": {"foundation"},
    "google": {"dataset/sources", "config/api_export", "importing/api_config"},
    "optuna": {"experiments/sweep"},
    "sklearn": {"dataset/sources"},
    "jinja2": {"foundation/html"},
    "ray": {"experiments/cluster"},
    "scipy": {
        "experiments/importance",
        "experiments/learning_curve",
        "inference/label_errors",
        "learning/metrics",
        "learning/networks",
    },
    "starlette": {"app/web"},
    "uvicorn": {"app/web", "tracking/store"},
}
API = {"better", "compare", "plan", "run", "runs", "sweep", "train"}  # of app/api/functions.py
SOURCES = sorted(SRC.rglob("*.py"))
PIPELINE = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]


@cache
def find_arrows() -> list[tuple[Path, Path]]:
    """Return each file with each file that it imports; read late, for every worker of a run collects this file."""
    return sorted((file, other) for file in SOURCES for other in own_files(file) if not is_door(other))


def is_door(file: Path) -> bool:
    """Tell whether this is a module of the package itself, or a wing's `__init__` above its rooms."""
    return file.parent == SRC or (file.name == "__init__.py" and room_of(file) in WINGS)


def describe(arrows: list[tuple[Path, Path]]) -> list[str]:
    return [f"{file.relative_to(SRC).as_posix()} -> {other.relative_to(SRC).as_posix()}" for file, other in arrows]


def test_the_package_has_twelve_wings() -> None:
    assert len(WINGS) == len({*WINGS}) == 12
    folders = {path.name for path in SRC.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert (folders, {path.name for path in SRC.iterdir() if path.is_file()}) == ({*WINGS}, {*DOORS})


def test_every_room_has_one_place_in_the_order() -> None:
    rooms = [room for layer in LAYERS for room in layer]
    assert len(rooms) == len({*rooms})
    assert {room_of(file) for file in SOURCES if not is_door(file) and wing_of(file) not in GROUND} == {*rooms}


def test_imports_go_down() -> None:
    depth = {room: number for number, layer in enumerate(LAYERS) for room in layer}
    wrong = [
        (file, other)
        for file, other in find_arrows()
        if {wing_of(file), wing_of(other)}.isdisjoint(GROUND) and not is_door(file) and room_of(file) != room_of(other)
        if depth[room_of(other)] <= depth[room_of(file)]
    ]
    assert describe(wrong) == []


def test_foundation_imports_nothing_of_ours() -> None:
    wrong = [(file, other) for file, other in find_arrows() if wing_of(file) in GROUND and wing_of(other) not in GROUND]
    assert describe(wrong) == []


def test_the_package_itself_reaches_for_nothing_but_what_it_gives_to_people_who_write_python() -> None:
    reached = {name for name in imported_modules(SRC / "__init__.py") if name.startswith("bakeoff")}
    loaders = ("bakeoff.app.api", "bakeoff.app.api.functions", "bakeoff.inference.predict.loading")
    assert reached == {*loaders, f"{loaders[-1]}.load_network", *(f"{loaders[1]}.{name}" for name in API)}


def test_no_deciding_wing_imports_what_decides_nothing() -> None:
    wrong = [
        (file, other)
        for file, other in find_arrows()
        if (wing_of(file) in DECIDING_WINGS and wing_of(other) in {*ACCOMPANYING_WINGS, *COMPOSING_WINGS})
        or (wing_of(file) in COMPOSING_WINGS and wing_of(other) in ACCOMPANYING_WINGS)
    ]
    assert describe(wrong) == []


@pytest.mark.parametrize("stage", sorted(DECIDING))
def test_the_table_names_the_folders_that_a_stage_runs(stage: str) -> None:
    """Its own file also imports wings that accompany; those, and whatever they import, decide nothing."""
    start = SRC / "stages" / f"{stage}.py"
    reached, waiting = set(), [start]
    while waiting:
        file = waiting.pop()
        for other in own_files(file):
            wing = wing_of(other)
            is_asked = wing == ASKED_BY_STAGES and wing not in DECIDING[stage]
            asked = file == start and (wing in ACCOMPANYING_WINGS or is_asked)
            if other in reached or is_door(other) or wing in {"stages", *GROUND} or asked:
                continue
            assert any(other.is_relative_to(SRC / folder) for folder in DECIDING[stage]), describe([(file, other)])
            reached.add(other)
            waiting.append(other)
    assert [name for name in DECIDING[stage] if not any(file.is_relative_to(SRC / name) for file in reached)] == []


@pytest.mark.parametrize("library", sorted(ONLY_IN))
def test_a_library_is_imported_only_in_its_rooms(library: str) -> None:
    users = {room_of(file) for file in SOURCES if any(name.split(".")[0] == library for name in imported_modules(file))}
    assert users <= ONLY_IN[library]


def test_no_file_and_no_function_grows_past_one_sitting() -> None:
    long = [f"{file.relative_to(SRC)}" for file in SOURCES if file.read_text(encoding="utf-8").count("\n") > 400]
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                given = [one.arg for one in (*node.args.args, *node.args.kwonlyargs) if one.arg not in ("self", "cls")]
                if len(given) > 8 or (node.end_lineno or 0) - node.lineno >= 60:
                    long.append(f"{file.relative_to(SRC)}:{node.lineno}: {node.name}")
    assert long == []


def test_stages_in_dvc_yaml_are_the_modules_in_stages() -> None:
    assert set(PIPELINE) == {file.stem for file in (SRC / "stages").glob("*.py")} - {"__init__", "code"}


@pytest.mark.parametrize("stage", sorted(PIPELINE))
def test_dvc_yaml_follows_the_table(stage: str) -> None:
    listed = [path for path in PIPELINE[stage]["deps"] if path.startswith("src/")]
    assert sorted(listed) == sorted(f"src/bakeoff/{path.as_posix()}" for path in deciding_paths(stage))


def test_the_pipeline_can_be_read_at_one_sitting() -> None:
    assert (ROOT / "dvc.yaml").read_text(encoding="utf-8").count("\n") <= 150
    assert (ROOT / "dvc.lock").read_text(encoding="utf-8").count("\n") <= 650
    assert {stage: len(block["deps"]) for stage, block in PIPELINE.items() if len(block["deps"]) > 8} == {}


@pytest.mark.parametrize("stage", sorted(PIPELINE))
def test_a_stage_command_needs_no_shell(stage: str) -> None:
    assert PIPELINE[stage]["cmd"] == f"python -m bakeoff.stages.{stage}"


@pytest.mark.parametrize("stage", ["train", "evaluate", "export"])
def test_a_stage_is_told_of_every_key_of_the_variant_that_it_reads(stage: str) -> None:
    """`variant` and `note` say what a run is and `track` where copies go; none of them decides a result."""
    [keys] = [
        entry["models/config/run.yaml"] for entry in PIPELINE[stage]["params"] if "models/config/run.yaml" in entry
    ]
    readers = [
        f"stages/{stage}.py",
        *(["learning/training/setup.py", "learning/plan/phases.py"] if stage == "train" else []),
    ]
    lines = [line for name in readers for line in (SRC / name).read_text(encoding="utf-8").splitlines()]
    read = {
        key for line in lines if "import" not in line for key in re.findall(r"\brun\.(?!yaml)(\w+(?:\.\w+)?)", line)
    }
    read = {key for key in read if key.partition(".")[0] not in ("name", "note", "track", "variant")}
    read |= {"derived.multi_label"} if "batch_shape(run" in "".join(lines) else set()
    read |= {stage} & {"evaluate", "export"}  # a group that the stage loads apart
    assert {key for key in read if key not in keys and key.partition(".")[0] not in keys} <= {"derived", "memory"}
    assert {key.partition(".")[0] for key in keys} == {key.partition(".")[0] for key in read} | {"derived"}


def test_what_does_not_compute_does_not_import_tensorflow() -> None:
    modules = (
        "bakeoff",
        "bakeoff.inference.predict.loading",
        "bakeoff",
        "bakeoff.experiments.compare.comparison_verdict",
        "bakeoff.learning.run_file.settings",
        "bakeoff.config.compose.compose",
        "bakeoff.config.api_export.pipeline",
        "bakeoff.importing.api_config.options",
        "bakeoff.experiments.runs.cleanup",
        "bakeoff.experiments.runs.status_writer",
    )
    code = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
    print(name, *sorted({'tensorflow', 'keras', 'mlflow', 'sklearn'} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code, *modules], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines() == list(modules), done.stderr


IMPORT_ALL = """
import atexit, importlib, json, logging, os, signal, sys

def import_what_is_there(names):
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)

def read_state():
    loggers = [logging.root, *map(logging.getLogger, list(logging.root.manager.loggerDict))]
    return {
        *(f"variable {name}={value}" for name, value in os.environ.items()),
        *(f"signal {number}: {signal.getsignal(number)}" for number in signal.valid_signals()),
        *(f"level of {logger.name}: {logger.level}" for logger in loggers if logger.level),
        *(f"finder {finder}" for finder in sys.meta_path),
        f"functions at exit: {atexit._ncallbacks()}",
        f"arguments {sys.argv}",
    }

others, own = json.loads(sys.stdin.read())
missing = []
import_what_is_there(others)
before, missing = read_state(), []
import_what_is_there(own)
print(json.dumps([missing, sorted(before ^ read_state())]))
"""


def test_importing_a_module_sets_nothing_in_the_process() -> None:
    """Libraries that the project uses are imported first, for they set variables and log levels of their own."""
    own = [".".join(file.relative_to(SRC.parent).with_suffix("").parts) for file in SOURCES]
    own = [name.removesuffix(".__init__") for name in own if not name.endswith(".__main__")]
    named = {name for file in SOURCES for name in imported_modules(file) if name.partition(".")[0] != "bakeoff"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IMPORT_ALL],
        cwd=ROOT, input=json.dumps([sorted(named), own]), capture_output=True, text=True, check=False,
    )  # fmt: skip
    missing, changed = json.loads(done.stdout.splitlines()[-1]) if done.stdout else ("everything", done.stderr)
    assert (missing, changed) == ([], [])


def test_the_tree_of_the_files_is_the_real_one() -> None:
    """Every path shown exists, and every file is shown by itself or by a folder that is shown without its content."""
    page = (ROOT / "docs/files.md").read_text(encoding="utf-8")
    [tree] = re.findall(r"```tree\n(.*?)```", page, re.DOTALL)
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
    heads = {f"{path}__init__.py" for path in shown}
    assert [file for file in real if file not in heads and not any(_covers(path, file) for path in leaves)] == []


def _covers(shown: str, file: str) -> bool:
    return file.startswith(shown) if shown.endswith("/") else file == shown


@pytest.mark.parametrize("group", sorted(KINDS))
def test_every_key_and_option_is_in_the_reference(group: str) -> None:
    page = (ROOT / f"docs/reference/{group}.md").read_text(encoding="utf-8")
    words = set(re.findall(r"^\| `([\w.]+)` \|", page, re.MULTILINE))
    options = {file.stem for file in (ROOT / "conf" / group).glob("*.yaml")}
    keys = {key for cls in KINDS[group].values() for key in _keys(cls)}
    assert (options | keys) - words == set()


@pytest.mark.parametrize("group", sorted(KINDS))
def test_every_key_is_read_somewhere(group: str) -> None:
    """A setting that nothing reads is a promise that nothing keeps."""
    keys = {key for cls in KINDS[group].values() for key in _keys(cls)}
    assert [key for key in keys if key.rpartition(".")[2] not in find_attributes()] == []


@cache
def find_attributes() -> set[str]:
    """Return every name that stands behind a dot somewhere in the code."""
    return {name for file in SOURCES for name in re.findall(r"(?<=[\w)])\.(\w+)", file.read_text(encoding="utf-8"))}


def _keys(cls: type, prefix: str = "") -> list[str]:
    keys = []
    for field, hint in get_type_hints(cls).items():
        if get_origin(hint) is ClassVar:
            continue
        keys += _keys(hint, f"{prefix}{field}.") if dataclasses.is_dataclass(hint) else [f"{prefix}{field}"]
    return keys


def test_the_changelog_has_what_is_unreleased_then_this_version_and_a_date_for_each() -> None:
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased, *released = re.findall(r"^## (.+)", changelog, re.MULTILINE)
    assert unreleased == "Unreleased"
    assert version and released[0].startswith(f"{version[1]} (")
    assert [title for title in released if not re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", title)] == []
    assert {*re.findall(r"^### (.+)", changelog, re.MULTILINE)} == {"Added", "Changed", "Fixed", "What breaks"}


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-gpu.lock", "requirements-dev.lock"])
def test_a_lock_names_no_address(name: str) -> None:
    lock = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"https?:|index-url|find-links", lock)


def test_the_lock_for_gpus_is_the_other_with_libraries_of_cuda() -> None:
    plain, gpu = (
        dict(re.findall(r"^(\S+)==(.+?) \\$", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))
        for name in ("requirements.lock", "requirements-gpu.lock")
    )
    made_for_cpus = {plain.pop(name).partition(" ;")[0] for name in ("tensorflow", "tensorflow-cpu")}
    assert plain.items() <= gpu.items() and made_for_cpus == {gpu.pop("tensorflow")} and "tensorflow-cpu" not in gpu
    more = gpu.keys() - plain.keys()
    assert more and all(name.startswith("nvidia-") and gpu[name].endswith("; sys_platform == 'linux'") for name in more)


def test_the_lock_for_working_on_the_project_has_the_versions_of_the_other() -> None:
    plain, dev = (
        set(re.findall(r"^(\S+==\S+)(?: ;.*)? \\$", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))
        for name in ("requirements.lock", "requirements-dev.lock")
    )
    names = {pin.partition("==")[0] for pin in plain}
    assert {pin for pin in dev if pin.partition("==")[0] in names} <= plain and dev - plain


def _tracked_files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return listed.stdout.splitlines()


# One name, one thing.

TWIN_FILES: dict[str, str] = {
    "augmentation": "config.api_export writes what importing.api_config reads",
    "model": "config.api_export writes what importing.api_config reads",
    "training": "config.api_export writes what importing.api_config reads; and the class of that name",
    "classification": "the metrics of a task, and the task",
    "detection": "the metrics of a task, and the task",
    "evaluate": "a command and the stage",
    "multirun": "a command, and the same as a script",
    "weights": "a command, and the weights that training writes",
    "settings": "the settings of a folder",
}  # file name -> why two files may have it
TWIN_CLASSES: dict[str, str] = {}  # class name -> why it may stand in two files


def count_doubled(names: Iterable[tuple[str, Path]]) -> dict[str, int]:
    """Return each name that more than one file has, with the number of its files."""
    files: dict[str, set[Path]] = {}
    for name, file in names:
        files.setdefault(name, set()).add(file)
    return {name: len(found) for name, found in files.items() if len(found) > 1}


def test_no_file_name_means_two_things() -> None:
    stems = ((file.stem, file) for file in SOURCES if not file.stem.startswith("__"))
    assert {*count_doubled(stems)} == {*TWIN_FILES}


def test_no_class_name_means_two_things() -> None:
    names = [
        (node.name, file)
        for file in SOURCES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    assert {*count_doubled(names)} == {*TWIN_CLASSES}
