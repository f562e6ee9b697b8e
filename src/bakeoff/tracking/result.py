"""What a run left behind: in the workspace, or in a DVC experiment, whose outputs are in DVC's cache."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bakeoff import dvc
from bakeoff.tracking import git
from bakeoff.tracking.params import flattened, params_of
from bakeoff.workspace import EVALUATION, RUN, TRAINED

STATE, HISTORY, METRICS = "state.json", "history.jsonl", "metrics.json"


@dataclass(frozen=True)
class Result:
    run_yaml: str
    variant: Mapping[str, Any]  # run.yaml, read
    state: Mapping[str, Any]
    history: str
    metrics: Mapping[str, Any]
    experiment: str | None = None

    @property
    def run_id(self) -> str | None:
        """Of the run that made it; runs of earlier versions had none."""
        return self.state.get("run_id")

    @property
    def name(self) -> str:
        chosen = self.variant.get("variant") or {}
        name = " · ".join(str(chosen.get(group, "?")) for group in ("model", "lr", "memory"))
        return f"{name} ({self.experiment})" if self.experiment else name

    @property
    def params(self) -> dict[str, str]:
        return params_of(self.variant)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.history.splitlines()]

    def points(self) -> Iterator[tuple[int, dict[str, float]]]:
        """Step and numbers, of training and of the evaluation after it."""
        for values in self.lines:
            step = values.pop("step")
            yield step, {key: value for key, value in values.items() if isinstance(value, int | float)}
        values = {f"evaluation/{key}": value for key, value in flattened(self.metrics) if value is not None}
        if values:
            yield int(self.state.get("step", self.state.get("steps", 0))), values


def result_here(workspace: Path = Path()) -> Result:
    lock = _parsed(_read_yaml, _text(workspace / "dvc.lock"))
    metrics = _text(workspace / EVALUATION / METRICS) if _is_evaluated(lock) else None
    trained = workspace / TRAINED
    return _result(_text(workspace / RUN), _text(trained / STATE), _text(trained / HISTORY), metrics)


def result_in(folder: Path) -> Result:
    """What is in a workspace, of whichever run."""
    texts = (_text(folder / path) for path in (RUN, TRAINED / STATE, TRAINED / HISTORY, EVALUATION / METRICS))
    return _result(*texts)


def result_of(experiment: str) -> Result:
    """Of a DVC experiment; what it did not come to, and what is not in the cache, is empty."""
    run_yaml = git.file_at(experiment, RUN.as_posix())
    lock = _parsed(_read_yaml, git.file_at(experiment, "dvc.lock"))
    is_trained = _is_trained(lock, _parsed(_read_yaml, run_yaml))
    trained = _trained_files(lock) if is_trained else {}
    is_judged = is_trained and _is_evaluated(lock)
    metrics = git.file_at(experiment, (EVALUATION / METRICS).as_posix()) if is_judged else None
    return _result(run_yaml, _cached(trained.get(STATE)), _cached(trained.get(HISTORY)), metrics, experiment)


def _result(
    run_yaml: str | None, state: str | None, history: str | None, metrics: str | None, experiment: str | None = None
) -> Result:
    return Result(
        run_yaml or "", _parsed(_read_yaml, run_yaml), _parsed(json.loads, state), history or "",
        _parsed(json.loads, metrics), experiment,
    )  # fmt: skip


# What dvc.lock says of the stages.


def _is_trained(lock: Mapping[str, Any], variant: Mapping[str, Any]) -> bool:
    """Whether the last training is of this variant; an experiment may have ended before it came to that."""
    stage = _stage(lock, "train")
    trained = (stage.get("params") or {}).get(RUN.as_posix()) or {}
    return bool(stage) and all(_comparable(value) == _comparable(variant.get(key)) for key, value in trained.items())


def _is_evaluated(lock: Mapping[str, Any]) -> bool:
    """Whether the last evaluation is of the last training, as far as DVC knows."""
    judged = [dep.get("md5") for dep in _stage(lock, "evaluate").get("deps", ()) if dep["path"] == TRAINED.as_posix()]
    return not judged or judged == [_trained_digest(lock)]


def _trained_files(lock: Mapping[str, Any]) -> dict[str, str]:
    """Name -> digest, by which DVC's cache has it."""
    digest = _trained_digest(lock)
    return (dvc.cached_folder(digest) if digest else None) or {}


def _trained_digest(lock: Mapping[str, Any]) -> str | None:
    outs = _stage(lock, "train").get("outs", ())
    return next((out.get("md5") for out in outs if out["path"] == TRAINED.as_posix()), None)


def _stage(lock: Mapping[str, Any], name: str) -> dict[str, Any]:
    return (lock.get("stages") or {}).get(name) or {}


def _comparable(value: Any) -> Any:
    """DVC writes `1e-07`, which this reader of YAML takes for a text."""
    if isinstance(value, dict):
        return {key: _comparable(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_comparable(part) for part in value]
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _cached(digest: str | None) -> str | None:
    path = dvc.cached_file(digest) if digest else None
    return _text(path) if path else None


def _read_yaml(text: str) -> Any:
    """In C where PyYAML has it: dvc.lock is long."""
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _parsed(parse: Any, text: str | None) -> dict[str, Any]:
    try:
        tree = parse(text or "")
    except (ValueError, yaml.YAMLError):
        return {}
    return tree if isinstance(tree, dict) else {}
