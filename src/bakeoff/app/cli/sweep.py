"""`bakeoff sweep`: every combination of a few values, each a DVC experiment."""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.app.cli import sweep_commands
from bakeoff.app.cli.backend_option import HERE, SLURM, place_at, require_place, without_slurm
from bakeoff.app.cli.command_options import Command, argument, flag, group, option
from bakeoff.app.cli.multirun import run_multirun
from bakeoff.app.cli.sweep_plan import SearchOptions, plan_search
from bakeoff.app.cli.terminal import end_as_by_ctrl_c, print_while_heard
from bakeoff.foundation.errors import ConfigError, WorkspaceError
from bakeoff.foundation.progress import print_line

if TYPE_CHECKING:
    from bakeoff.experiments.sweep.launch import LaunchOptions
    from bakeoff.experiments.sweep.sweep_manifest import SweepManifest

OVERRIDES = (
    "Hydra overrides, some with several values: lr=cosine,exponential 'seed=range(0,3)' 'model=glob(ssd*)' "
    "+lr.warmup_steps=0"
)
NO_OVERRIDE = re.compile(r"[a-z]+")  # an override has a = or a ~


@dataclass(frozen=True)
class SweepQuestion:
    """What is asked, besides the overrides."""

    file: Path | None = option("read more overrides from a file such as conf/sweep/rates.yaml", "FILE", flags="--from")
    dry_run: bool = flag("print what would run, and run nothing")
    note: str | None = option("description of its runs in MLflow", "TEXT")
    person: str | None = option("person whose training minutes it uses (conf/team.yaml)", "NAME")
    until: str | None = option("run this stage and those that it needs, such as render_config", "STAGE")

    def add_overrides(self, typed: tuple[str, ...]) -> tuple[str, ...]:
        """Return the overrides of the file, then those that were typed."""
        from bakeoff.experiments.sweep.configurations import load_overrides

        return (*(load_overrides(self.file) if self.file else ()), *typed)


@dataclass(frozen=True)
class SweepRules:
    """How jobs are run."""

    on: str | None = option("where jobs run: local, ray, ray://HOST:PORT, slurm (local)", "PLACE")
    jobs: int | None = option(
        "number of jobs at once, if memory allows (1; on a cluster as many as fit)", "N", flags="-j --jobs", least=1
    )
    follow: bool = flag("show the jobs' output, also of several at once")
    quiet: bool = flag("keep the jobs' output in their logs")
    fail_fast: bool = flag("start no more jobs once one has failed")
    retries: int = option("try a job again if it was killed, or had too little memory or disk", "N", default=0, least=0)

    def launch_options(self, **more: bool) -> "LaunchOptions":
        from bakeoff.experiments.sweep.launcher_settings import Settings

        follow = self.follow or (False if self.quiet else None)
        settings = Settings(self.jobs, follow, self.fail_fast, self.retries, on=self.on)
        return replace(settings.rules(), **more)


@dataclass(frozen=True)
class SweepCommand(Command):
    epilog = sweep_commands.OF_SWEEPS
    overrides: tuple[str, ...] = argument(OVERRIDES, "OVERRIDE", default=())
    multirun: bool = flag("accepted as in Hydra's applications; every sweep is a multirun", flags="-m --multirun")
    question: SweepQuestion = group(SweepQuestion)
    rules: SweepRules = group(SweepRules)
    resume: str | None = option(
        "resume the last sweep, or sweep ID: run the jobs that are not finished", "ID", nargs="?", const=""
    )
    yes: bool = flag("start without asking, even if it takes more than an hour")
    as_begun: bool = flag("resume with the code and settings that it started with, whatever has changed since")
    anew: bool = flag("if they have changed, start a new sweep with the same arguments")
    search: SearchOptions = group(SearchOptions, *SearchOptions.title)

    def run(self) -> None:
        if self.as_begun and self.anew:
            raise ConfigError("--anew: must stand without --as-begun")
        require_place(self.rules.on)
        self.search.require_search()
        if self.resume is not None:
            _resume(self)
        elif self.overrides and NO_OVERRIDE.fullmatch(self.overrides[0]):
            sweep_commands.refuse_command(self.overrides[0])
        elif self.overrides or self.question.file:
            _begin(self, self.question.add_overrides(self.overrides))
        else:
            raise WorkspaceError("sweep: must be given what varies, such as lr=cosine,exponential, or --resume")

    @property
    def launcher_settings(self) -> dict[str, Any]:
        """Return what options set of `hydra.launcher.*`; overrides may set the rest."""
        rules, question = self.rules, self.question
        options: dict[str, Any] = {} if rules.jobs is None else {"jobs": rules.jobs}
        options |= {} if rules.on in HERE else {"on": rules.on}
        options |= {"retries": rules.retries} if rules.retries else {}
        flags = {"fail_fast": rules.fail_fast, "yes": self.yes, "dry_run": question.dry_run, "follow": rules.follow}
        options |= {key: True for key, value in flags.items() if value}
        texts = {"note": question.note, "person": question.person, "until": question.until}
        options |= {key: value for key, value in texts.items() if value is not None}
        return options | ({"follow": False} if rules.quiet and not rules.follow else {})


def plan_sweep(
    question: SweepQuestion, overrides: tuple[str, ...], search: SearchOptions, *, yes: bool
) -> "SweepManifest | None":
    """Return a sweep that was shown, confirmed and written down; None if no more than that is wanted."""
    if search.kind is not None:
        return plan_search(search, overrides, question, jobs=1, yes=yes)
    options = {"until": question.until, "yes": yes, "dry_run": question.dry_run}
    options |= {"note": question.note, "person": question.person}
    return run_multirun(overrides, options, only_queues=True)


def _begin(asked: SweepCommand, overrides: tuple[str, ...]) -> None:
    from bakeoff.experiments.sweep.configurations import SplitOverrides

    rules = asked.rules
    if asked.search.kind is None:
        sweep_commands.finish(run_multirun(overrides, asked.launcher_settings))
    elif own := " ".join(SplitOverrides.split(without_slurm(rules.on, overrides)).hydra):
        raise ConfigError(f"--search: must stand without overrides of Hydra's own, got {own}")
    elif (
        manifest := plan_search(asked.search, overrides, asked.question, jobs=rules.jobs or 1, yes=asked.yes)
    ) is not None:
        _launch(manifest, rules.launch_options(), rules.on)


def _resume(asked: SweepCommand) -> None:
    from bakeoff.experiments.sweep.configurations import SplitOverrides
    from bakeoff.experiments.sweep.git_snapshot import SHOWN, changed_since
    from bakeoff.experiments.sweep.mlflow_parent import report_lost_end
    from bakeoff.experiments.sweep.sweep_manifest import find_manifest, one_launcher
    from bakeoff.experiments.sweep.team_quota import require_minutes_to_resume
    from bakeoff.foundation.formatting import format_names

    question = asked.question
    if asked.overrides or question.file or question.until or asked.search.kind is not None:
        raise WorkspaceError("--resume: must stand without overrides, --until and --search, for the sweep has its own")
    for option_name, text in (("note", question.note), ("person", question.person)):
        if text is not None:
            raise WorkspaceError(f"--{option_name}: must not be given with --resume, for the sweep has its own")
    manifest = find_manifest(asked.resume or None)
    left = manifest.unfinished
    print_line(f"{manifest.id}: {manifest.expected - left} of {manifest.expected} jobs are done")
    changed = changed_since(manifest.snapshot) if left else []
    names = format_names(changed, SHOWN)
    if changed and asked.anew:
        print_line(f"{names} changed since, so it starts over")
        question = replace(question, person=manifest.person, until=manifest.until)
        _begin(replace(asked, question=question, search=SearchOptions.of(manifest.search)), manifest.overrides)
        return
    if changed and not asked.as_begun:
        raise WorkspaceError(
            f"{manifest.id}: {names} changed since it started; --as-begun resumes with what they were, "
            "--anew starts a new sweep of the same overrides"
        )
    if question.dry_run:
        return
    require_minutes_to_resume(manifest)
    rules = replace(asked.rules, on=asked.rules.on or manifest.place)
    require_place(rules.on)
    overrides = without_slurm(SLURM if manifest.place == SLURM else rules.on, manifest.overrides)
    if SplitOverrides.split(overrides).hydra:  # a sweeper may have more to propose
        again = replace(asked, rules=rules, question=replace(question, until=manifest.until))
        sweep_commands.finish(run_multirun(overrides, again.launcher_settings, manifest))
    elif left:
        _launch(manifest, rules.launch_options(), rules.on)
    else:
        with one_launcher(manifest.folder):
            report_lost_end(manifest)


def _launch(manifest: "SweepManifest", rules: "LaunchOptions", on: str | None) -> None:
    from bakeoff.experiments.sweep.launch import Launch
    from bakeoff.experiments.sweep.mlflow_parent import report_to_mlflow
    from bakeoff.experiments.sweep.sweep_manifest import load_manifest, one_launcher

    end_as_by_ctrl_c()
    with one_launcher(manifest.folder), place_at(on, manifest.overrides) as place:
        manifest = load_manifest(manifest.folder)  # another may have launched it until now
        print_line(f"{manifest.id}: logs in {os.path.relpath(manifest.folder)}{os.sep}")
        with report_to_mlflow(manifest):
            manifest = Launch(manifest, print_while_heard, rules, place=place).run()
    sweep_commands.finish(manifest)
