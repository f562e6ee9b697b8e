"""`hydra.launcher.*` of `hydra/launcher: dvc`, and options of `bakeoff sweep` -> how a multirun's jobs are run."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from bakeoff.experiments.sweep.backend import LOCAL
from bakeoff.experiments.sweep.launch import LaunchOptions
from bakeoff.foundation.errors import ConfigError, choices, show
from bakeoff.tracking.notes import require_note

LEAST = {"jobs": 1, "retries": 0}
SWITCHES = ("follow", "fail_fast", "yes", "dry_run")


@dataclass(frozen=True)
class Settings:
    jobs: int | None = None  # None: one on this machine, elsewhere as many as there is room for
    follow: bool | None = None  # None: if one runs at a time
    fail_fast: bool = False
    retries: int = 0
    until: str | None = None
    yes: bool = False
    dry_run: bool = False
    note: str | None = None  # the note of all its runs
    person: str | None = None  # of conf/team.yaml, whose minutes it uses
    on: str | None = None  # where they run; None: on this machine

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> "Settings":
        values = {key: value for key, value in given.items() if not key.startswith("_") and key != "begun_by"}
        known = [field.name for field in fields(cls)]
        for key, value in values.items():
            where = f"hydra.launcher.{key}"
            if key not in known:
                raise ConfigError(f"{where}: no such setting; {choices(key, known)}")
            is_number = isinstance(value, int) and not isinstance(value, bool)
            if key in LEAST and value is not None and not (is_number and value >= LEAST[key]):
                raise ConfigError(f"{where}: must be a whole number, {LEAST[key]} or more, got {show(value)}")
            if key in SWITCHES and not isinstance(value, bool | None):
                raise ConfigError(f"{where}: must be true or false, got {show(value)}")
        if (note := values.get("note")) is not None:
            require_note(str(note))
        return cls(**values)

    @property
    def is_here(self) -> bool:
        return self.on in (None, LOCAL)

    def rules(self) -> LaunchOptions:
        is_one = self.jobs == 1 or (self.jobs is None and self.is_here)
        return LaunchOptions(self.jobs, is_one if self.follow is None else self.follow, self.fail_fast, self.retries)
