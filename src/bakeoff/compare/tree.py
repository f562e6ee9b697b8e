"""A comparison for scripts."""

from dataclasses import asdict
from typing import Any

from bakeoff.compare.contender import Contender
from bakeoff.compare.table import KEY, METRIC, Table

VERSION = 1


def tree_of(table: Table) -> dict[str, Any]:
    """Keys are only ever added as long as `version` stays."""
    return {
        "version": VERSION,
        "keys": [column.name for column in table.columns if column.kind == KEY],
        "metrics": [
            {
                "name": column.name,
                "higher_is_better": column.is_higher_better,
                "best": [one.run_id for one, cell in zip(table.contenders, column.cells, strict=True) if cell.is_best],
            }
            for column in table.columns
            if column.kind == METRIC
        ],
        "runs": [_run(contender, [column.name for column in table.metrics]) for contender in table.contenders],
    }


def _run(contender: Contender, shown: list[str]) -> dict[str, Any]:
    numbers = {name: number for name in shown if (number := contender.number(name))}
    return {
        "run": contender.run_id,
        "name": contender.name,
        "state": contender.state,
        "numbers": {name: asdict(number) for name, number in numbers.items()},
        "cost": contender.cost.tree,
        "experiment": contender.experiment,
        "sweep": contender.sweep,
        "commit": contender.commit,
        "uncommitted_changes": contender.is_dirty,
        "records": contender.records,
        "began": None if contender.began is None else contender.began / 1000,
        "reused_from": contender.reused_from,
        "mlflow": {
            "run": contender.mlflow_id, "experiment": contender.mlflow_experiment, "artifacts": contender.artifacts,
            "page": contender.page,
        },
        "params": dict(contender.params),
        "metrics": {key: value if value == value else None for key, value in contender.metrics.items()},
        "seeds": [_run(seed, shown) for seed in contender.seeds],
    }  # fmt: skip
