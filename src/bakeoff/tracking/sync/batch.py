"""Lines of a journal that go to MLflow in one request, by the names that they have there."""

from dataclasses import dataclass, field

from bakeoff.tracking.journal.entries import MetricsEntry, ParamsEntry, TagsEntry
from bakeoff.tracking.store.mlflow_client import MOST_POINTS, MOST_TEXTS
from bakeoff.tracking.store.mlflow_names import metric_in_mlflow, params_in_mlflow

Point = tuple[str, int, float, int, bool]  # metric, step, value, milliseconds, whether it takes another's place
BatchEntry = MetricsEntry | ParamsEntry | TagsEntry


@dataclass
class Batch:
    points: list[Point] = field(default_factory=list)
    params: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    end: int | None = None  # of the journal, when this batch is through

    def would_overflow(self, entry: BatchEntry) -> bool:
        is_points = isinstance(entry, MetricsEntry)
        points = len(self.points) + (len(entry.values) if is_points else 0)
        texts = len(self.params) + len(self.tags) + (0 if is_points else len(entry.values))
        return self.end is not None and (points > MOST_POINTS or texts > MOST_TEXTS)

    def add(self, entry: BatchEntry, end: int) -> None:
        match entry:
            case MetricsEntry():
                named = {metric_in_mlflow(key): value for key, value in entry.values.items()}
                self.points += [(key, entry.step, value, entry.at, entry.revised) for key, value in named.items()]
            case ParamsEntry():
                params, tags = params_in_mlflow(entry.values)
                self.params |= params
                self.tags |= tags
            case TagsEntry():
                self.tags |= entry.values
        self.end = end
