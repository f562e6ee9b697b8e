"""What a run left behind, in the workspace or in a DVC experiment, and the ledger of whose result was where.

An experiment's outputs are in DVC's cache. The ledger is `.bakeoff/journal/ledger.jsonl`, in order:
{"run": "0b9f…", "here": true}      here: in the main workspace, not in a copy in which DVC ran an experiment
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from bakeoff.foundation import git
from bakeoff.foundation.files import append_line, parse_json, read_json_lines, read_text
from bakeoff.foundation.workspace import DVC_EXPERIMENT, EVALUATION, RUN, TRAINED, journals, main_workspace
from bakeoff.learning.checkpoints.trained_state import STATE, TrainedState
from bakeoff.learning.plan.run_length import show_lengths
from bakeoff.tracking.results.measurements import run_id_of

HISTORY, METRICS = "history.jsonl", "metrics.json"
LEDGER = "ledger.jsonl"
COMPARED_BY_NOBODY = (
    "digest", "note", "track", "variant.track", "train.fresh", "train.checkpoint_every_steps",
    "train.checkpoint_every_seconds", "train.keep_every_steps", "train.log_every_steps", "train.samples",
    "train.samples_mb", "train.tensorboard", "train.gradient_histograms", "evaluate.pictures",
    "evaluate.picture_min_score", "evaluate.report_examples", "export.num_steps", "export.count_background",
    "derived.batch_size_because", "derived.decode_threads", "derived.memory_parts", "derived.prefetch_batches",
)  # fmt: skip


def params_of(tree: Mapping[str, Any]) -> dict[str, str]:
    """Return run.yaml as params of MLflow: what variants are compared by, flat, derived values under `derived.`."""
    left_out = tuple(f"{name}." for name in COMPARED_BY_NOBODY)
    values = show_lengths(dict(flatten(tree)))
    return {key: str(value) for key, value in values.items() if not f"{key}.".startswith(left_out)}


def flatten(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Return rows such as ("lr.peak", 0.5); parts of a list that have names, such as phases, go by them."""
    rows: list[tuple[str, Any]] = []
    for key, value in tree.items():
        if isinstance(value, list) and value and all(isinstance(item, Mapping) and "name" in item for item in value):
            value = {item["name"]: {name: part for name, part in item.items() if name != "name"} for item in value}
        rows += flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(f"{prefix}{key}", value)]
    return rows


def name_of(variant: Mapping[str, Any]) -> str:
    """Return what a rendered variant is called: `ssd_tiny · cosine · low`."""
    chosen = variant.get("variant") or {}
    return " · ".join(str(chosen.get(group, "?")) for group in ("model", "lr", "memory"))


@dataclass(frozen=True)
class Result:
    run_yaml: str
    variant: Mapping[str, Any]  # run.yaml, read
    state: TrainedState
    history: str
    metrics: Mapping[str, Any]
    experiment: str | None = None

    @property
    def run_id(self) -> str | None:
        return run_id_of(self.state)

    @property
    def name(self) -> str:
        name = name_of(self.variant)
        return f"{name} ({self.experiment})" if self.experiment else name

    @property
    def params(self) -> dict[str, str]:
        return params_of(self.variant)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.history.splitlines()]

    def points(self) -> Iterator[tuple[int, dict[str, float]]]:
        """Yield step and numbers, of training and of the evaluation after it."""
        for values in self.lines:
            step = values.pop("step")
            yield step, {key: value for key, value in values.items() if isinstance(value, int | float)}
        values = {f"evaluation/{key}": value for key, value in flatten(self.metrics) if value is not None}
        if values:
            yield self.state.last_step, values


def result_here(workspace: Path = Path()) -> Result:
    result = result_in(workspace)
    return result if _is_evaluated(parse_yaml(read_text(workspace / "dvc.lock"))) else replace(result, metrics={})


def result_in(folder: Path) -> Result:
    """Return what is in a workspace, of whichever run."""
    texts = (read_text(folder / path) for path in (RUN, TRAINED / STATE, TRAINED / HISTORY, EVALUATION / METRICS))
    return _result(*texts)


def result_of(experiment: str) -> Result:
    """Return that of a DVC experiment; what it did not come to, and what is not in the cache, is empty."""
    from bakeoff.foundation import dvc

    run_yaml = git.file_at(experiment, RUN.as_posix())
    lock = parse_yaml(git.file_at(experiment, "dvc.lock"))
    is_trained = _is_trained(lock, parse_yaml(run_yaml))
    digest = trained_digest(lock)
    trained = dvc.cached_folder(digest) or {} if is_trained and digest else {}
    is_judged = is_trained and _is_evaluated(lock)
    metrics = git.file_at(experiment, (EVALUATION / METRICS).as_posix()) if is_judged else None
    return _result(run_yaml, _read_cached(trained.get(STATE)), _read_cached(trained.get(HISTORY)), metrics, experiment)


def _result(
    run_yaml: str | None, state: str | None, history: str | None, metrics: str | None, experiment: str | None = None
) -> Result:
    variant, numbers = parse_yaml(run_yaml), parse_json(metrics)
    return Result(
        run_yaml or "", variant, TrainedState.from_tree(parse_json(state)), history or "", numbers, experiment
    )


def is_trained_here(here: Result) -> bool:
    """Return whether the variant that was rendered in the workspace is the one that was trained there."""
    return _is_trained(parse_yaml(read_text(Path("dvc.lock"))), here.variant)


# What dvc.lock holds about the stages.


def _is_trained(lock: Mapping[str, Any], variant: Mapping[str, Any]) -> bool:
    """Return whether the last training is of this variant. An experiment may have ended before its training."""
    stage = _stage(lock, "train")
    trained = _mapping(_mapping(stage.get("params")).get(RUN.as_posix()))
    return bool(stage) and all(value == variant.get(key) for key, value in trained.items())


def _is_evaluated(lock: Mapping[str, Any]) -> bool:
    """Return whether the last evaluation is of the last training, as far as DVC knows."""
    judged = _digest_in(_stage(lock, "evaluate").get("deps"), TRAINED)
    return judged is None or judged == trained_digest(lock)


def trained_digest(lock: Mapping[str, Any]) -> str | None:
    return output_digest(lock, "train", TRAINED)


def output_digest(lock: Mapping[str, Any], stage: str, path: Path) -> str | None:
    """Return the digest of an output of a stage, by which DVC's cache has it."""
    return _digest_in(_stage(lock, stage).get("outs"), path)


def _digest_in(entries: Any, path: Path) -> str | None:
    mappings = map(_mapping, entries if isinstance(entries, list) else ())
    return next((entry.get("md5") for entry in mappings if entry.get("path") == path.as_posix()), None)


def _stage(lock: Mapping[str, Any], name: str) -> dict[str, Any]:
    return _mapping(_mapping(lock.get("stages")).get(name))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _read_cached(digest: str | None) -> str | None:
    from bakeoff.foundation.dvc import cached_file

    path = cached_file(digest) if digest else None
    return read_text(path) if path else None


def parse_yaml(text: str | bytes | None) -> dict[str, Any]:
    """Return a mapping; an empty one of anything else."""
    return _mapping(read_yaml(text or ""))


def read_yaml(text: str | bytes) -> Any:
    """Return what the text holds; the text itself, if that is no YAML."""
    import yaml

    try:
        return yaml.load(text, _yaml_loader())
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError, yaml.YAMLError):  # of what tags promise
        return text


@cache
def _yaml_loader() -> Any:
    """Return a reader of DVC's own files, in which `1e-07` without a dot is a number; in C where PyYAML has it."""
    import yaml

    from bakeoff.learning.run_file.yaml_file import BARE_EXPONENT, FLOAT_TAG

    loader: Any = type("Loader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {})
    loader.add_implicit_resolver(FLOAT_TAG, BARE_EXPONENT, list("-+0123456789"))
    return loader


# The ledger.


def note_result(run_id: str, *, experiment: str | None = None, here: bool | None = None) -> None:
    """Note that a workspace holds the run's result now, by default the one that this process stands in."""
    row = {
        "run": run_id,
        "here": Path.cwd().resolve() == main_workspace() if here is None else here,
        "experiment": experiment or os.environ.get(DVC_EXPERIMENT),
    }
    append_line(journals() / LEDGER, json.dumps(row))


def read_ledger() -> list[dict[str, Any]]:
    """Return the rows, but for lines that a crash cut off."""
    return [row for row in read_json_lines(journals() / LEDGER) if {"run", "here"} <= row.keys()]


def last_here() -> str | None:
    return next((row["run"] for row in reversed(read_ledger()) if row["here"]), None)
