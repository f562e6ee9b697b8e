"""When validation gets no better: `train.early_stopping`."""

from dataclasses import dataclass

from bakeoff.errors import require


@dataclass(frozen=True)
class Patience:
    """How early stopping stands, after some looks at validation."""

    reference: float | None = None  # the last value that was an improvement; None: there was none
    waited: int = 0  # looks since


@dataclass(frozen=True)
class EarlyStopping:
    """A leg ends when `patience` looks in a row brought nothing better, by more than `min_change`."""

    patience: int = 0  # looks at validation; 0: it never ends a leg
    min_change: float = 0.0

    def __post_init__(self) -> None:
        require(self.patience >= 0, "patience", self.patience, "0 or more")
        require(self.min_change >= 0, "min_change", self.min_change, "0 or more")

    def after(self, before: Patience, value: float | None) -> Patience:
        """None, a score that there is nothing to count on, is no improvement."""
        if value is not None and (before.reference is None or value > before.reference + self.min_change):
            return Patience(value)
        return Patience(before.reference, before.waited + 1)

    def is_over(self, patience: Patience) -> bool:
        return 0 < self.patience <= patience.waited
