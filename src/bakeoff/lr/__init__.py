"""Step -> learning rate. Steps count from 0; every schedule is a frozen dataclass that is the schedule.

`over` fills in what depends on the length of the run, so that run.yaml says it. What `scale_with_batch` makes
of a rate is the run's business (`batch_factor`), not the schedule's.
"""

from bakeoff.lr.constant import Constant
from bakeoff.lr.cosine import Cosine
from bakeoff.lr.exponential import Exponential
from bakeoff.lr.manual import Manual
from bakeoff.lr.one_cycle import OneCycle
from bakeoff.lr.polynomial import Polynomial
from bakeoff.lr.schedule import Schedule

SCHEDULES: dict[str, type[Schedule]] = {
    "constant": Constant,
    "cosine": Cosine,
    "exponential": Exponential,
    "manual": Manual,
    "one_cycle": OneCycle,
    "polynomial": Polynomial,
}


def batch_factor(schedule: Schedule, batch_size: int) -> float:
    """What the rates are multiplied by, in proportion to the batch (Goyal et al., arXiv:1706.02677)."""
    return batch_size / schedule.scale_with_batch if schedule.scale_with_batch else 1.0
