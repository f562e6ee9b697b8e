"""What a run knows of itself besides its arrays, as a checkpoint holds it: `RunState`, read and written here alone."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.checkpoints.trained_state import TakenFrom
from bakeoff.learning.metrics.names import merit
from bakeoff.learning.plan.train_settings import Patience

End = Literal["steps", "stop", "max_minutes", "early_stopping"]


@dataclass(frozen=True, order=True)
class Position:
    """How far a run is."""

    phase: int  # its number, from 0
    step: int  # steps of the run that are done


@dataclass(frozen=True)
class Best:
    """The best validation so far."""

    step: int = 0  # 0: there was none
    value: float | None = None  # higher is better; None: there is nothing to count it on, such as no box in any image

    def number(self, metric: str) -> float | None:
        """Return the value as the metric has it."""
        return None if self.value is None else merit(metric, self.value)

    def is_beaten_by(self, value: float | None) -> bool:
        return self.step == 0 or (value is not None and (self.value is None or value > self.value))


@dataclass(frozen=True)
class PhaseState:
    """What a phase knows besides its weights, and resumes with after an interruption."""

    best: Best = Best()
    patience: Patience = field(default_factory=Patience)
    owes_validation: bool = False  # a stop came before the last step could be validated
    ended_by: End | None = None

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "PhaseState":
        parts = {"best": Best(**tree["best"]), "patience": Patience(**tree.get("patience", {}))}
        return cls(**{**tree, **parts})


@dataclass(frozen=True)
class RunState:
    """The state of a run that has trained up to a checkpoint."""

    phases: tuple[PhaseState, ...] = ()  # of each phase that has started
    history: tuple[LogLine, ...] = ()
    seconds: float = 0.0  # of training, in all processes of the run
    resumed: tuple[int, ...] = ()  # the steps from which it resumed
    parents: tuple[TakenFrom, ...] = ()  # the runs that it continues
    lent: tuple[TakenFrom, ...] = ()  # the runs whose first phases it took over
    threads: int | None = None  # in one operation, with which it is trained; None: an earlier version did not say
    paths: Mapping[str, str] = field(default_factory=dict)  # of the kept weights, by their names among the arrays

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "RunState":
        return cls(
            phases=tuple(map(PhaseState.from_tree, tree["phases"])),
            history=tuple(map(LogLine.parse, tree["history"])),
            seconds=tree["seconds"],
            resumed=tuple(tree["resumed"]),
            parents=tuple(TakenFrom(**one) for one in tree["parents"]),
            lent=tuple(TakenFrom(**one) for one in tree.get("lent", ())),
            threads=tree.get("threads"),
            paths=tree.get("paths", {}),
        )

    def as_tree(self) -> dict[str, Any]:
        """Return plain values, as a checkpoint's head holds them."""
        tree = asdict(replace(self, history=()))
        return tree | {"history": [line.as_text() for line in self.history]}

    def bests(self) -> list[Position]:
        """Return where the best weights were reached that the phases name."""
        return [Position(number, one.best.step) for number, one in enumerate(self.phases) if one.best.step]
