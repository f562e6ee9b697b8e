"""`conf/track/`: where copies of a run go, and which checkpoints. No result depends on it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from bakeoff.foundation.errors import require, require_at_most

Checkpoints = Literal["newest", "kept", "best", "all", "none"]
PASSWORD = re.compile(r"\w://[^/\s]*@")  # of an address; run.yaml and every copy of a run would hold it
FORBIDDEN = set("/:'\"")  # in the name of a model, by MLflow


class Track(Protocol):
    """Where copies of a run go; never part of what a run computes."""


@dataclass(frozen=True)
class Mlflow:
    experiment: str = "bakeoff"
    uri: str | None = None  # None: $MLFLOW_TRACKING_URI, or mlflow.db in the main workspace
    artifacts: str | None = None  # where files of a new experiment go, such as s3://bucket/path; None: by the store
    wait_s: float = 10.0  # at the end of a stage, for MLflow to have everything; the rest is sent without it
    system_every_s: float = 10.0  # between two looks at processor and memory; 0: none
    checkpoints: Checkpoints = "newest"  # that MLflow gets while training: the newest two and the best weights, …
    largest_model_mb: float = 500.0  # of a file or an export that MLflow gets; of a larger one it gets the digest
    register: str | None = None  # the exported model becomes a version of this registered model
    name: str | None = None  # of the run; None: the options of its variant

    def __post_init__(self) -> None:
        require(bool(self.experiment.strip()), "experiment", self.experiment, "a name")
        for key in ("uri", "artifacts"):
            rule = "an address without a user and a password; $MLFLOW_TRACKING_USERNAME and …_PASSWORD hold them"
            require(not PASSWORD.search(getattr(self, key) or ""), key, "…", rule)
        for key in ("wait_s", "system_every_s", "largest_model_mb"):
            require(getattr(self, key) >= 0, key, getattr(self, key), "0 or more")
            require_at_most(self, **{key: 1_000_000})
        require(self.name is None or bool(self.name.strip()), "name", self.name, "a name")
        is_name = self.register is None or (bool(self.register.strip()) and not set(self.register) & FORBIDDEN)
        require(is_name, "register", self.register, "a name without / : ' and \"")


@dataclass(frozen=True)
class Untracked:
    """Files only."""


TRACKERS: dict[str, type[Track]] = {"mlflow": Mlflow, "none": Untracked}


def load_track(path: Path) -> Track:
    """Read from run.yaml where copies of the run go."""
    from bakeoff.learning.run_file.read_write import load_group  # knows all networks; most who ask for a store do not

    return load_group(path, "track", TRACKERS)
