"""`bakeoff queue`: variants and sweeps in line, first in, first out; whoever starts the queue runs them."""

from dataclasses import dataclass

from bakeoff.app.cli import sweep_commands
from bakeoff.app.cli.backend_option import place_at, require_place
from bakeoff.app.cli.command_options import Command, argument, flag, group, option
from bakeoff.app.cli.sweep import SweepQuestion, SweepRules, plan_sweep
from bakeoff.app.cli.sweep_plan import SearchOptions
from bakeoff.app.cli.terminal import end_as_by_ctrl_c, print_columns, print_while_heard
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError, WorkspaceError
from bakeoff.foundation.progress import print_line


@dataclass(frozen=True)
class AddCommand(Command):
    overrides: tuple[str, ...] = argument(
        "overrides, as for `bakeoff sweep`; without any, params.yaml as it is", "OVERRIDE"
    )
    question: SweepQuestion = group(SweepQuestion)
    yes: bool = flag("queue without asking, even if it takes more than an hour")
    resume: str | None = option(
        "put sweep ID back in line: its jobs that are not done go on, with the code and settings they started with",
        "ID",
    )
    search: SearchOptions = group(SearchOptions, *SearchOptions.title)

    def run(self) -> None:
        if self.resume is not None:
            self._resume(self.resume)
            return
        from bakeoff.experiments.sweep.configurations import SplitOverrides
        from bakeoff.experiments.sweep.sweep_queue import add_sweep
        from bakeoff.experiments.sweep.team_quota import lock_minutes, require_minutes_to_resume

        overrides = self.question.add_overrides(self.overrides)
        if own := " ".join(SplitOverrides.split(overrides).hydra):
            raise ConfigError(f"queue add: must stand without overrides of Hydra's own, got {own}; leave them out")
        self.search.require_search()
        manifest = plan_sweep(self.question, overrides, self.search, yes=self.yes)
        if manifest is not None:
            with lock_minutes():  # others may have added theirs meanwhile
                require_minutes_to_resume(manifest)
                place = add_sweep(manifest)
            _report_place(manifest.id, place)

    def _resume(self, name: str) -> None:
        from bakeoff.experiments.sweep.sweep_manifest import find_manifest
        from bakeoff.experiments.sweep.sweep_queue import resume_sweep
        from bakeoff.experiments.sweep.team_quota import lock_minutes, require_minutes_to_resume

        if self.overrides:
            raise WorkspaceError("queue add --resume: must stand without overrides, for the sweep has its own")
        manifest = find_manifest(name)
        if not manifest.unfinished:
            raise WorkspaceError(
                f"{manifest.id}: all its jobs are done; `train.continue_from` trains a run for more steps"
            )
        with lock_minutes():
            require_minutes_to_resume(manifest)
            _report_place(manifest.id, resume_sweep(manifest))


def _report_place(sweep: str, place: int) -> None:
    print_line(f"{sweep}: {place} in the queue; `bakeoff queue start` runs it, and what stands before it")


@dataclass(frozen=True)
class StartCommand(Command):
    rules: SweepRules = group(SweepRules)
    wait: bool = flag("when the queue is empty, wait for more until Ctrl-C")

    def run(self) -> None:
        from bakeoff.experiments.sweep.sweep_manifest import one_launcher
        from bakeoff.experiments.sweep.sweep_queue import QueueRun

        rules = self.rules.launch_options(again=False, queued=True)
        require_place(self.rules.on)
        end_as_by_ctrl_c()
        workspace.queue().mkdir(parents=True, exist_ok=True)
        with one_launcher(workspace.queue()), place_at(self.rules.on) as place:
            (run := QueueRun(print_while_heard, rules, wait=self.wait, place=place)).run()
        if not run.states:
            print_line("the queue is empty; `bakeoff queue add lr=cosine` adds to it")
        sweep_commands.leave_by(run.states)


@dataclass(frozen=True)
class QueueListCommand(Command):
    def run(self) -> None:
        from bakeoff.experiments.sweep.sweep_manifest import load_manifest
        from bakeoff.experiments.sweep.sweep_queue import list_queued_sweeps

        rows = [("", "sweep", "jobs", "question")]
        for place, sweep_id in enumerate(list_queued_sweeps(), 1):
            manifest = load_manifest(workspace.sweeps() / sweep_id)
            rows.append((str(place), manifest.id, manifest.counts, " ".join(manifest.overrides) or "params.yaml"))
        if len(rows) == 1:
            print_line("the queue is empty")
        else:
            print_columns(rows)


@dataclass(frozen=True)
class RemoveCommand(Command):
    which: tuple[str, ...] = argument("sweeps of the queue", "ID")
    all: bool = flag("remove all")

    def run(self) -> None:
        from bakeoff.experiments.sweep.sweep_queue import find_queued_sweep, list_queued_sweeps, remove_sweep

        if bool(self.which) == self.all:
            raise WorkspaceError(
                "queue remove: must be given either ids of sweeps or --all; `bakeoff queue list` has them"
            )
        for sweep_id in list_queued_sweeps() if self.all else [find_queued_sweep(name) for name in self.which]:
            remove_sweep(sweep_id)
            print_line(f"{sweep_id}: is out of the queue; `bakeoff sweep --resume {sweep_id}` runs it by itself")
