"""Step -> learning rate. Steps count from 0; every schedule is a frozen dataclass that is the schedule.

`over` fills in what depends on the length of the run, so that run.yaml says it. What `scale_with_batch` makes
of a rate is the run's business (`batch_factor`), not the schedule's.
"""

from bakeoff.foundation.own_parts import PartTable
from bakeoff.learning.lr.decays import Constant, Cosine, Exponential, Polynomial
from bakeoff.learning.lr.piecewise import Manual, OneCycle
from bakeoff.learning.lr.schedule import Schedule

BUILT_IN: dict[str, type[Schedule]] = {
    "constant": Constant,
    "cosine": Cosine,
    "exponential": Exponential,
    "manual": Manual,
    "one_cycle": OneCycle,
    "polynomial": Polynomial,
}
SCHEDULES = PartTable("SCHEDULES", BUILT_IN)


def batch_factor(schedule: Schedule, batch_size: int) -> float:
    """Return what the rates are multiplied by, in proportion to the batch (Goyal et al., arXiv:1706.02677)."""
    return batch_size / schedule.scale_with_batch if schedule.scale_with_batch else 1.0
