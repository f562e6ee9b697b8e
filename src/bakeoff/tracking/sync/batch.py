"""Lines of a journal that go to MLflow in one request, by the names that they have there."""

from dataclasses import dataclass, field

from bakeoff.tracking.journal.journal import Entry
from bakeoff.tracking.store.mlflow_client import MOST_POINTS, MOST_TEXTS
from bakeoff.tracking.store.mlflow_names import metric_in_mlflow, params_in_mlflow

Point = tuple[str, int, float, int, bool]  # metric, step, value, milliseconds, whether it takes another's place
IN_BATCHES = ("metrics", "params", "tags")


@dataclass
class Batch:
    points: list[Point] = field(default_factory=list)
    params: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    end: int | None = None  # of the journal, when this batch is through

    def would_overflow(self, entry: Entry) -> bool:
        points = len(self.points) + (len(entry["values"]) if entry["kind"] == "metrics" else 0)
        texts = len(self.params) + len(self.tags) + (len(entry["values"]) if entry["kind"] != "metrics" else 0)
        return self.end is not None and (points > MOST_POINTS or texts > MOST_TEXTS)

    def add(self, entry: Entry, end: int) -> None:
        if entry["kind"] == "metrics":
            step, at, revised = entry["step"], entry["at"], entry.get("revised", False)
            named = {metric_in_mlflow(key): value for key, value in entry["values"].items()}
            self.points += [(key, step, value, at, revised) for key, value in named.items()]
        elif entry["kind"] == "params":
            params, tags = params_in_mlflow(entry["values"])
            self.params |= params
            self.tags |= tags
        else:
            self.tags |= entry["values"]
        self.end = end
