"""Lines of a journal that go to MLflow in one request."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

Point = tuple[str, int, float, int, bool]  # metric, step, value, milliseconds, whether it takes another's place


@dataclass
class Batch:
    KINDS: ClassVar = ("metrics", "params", "tags")
    MOST_POINTS: ClassVar = 900  # MLflow takes 1,000 things in one request,
    MOST_TEXTS: ClassVar = 50  # 100 params and 100 tags, and a million bytes

    points: list[Point] = field(default_factory=list)
    params: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    end: int | None = None  # of the journal, when this batch is through

    def would_overflow(self, entry: dict[str, Any]) -> bool:
        points = len(self.points) + (len(entry["values"]) if entry["kind"] == "metrics" else 0)
        texts = len(self.params) + len(self.tags) + (len(entry["values"]) if entry["kind"] != "metrics" else 0)
        return self.end is not None and (points > self.MOST_POINTS or texts > self.MOST_TEXTS)

    def add(self, entry: dict[str, Any], end: int) -> None:
        if entry["kind"] == "metrics":
            self.points += [
                (key, entry["step"], value, entry["at"], entry.get("revised", False))
                for key, value in entry["values"].items()
            ]
        else:
            getattr(self, entry["kind"]).update(entry["values"])
        self.end = end
