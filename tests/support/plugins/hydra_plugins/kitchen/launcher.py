from collections.abc import Sequence
from typing import Any

from hydra.core.utils import JobReturn, run_job
from hydra.plugins.launcher import Launcher


class OneByOne(Launcher):
    """In this process, each composed as Hydra composes it."""

    def __init__(self, refuses: str | None = None) -> None:
        self.refuses = refuses

    def setup(self, *, hydra_context: Any, task_function: Any, config: Any) -> None:
        self.context, self.task, self.config = hydra_context, task_function, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        if self.refuses:
            raise ConnectionError(self.refuses)
        ends = []
        for number, overrides in enumerate(job_overrides, initial_job_idx):
            config = self.context.config_loader.load_sweep_config(self.config, list(overrides))
            config.hydra.job.num = number
            ends.append(run_job(self.task, config, "hydra.sweep.dir", "hydra.sweep.subdir", self.context))
        return ends
