"""A sweep that a command makes by itself to answer a question: `bakeoff curve`, `bakeoff suspects --folds`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bakeoff.app.cli.command_options import flag, group, option
from bakeoff.app.cli.sweep import SweepCommand, SweepQuestion, SweepRules
from bakeoff.foundation.errors import WorkspaceError


@dataclass(frozen=True)
class InternalSweep:
    resume: str | None = option("resume the last sweep, or sweep ID", "ID", nargs="?", const="")
    dry_run: bool = flag("print what would run, and run nothing")
    yes: bool = flag("start without asking, even if it takes more than an hour")
    as_begun: bool = flag("resume with the code and settings that it started with, whatever has changed since")
    note: str | None = option("description of its runs in MLflow", "TEXT")
    person: str | None = option("person whose training minutes it uses (conf/team.yaml)", "NAME")
    rules: SweepRules = group(SweepRules)

    def list_given(self) -> list[str]:
        """Return the options that were given, but for --resume."""
        values = vars(self) | {"resume": None, "rules": None} | vars(self.rules)
        return [name for name, value in values.items() if value]

    def train_or_resume(self, changes: Sequence[str], make_overrides: Callable[[], Sequence[str]]) -> None:
        """Run a sweep of the overrides with the user's own, or what is left of one. Leaves with its exit code if some
        runs are not done."""
        overrides: tuple[str, ...] = ()
        if self.resume is None:
            overrides = (*changes, *make_overrides())
        elif changes:
            raise WorkspaceError("--resume: must stand without overrides, for the sweep has its own")
        until = None if self.resume is not None else "evaluate"  # the answer needs no export
        question = SweepQuestion(dry_run=self.dry_run, note=self.note, person=self.person, until=until)
        SweepCommand(
            overrides, question=question, rules=self.rules, resume=self.resume, yes=self.yes, as_begun=self.as_begun
        ).run()
