"""A finished run and an option of conf/export/ -> the files of that option, by the stage in a folder of its own.

The folder holds what the stage reads: run.yaml with other settings of `export`, the records and the weights of the run.
So neither the workspace nor its dvc.lock changes, and nothing is trained. The files stay in the run's folder:

.bakeoff/runs/5b3c…/exports/limelight_coral/model.tflite
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from bakeoff.experiments.runs.cleanup import WORKSPACE, named_by
from bakeoff.experiments.runs.list_runs import KnownRun
from bakeoff.experiments.runs.run_status import State
from bakeoff.export.devices import DEVICES
from bakeoff.export.photonvision import ARCHIVE, BACKENDS
from bakeoff.export.settings import REPORT, Export
from bakeoff.foundation import git, workspace
from bakeoff.foundation.errors import ConfigError, WorkspaceError, choices
from bakeoff.foundation.files import link_or_copy, read_json, read_text
from bakeoff.foundation.progress import print_line
from bakeoff.foundation.shipped import find_conf, list_options
from bakeoff.inference.device.device_check import RKNN_SUFFIX, check_file
from bakeoff.learning.networks import NETWORKS
from bakeoff.learning.run_file.parse import Problems, parse, parse_kind
from bakeoff.learning.run_file.read_write import sealed, unsealed
from bakeoff.learning.run_file.yaml_file import read_mapping, write_mapping
from bakeoff.tracking.results.cached_outputs import find_cached
from bakeoff.tracking.results.results import parse_yaml, result_here

EXPORTS, GROUP = "exports", "export"
STAGE = [sys.executable, "-m", "bakeoff.stages.export"]
OF_A_FILE = {"device": None, "layout": Export.layout, "formats": [*Export.formats]}  # what another option decides anew
GREY = 128
NOT_HANDED_ON = ("DVC_ROOT", workspace.DVC_EXPERIMENT)  # variables of stages that DVC runs


def export_folder(run: KnownRun, option: str) -> Path:
    """Return where the files of an option are or will be."""
    return run.folder / EXPORTS / option


def find_export(run: KnownRun, option: str) -> dict[str, Path]:
    """Return the files that were made of a run for an option, by their names; nothing if they were not made."""
    folder = export_folder(run, option)
    if not (folder / REPORT).is_file():
        return {}
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def read_run_file(run: KnownRun) -> dict[str, Any]:
    """Return a run's run.yaml, from the workspace or from git; nothing where neither has it."""
    if _is_here(run):
        return parse_yaml(read_text(workspace.RUN))
    texts = (git.file_at(revision, workspace.RUN.as_posix()) for revision in _list_revisions(run))
    return next((parse_yaml(text) for text in texts if text), {})


def read_network(run_file: Mapping[str, Any]) -> Any:
    """Return the settings of a run's network; None where its run.yaml is not known."""
    return parse_kind(NETWORKS, run_file["model"], "model", Problems(lambda key: key)) if "model" in run_file else None


def export_run(run: KnownRun, option: str) -> Path:
    """Make the files of an option, and return the folder that they are in; they are made once."""
    options = list_options(workspace.CONF, GROUP)
    if option not in options:
        raise ConfigError(f"--as: no such option {option!r} of conf/{GROUP}/; {choices(option, options)}")
    if run.state != State.SUCCEEDED:
        raise WorkspaceError(f"{run.label}: is {run.state}, so it has no last weights to export; train it to its end")
    target = export_folder(run, option)
    target.parent.mkdir(exist_ok=True)
    with FileLock(target.with_name(f"{option}.lock")):
        if not find_export(run, option):
            with tempfile.TemporaryDirectory(dir=target.parent, ignore_cleanup_errors=True) as folder:
                _fill(Path(folder), run, option)
                _run_stage(Path(folder), run)
                made = Path(folder) / workspace.EXPORTED
                _check(made)
                made.rename(target)
    return target


def _fill(folder: Path, run: KnownRun, option: str) -> None:
    """Put what the stage reads into a folder."""
    tree = read_run_file(run)
    if not tree:
        raise _missing(run, workspace.RUN)
    tree = _choose_export(unsealed(tree), option)
    (folder / workspace.RUN).parent.mkdir(parents=True)
    write_mapping(folder / workspace.RUN, sealed(tree), head="")
    for stage, output in (("build_records", workspace.RECORDS), ("train", workspace.TRAINED)):
        for name, path in _find_output(run, stage, output):
            place = folder / output / name
            place.parent.mkdir(parents=True, exist_ok=True)
            link_or_copy(path, place)
    if (parts := Path("parts")).is_dir():
        (folder / "parts").symlink_to(parts.absolute())


def _choose_export(tree: dict[str, Any], option: str) -> dict[str, Any]:
    """Return run.yaml with another option of conf/export/. What else the run had set stays, such as `max_drop`."""
    chosen = read_mapping(find_conf(workspace.CONF, GROUP, f"{option}.yaml"))
    problems = Problems(lambda key: f"conf/{GROUP}/{option}.yaml")
    settings = {**tree.get(GROUP, {}), **OF_A_FILE, **chosen}
    made = parse(Export, settings, GROUP, problems)
    problems.raise_any()
    network = read_network(tree)
    if made.device and network is not None and (obstacle := DEVICES[made.device].find_obstacle(network)):
        raise ConfigError(f"{GROUP}.device: {made.device} {obstacle}; train a network that it takes")
    variant = {**tree["variant"], GROUP: option, "track": "none"}
    return {**tree, GROUP: settings, "track": {"kind": "none"}, "variant": variant}


def _find_output(run: KnownRun, stage: str, output: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a stage's output as the run has it, by their names in it."""
    if _is_here(run):
        yield from ((path.relative_to(output).as_posix(), path) for path in output.rglob("*") if path.is_file())
        return
    for revision in _list_revisions(run):
        if (cached := find_cached(revision, stage, output)).is_whole:
            yield from cached.compared().items()
            return
    raise _missing(run, output)


def _missing(run: KnownRun, path: Path) -> WorkspaceError:
    return WorkspaceError(
        f"{run.label}: its {path.as_posix()} is neither in the workspace nor in DVC's cache, so it cannot be "
        "exported; `dvc fetch` may bring it from a remote"
    )


def _is_here(run: KnownRun) -> bool:
    return bool(run.run_id) and result_here().run_id == run.run_id


def _list_revisions(run: KnownRun) -> list[str]:
    own = run.status.experiment if run.status else None
    names = dict.fromkeys([own, *named_by().get(run.fingerprint, ())])
    return [name for name in names if name and name != WORKSPACE]


def _run_stage(folder: Path, run: KnownRun) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in NOT_HANDED_ON}
    code = subprocess.run(STAGE, cwd=folder, env=environment, check=False).returncode
    if code:
        raise WorkspaceError(f"{run.label}: the export failed with exit code {code}; the lines above say why")


def _check(folder: Path) -> None:
    """Open the file as its device would, and let it answer a picture; refuse one that the device does not take."""
    from bakeoff.inference.predict.light_runtime import Small

    report = read_json(folder / REPORT)
    if not report.get("device"):
        return
    for line in check_file(folder / name_file(report), report["device"]):
        print_line(f"  {line}")
    if not (model := name_model(report)).endswith(RKNN_SUFFIX):
        Small(folder / model).answer(np.full((480, 640, 3), GREY, np.uint8))


def name_file(report: Mapping[str, Any]) -> str:
    """Return which of the exported files goes to the device of an export.json: its model, or an archive with it."""
    return ARCHIVE if report["device"] in BACKENDS else name_model(report)


def name_model(report: Mapping[str, Any]) -> str:
    """Return which of the exported files is the model that the device runs."""
    forms = DEVICES[report["device"]].formats
    return next(str(report["files"][form]["file"]) for form in forms if form in report["files"])
