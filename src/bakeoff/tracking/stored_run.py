"""A run as a store or a journal has it: the last value of each metric, and where its files are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class StoredRun:
    run_id: str  # our own; MLflow's if another program made it
    name: str
    status: str  # MLflow's: RUNNING, FINISHED, FAILED, KILLED
    began: int | None = None  # milliseconds since 1970
    ended: int | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    parent: str | None = None  # the name of the run that it stands under, such as a sweep's
    mlflow_id: str | None = None
    mlflow_experiment: str | None = None
    artifacts: str | None = None  # the address of its files in MLflow
    page: str | None = None  # of MLflow's UI, on a server
    journal: Path | None = None
    is_deleted: bool = False  # somebody deleted it in MLflow
