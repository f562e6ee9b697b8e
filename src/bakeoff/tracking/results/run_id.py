"""All that one run is called, and the short name of it that every list shows."""

import re
from dataclasses import dataclass

SHOWN_OF_ID = 8  # characters of a run's id: its short name
RESTORED = "bakeoff.restored"  # a tag: of a result that was made elsewhere
SWEEP_EXPERIMENT = re.compile(r"(sweep-\d{8}-\d{6})-\d+")  # as `bakeoff sweep` names its experiments


@dataclass(frozen=True)
class Names:
    """All that a run is called; nothing of what it has no name of."""

    run_id: str = ""
    fingerprint: str = ""
    mlflow_id: str = ""
    experiment: str = ""  # DVC's
    variant: str = ""
    revision: str = ""  # of git, by which it was asked for
    state: str = ""
    began: float = 0.0

    @property
    def names(self) -> "Names":
        return self

    @property
    def ids(self) -> tuple[str, ...]:
        return self.run_id, self.mlflow_id, self.fingerprint

    @property
    def short(self) -> str:
        """Return what lists show; of a run of an early version, which has no id here, its fingerprint's beginning."""
        return (self.run_id or self.fingerprint)[:SHOWN_OF_ID]

    @property
    def label(self) -> str:
        """Return the name for a sentence."""
        name = self.experiment or self.variant or self.revision
        return f"{self.short} ({name})" if self.short and name else self.short or name
