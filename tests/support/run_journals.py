"""Write journals of runs, without a training and without MLflow."""

from collections.abc import Mapping

from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.target import Target

VARIANT = {
    "variant.lr": "cosine", "variant.model": "ssd_small", "seed": "0", "lr.kind": "cosine", "lr.peak": "0.003",
    "train.steps": "2000", "evaluate.group": "None", "derived.task": "detection", "derived.steps": "2000",
}  # fmt: skip


def write_run(
    run_id: str,
    metrics: Mapping[str, float] | None = None,
    tags: Mapping[str, str] | None = None,
    *,
    state: str | None = "FINISHED",
    name: str = "ssd_small · cosine · low",
    sweep: str | None = None,
    project: str = "bakeoff",
    **params: str,
) -> Journal:
    """Write the journal of a run, close it and return it.

    `params` are added to VARIANT. Their names have `__` for a dot. None takes one away.
    """
    journal = Journal(run_id)
    Target("local", project).write(journal.folder)
    journal.run(name)
    if sweep:
        journal.parent(sweep)
    journal.tags({"bakeoff.state": "SUCCEEDED"} | dict(tags or {}) if state == "FINISHED" else dict(tags or {}))
    values = VARIANT | {key.replace("__", "."): value for key, value in params.items()}
    journal.params({key: value for key, value in values.items() if value is not None})
    journal.metrics(2000, metrics or {})
    if state:
        journal.state(state)
    journal.close()
    return journal


def scores(value: float, reach: float = 0.03) -> dict[str, float]:
    """Return the metrics that an evaluation reports, with an interval."""
    return {
        "evaluation/mAP_50": value, "evaluation/mAP": value / 2, "evaluation/loss": 1 - value,
        "evaluation/interval.mAP_50.low": value - reach, "evaluation/interval.mAP_50.high": value + reach,
        "evaluation/AP_50.cat": value, "validation/mAP_50": value, "train/loss": 0.5, "export/bytes": 3.6e6,
    }  # fmt: skip
