"""Which stages `dvc repro` would run for a variant, which it would restore from its cache, which it would leave alone.

`dvc status` knows what changed since dvc.lock, but sees downstream only what render_config has written already; so a
stage's keys of run.yaml are compared with the variant as it would be rendered.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.config.compose.read_once import Same, read_once
from bakeoff.foundation import dvc, workspace
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.shipped import CODE_STAGE, code_lines
from bakeoff.tracking.results.results import read_yaml

RUNS, CACHED, UNCHANGED = "runs", "from the cache", "unchanged"


@dataclass(frozen=True)
class DvcState:
    """What DVC has on disk: dvc.yaml's stages, dvc.lock's, what changed since, and results of earlier runs."""

    stages: dict[str, dict[str, Any]]
    locked: dict[str, dict[str, Any]]
    changed: dict[str, dict[str, Any]]  # stage -> path -> how
    cached: list[dict[str, Any]]
    code: Mapping[str, str] = field(default_factory=dict)  # what the stage of the installed code writes, where it is


@dataclass(frozen=True)
class StageAhead:
    """What `dvc repro` would do about a stage, and which of its inputs are others than last time."""

    outcome: str
    because: tuple[str, ...] = ()


def stages_ahead(
    files: Mapping[str, Mapping[str, Any]], known: DvcState | None = None, *, until: str | None = None
) -> dict[str, str]:
    """For each stage in order what would happen, if params.yaml and run.yaml held these trees. `known` spares reading
    it again for the next variant; `until` leaves out what that stage does not need."""
    return {name: ahead.outcome for name, ahead in explain_stages(files, known, until=until).items()}


def explain_stages(
    files: Mapping[str, Mapping[str, Any]], known: DvcState | None = None, *, until: str | None = None
) -> dict[str, StageAhead]:
    """As `stages_ahead`, with the reasons."""
    known = known or read_known()
    files = {**files, workspace.PROMISE.as_posix(): workspace.PROMISED}  # render_config writes it anew
    files[workspace.CODE.as_posix()] = known.code
    made: dict[str, str | None] = {}  # output -> its hash; None: only a run will tell
    ahead = {}
    for name in read_once(_in_order, Same(known.stages), until):
        ahead[name], outs = _outcome(name, known, files, made)
        made |= outs
    ahead.pop(CODE_STAGE, None)  # is always run, and decides nothing by itself
    return ahead


def _outcome(
    name: str, known: DvcState, files: Mapping[str, Mapping[str, Any]], made: Mapping[str, str | None]
) -> tuple[StageAhead, dict[str, str | None]]:
    stage, locked = known.stages[name], known.locked.get(name)
    nothing: dict[str, str | None] = dict.fromkeys(_out_paths(stage))
    if locked is None:
        return StageAhead(RUNS, ("it has not run yet",)), nothing
    deps: dict[str, str | None] = {}
    for entry in locked.get("deps", []):
        path = entry["path"]
        upstream = next((out for out in made if path == out or path.startswith(f"{out}/")), None)
        if upstream is None:
            deps[path] = None if path in known.changed.get(name, {}) else entry["md5"]
        elif path == upstream:
            deps[path] = made[upstream]
        else:  # a file of an output that is locked as a whole: it is unchanged if the output is
            deps[path] = entry["md5"] if made[upstream] == _locked_out(known, upstream) else None
    params: dict[str, dict[str, Any]] = {}
    for file, keys in _params(stage).items():
        tree = files[file] if file in files else _read_made(file, known, made)
        params[file] = {key: value_at(tree, key) for key in keys} if keys else dict(tree)
    locked_deps = {entry["path"]: entry["md5"] for entry in locked.get("deps", [])}
    because = [path for path in stage.get("deps", []) if path not in locked_deps or deps[path] != locked_deps[path]]
    because += [path for path in locked_deps if path not in stage.get("deps", [])]
    because += _differing_params(params, locked.get("params", {}))
    because += [out for out in nothing if out in known.changed.get(name, {})]  # edited
    if not because:
        return StageAhead(UNCHANGED), {entry["path"]: entry["md5"] for entry in locked.get("outs", [])}
    for entry in known.cached if None not in deps.values() else ():
        same = {dep["path"]: dep["md5"] for dep in entry.get("deps", [])} == deps
        if entry["cmd"] == stage["cmd"] and same and entry.get("params", {}) == params:
            outs = {out["path"]: out["md5"] for out in entry.get("outs", [])}
            return StageAhead(CACHED, tuple(because)), outs
    return StageAhead(RUNS, tuple(because)), nothing


def _differing_params(params: Mapping[str, Mapping[str, Any]], locked: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return `lr of models/config/run.yaml` for each key whose value is another than last time."""
    differing: list[str] = []
    for file in [*params, *(file for file in locked if file not in params)]:
        now, then = params.get(file), locked.get(file)
        if file == workspace.CODE.as_posix():
            differing += ["the installed code"] if now != then else []
        elif now is None or then is None:
            differing.append(file)
        else:
            keys = [key for key in [*now, *(key for key in then if key not in now)]]
            changed = [key for key in keys if key not in now or key not in then or now[key] != then[key]]
            differing += [f"{', '.join(changed)} of {file}"] if changed else []
    return differing


def asked_of(name: str, known: DvcState, files: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a digest of what a stage and those that it needs read of run.yaml. Of two variants with the same, on the
    same records and code, the second finds the stage's result in the cache."""
    read = {}
    for stage in read_once(_in_order, Same(known.stages), name):
        keys = _params(known.stages[stage]).get(workspace.RUN.as_posix(), [])
        read[stage] = {key: value_at(files[workspace.RUN.as_posix()], key) for key in keys}
    return hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()


def _read_made(file: str, known: DvcState, made: Mapping[str, str | None]) -> Mapping[str, Any]:
    """Return a JSON file of an output as it is; nothing if its stage is to make another one."""
    upstream = next(out for out in made if file == out or file.startswith(f"{out}/"))
    if made[upstream] is None or made[upstream] != _locked_out(known, upstream):
        return {}
    return read_once(_read_json, file)


def _read_json(file: str) -> dict[str, Any]:
    return json.loads(Path(file).read_text(encoding="utf-8"))


def value_at(tree: Any, key: str) -> Any:
    """Return the value of a key such as `derived.num_classes`; None if there is none."""
    for part in key.split("."):
        tree = tree.get(part) if isinstance(tree, Mapping) else None
    return tree


@contextmanager
def reading_known() -> Iterator[Callable[[], DvcState]]:
    """Let DVC look what changed while the block does something else; the call waits for that."""
    with dvc.asking_status() as status:
        yield lambda: _read_known(status)


def read_known() -> DvcState:
    with reading_known() as known:
        return known()


def _read_known(status: Callable[[], Mapping[str, Any]]) -> DvcState:
    stages = _read_stages(Path("dvc.yaml"), "`git diff dvc.yaml` shows what was edited")
    lock = Path("dvc.lock")
    again = "`git checkout dvc.lock` brings back the last one that is whole, and `dvc repro` resumes from there"
    locked = _read_stages(lock, again) if lock.is_file() else {}
    for stage in locked.values():
        if not (_is_entry(stage) and isinstance(stage.get("params", {}), dict)):
            raise WorkspaceError(f"{lock}: must hold what DVC writes, got something else; {again}")
    runs = (read_yaml(file.read_text("utf-8", "replace")) for file in dvc.cached_runs())
    cached = [entry for entry in runs if _is_entry(entry) and "cmd" in entry]
    code = code_lines() if CODE_STAGE in stages else {}
    return DvcState(stages, locked, list_changes(status()), cached, code)


def _read_stages(file: Path, remedy: str) -> dict[str, dict[str, Any]]:
    tree = read_yaml(file.read_text("utf-8", "replace"))
    stages = tree.get("stages", {}) if isinstance(tree, dict) else None
    if not isinstance(stages, dict) or not all(isinstance(stage, dict) for stage in stages.values()):
        raise WorkspaceError(f"{file}: must hold what DVC reads, got something else; {remedy}")
    return stages


def _is_entry(tree: Any) -> bool:
    """Whether its files are named as DVC names them, in dvc.lock and in its run cache."""
    parts = [tree.get(part) or [] for part in ("deps", "outs")] if isinstance(tree, dict) else [0]
    return all(
        isinstance(part, list) and all(isinstance(one, dict) and {"path", "md5"} <= one.keys() for one in part)
        for part in parts
    )


def list_changes(status: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return stage -> path -> how it changed since dvc.lock, as `dvc status` has it."""
    changed: dict[str, dict[str, Any]] = {}
    for stage, entries in status.items():
        changed[stage] = {}
        for entry in entries:
            for paths in entry.values() if isinstance(entry, dict) else ():
                changed[stage] |= paths
    return changed


def _in_order(known: Same[dict[str, dict[str, Any]]], until: str | None) -> list[str]:
    """A stage and those that it needs, each after the stages that make what it depends on; all of them without one."""
    stages = known.one
    maker = {out: name for name, stage in stages.items() for out in _out_paths(stage)}
    ordered: list[str] = []

    def place(name: str) -> None:
        for dep in [*stages[name].get("deps", []), *_params(stages[name])]:
            for out, other in maker.items():
                if other != name and other not in ordered and (dep == out or dep.startswith(f"{out}/")):
                    place(other)
        if name not in ordered:
            ordered.append(name)

    for name in stages if until is None else [until]:
        place(name)
    return ordered


def _out_paths(stage: Mapping[str, Any]) -> list[str]:
    entries = [*stage.get("outs", []), *stage.get("metrics", [])]
    return [next(iter(entry)) if isinstance(entry, dict) else entry for entry in entries]


def _locked_out(known: DvcState, path: str) -> str | None:
    outs = [entry for stage in known.locked.values() for entry in stage.get("outs", []) if entry["path"] == path]
    return outs[0]["md5"] if outs else None


def _params(stage: Mapping[str, Any]) -> dict[str, list[str]]:
    """File -> keys; a whole file is given as `file:` without keys."""
    changes: dict[str, list[str]] = {}
    for entry in stage.get("params", []):
        if isinstance(entry, dict):
            changes |= {file: keys or [] for file, keys in entry.items()}
        else:
            changes.setdefault(workspace.PARAMS.as_posix(), []).append(entry)
    return changes
