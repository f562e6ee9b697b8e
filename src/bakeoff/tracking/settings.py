"""Where copies of a run go: `conf/track/`. Never part of what a run computes."""

from dataclasses import dataclass
from typing import Protocol

from bakeoff.errors import require


class Track(Protocol): ...


@dataclass(frozen=True)
class Mlflow:
    experiment: str = "bakeoff"
    uri: str | None = None  # None: $MLFLOW_TRACKING_URI, or mlflow.db in the main workspace

    def __post_init__(self) -> None:
        require(bool(self.experiment.strip()), "experiment", self.experiment, "a name")


@dataclass(frozen=True)
class Untracked:
    """Files only."""


TRACKERS: dict[str, type[Track]] = {"mlflow": Mlflow, "none": Untracked}
