"""What a run read besides its code -> the fresh workspace: from DVC's cache or remote, or as it is in this one."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bakeoff.experiments.reproduce.clean_clone import has_remote, run_command
from bakeoff.experiments.reproduce.what_is_missing import Lack
from bakeoff.foundation import dvc
from bakeoff.foundation.files import link_or_copy, read_text
from bakeoff.foundation.workspace import RAW, WEIGHTS, fetched, in_flight, main_workspace, runs
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.learning.pretrained.weight_source import BUILT_IN, RUN_ID, find_parts, find_place
from bakeoff.tracking.results.results import parse_yaml


def bring(run_yaml: Mapping[str, Any], state: TrainedState, workspace: Path, show: Callable[[str], None]) -> list[Lack]:
    """Bring everything that can be brought; name what cannot, and what is not surely as it was."""
    paths = _data_paths(run_yaml, workspace)
    init = (run_yaml.get("train") or {}).get("init") or {}
    why_not = _pull([*paths, *_files_of(init)], workspace, show)
    return [
        *(lack for path in paths for lack in _as_it_is(path, workspace, "its data", why_not)),
        *_first_weights(init, workspace, why_not),
        *_parent(run_yaml, state, workspace),
    ]


def _pull(paths: Sequence[str], workspace: Path, show: Callable[[str], None]) -> str:
    """Bring raw data that DVC has, by .dvc files of that commit which name what the run read; say where it is not."""
    folders = (workspace / RAW, workspace / WEIGHTS)
    files = [file for folder in folders for file in sorted(folder.rglob("*.dvc"))]
    outputs = {
        file: [file.parent / out["path"] for out in parse_yaml(read_text(file)).get("outs", [])] for file in files
    }
    wanted = [workspace / path for path in paths]
    named = {
        file.relative_to(workspace).as_posix(): outs
        for file, outs in outputs.items()
        if any(out.is_relative_to(path) or path.is_relative_to(out) for out in outs for path in wanted)
    }
    if not named:
        return "in DVC"
    code, lines = run_command(dvc.command("checkout", *named), workspace, lambda line: None)
    remote = has_remote(workspace)
    if code and remote:
        show(f"{', '.join(named)}: what DVC's cache lacks is pulled from its remote")
        code, lines = run_command(dvc.command("pull", *named), workspace, show)
    if not code:
        return "in DVC"
    for out in (out for outs in named.values() for out in outs):  # a partial output would be taken for a whole one
        shutil.rmtree(out, ignore_errors=True)
        out.unlink(missing_ok=True)
    errors = (line.removeprefix("ERROR: ").partition(" - ")[0] for line in lines if line.startswith("ERROR"))
    reason = next(errors, "it did not say why")
    return f"in DVC's cache nor in its remote ({reason})" if remote else "in DVC's cache, which has no remote"


def _data_paths(run_yaml: Mapping[str, Any], workspace: Path) -> list[str]:
    """List the folders that the data option reads, or those that it merges."""
    data = run_yaml.get("data") or {}
    merged = data.get("merge") or []
    files = [workspace / f"conf/data/{name}.yaml" for name in merged if isinstance(name, str)]
    options = [data, *(parse_yaml(read_text(file)) for file in files)]
    return [str(option["path"]) for option in options if option.get("path")]


def _as_it_is(path: str, workspace: Path, what: str, why_not: str = "in DVC") -> Iterator[Lack]:
    """Link what neither git nor DVC brought to where it was."""
    there, here = workspace / path, main_workspace() / path
    if there.exists():
        return
    if not here.exists():
        yield Lack(f"{path}: {what} is neither in git nor {why_not}, nor is it here; `dvc push` it where it is", True)
        return
    there.parent.mkdir(parents=True, exist_ok=True)
    if here.is_dir():  # real folders: DVC, and so a stage, sees nothing through a link to one
        shutil.copytree(here, there, copy_function=link_or_copy)
    else:
        link_or_copy(here, there)
    yield Lack(f"{path}: {what} is neither in git nor {why_not}, so it is taken as it is now")


def _first_weights(init: Mapping[str, Any], workspace: Path, why_not: str) -> Iterator[Lack]:
    weights = str(init.get("weights") or "none")
    if weights in BUILT_IN:
        return
    kept = fetched() / weights
    if RUN_ID.fullmatch(weights) and not (main_workspace() / weights).exists():
        if not kept.is_dir():
            text = f"train.init.weights: the weights of MLflow run {weights} are not in .bakeoff/fetched any more"
            yield Lack(text, True)
            return
        place = workspace / kept.relative_to(main_workspace())
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(kept, place, copy_function=link_or_copy)
        return
    for path in _files_of(init):
        yield from _as_it_is(path, workspace, "what its first weights come from", why_not)


def _files_of(init: Mapping[str, Any]) -> list[str]:
    """List the files and folders that `train.init` means; of a TensorFlow checkpoint, which is a prefix, its parts."""
    files = []
    for text in (str(init[key]) for key in ("weights", "names") if init.get(key)):
        try:
            path = find_place(text)
        except RuntimeError:  # it begins with ~ and the name of an unknown user
            path = Path(text)
        parts = find_parts(main_workspace() / path)
        files += [path.with_name(part.name).as_posix() for part in parts] or [path.as_posix()]
    return files


def _parent(run_yaml: Mapping[str, Any], state: TrainedState, workspace: Path) -> Iterator[Lack]:
    """Bring the run that it continues, whose last checkpoint was its first."""
    named = (run_yaml.get("train") or {}).get("continue_from")
    if named is None:
        return
    parents = state.lineage.parents
    fingerprint = parents[-1].fingerprint if parents else ""
    if not fingerprint or not in_flight(fingerprint).is_dir():
        text = f"train.continue_from: the work of run {fingerprint or named} is not in .bakeoff/runs any more"
        yield Lack(text, True)
    elif not fingerprint.startswith(str(named)) and (read_text(in_flight(fingerprint) / "run") or "").strip() != named:
        yield Lack(f"train.continue_from: must be a fingerprint or an id of ours to be followed, got {named}", True)
    else:
        place = workspace / runs().relative_to(main_workspace()) / fingerprint
        shutil.copytree(in_flight(fingerprint), place, ignore=shutil.ignore_patterns("lock"))
        yield Lack(f"train.continue_from: the last checkpoint of run {fingerprint} is taken as it is now")
