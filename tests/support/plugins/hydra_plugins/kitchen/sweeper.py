from typing import Any

from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper


class Uphill(Sweeper):
    """`key=` is given in the first word: its value grows by one as long as that makes the result better."""

    def __init__(self, rounds: int, first: int) -> None:
        self.rounds, self.value = rounds, first

    def setup(self, *, hydra_context: Any, task_function: Any, config: Any) -> None:
        self.hydra_context, self.config = hydra_context, config
        self.launcher = Plugins.instance().instantiate_launcher(hydra_context, task_function, config)

    def sweep(self, arguments: list[str]) -> None:
        best = float("-inf")
        for number in range(self.rounds):
            batch = [[*arguments, f"seed={self.value}"]]
            self.validate_batch_is_legal(batch)
            [end] = self.launcher.launch(batch, initial_job_idx=number)
            if end.return_value <= best:
                return
            best, self.value = end.return_value, self.value + 1
