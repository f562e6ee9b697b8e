"""Where copies of a run go: `conf/track/`. Never part of what a run computes."""

from dataclasses import dataclass
from typing import Protocol

from bakeoff.errors import require

FORBIDDEN = set("/:'\"")  # in the name of a model, by MLflow


class Track(Protocol): ...


@dataclass(frozen=True)
class Mlflow:
    experiment: str = "bakeoff"
    uri: str | None = None  # None: $MLFLOW_TRACKING_URI, or mlflow.db in the main workspace
    artifacts: str | None = None  # where files of a new experiment go, such as s3://bucket/path; None: by the store
    wait_s: float = 10.0  # at the end of a stage, for MLflow to have everything; the rest is sent without it
    system_every_s: float = 10.0  # between two looks at processor and memory; 0: none
    largest_model_mb: float = 500.0  # of weights or an export that MLflow gets; of a larger one it gets the digest
    register: str | None = None  # the exported model becomes a version of this registered model

    def __post_init__(self) -> None:
        require(bool(self.experiment.strip()), "experiment", self.experiment, "a name")
        for key in ("wait_s", "system_every_s", "largest_model_mb"):
            require(getattr(self, key) >= 0, key, getattr(self, key), "0 or more")
        is_name = self.register is None or (bool(self.register.strip()) and not set(self.register) & FORBIDDEN)
        require(is_name, "register", self.register, "a name without / : ' and \"")


@dataclass(frozen=True)
class Untracked:
    """Files only."""


TRACKERS: dict[str, type[Track]] = {"mlflow": Mlflow, "none": Untracked}
