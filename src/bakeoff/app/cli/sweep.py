"""`bakeoff sweep`: every combination of a few values, each a DVC experiment."""

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.app.cli import sweep_commands
from bakeoff.app.cli.backend_option import HERE, SLURM, place_at, require_place, without_slurm
from bakeoff.app.cli.multirun import run_multirun
from bakeoff.app.cli.parser import Parser
from bakeoff.app.cli.sweep_plan import add_search_options, ask_again, plan_search, require_search
from bakeoff.app.cli.terminal import end_as_by_ctrl_c, print_while_heard
from bakeoff.foundation.errors import ConfigError, WorkspaceError
from bakeoff.foundation.progress import print_line

if TYPE_CHECKING:
    from bakeoff.experiments.sweep.launch import LaunchOptions
    from bakeoff.experiments.sweep.sweep_manifest import SweepManifest

COMMAND = re.compile(r"[a-z]+")  # an override has a = or a ~


def add_to(commands: Any, *, as_typed: bool = False) -> None:
    """Add `sweep`; `as_typed` puts its commands in the place of overrides, for a parser that reads nothing."""
    sweep = commands.add_parser("sweep", epilog=sweep_commands.OF_SWEEPS)
    add = sweep.add_argument
    if as_typed:
        sweep_commands.add_commands(sweep.add_commands())
    else:
        add(
            "overrides",
            nargs="*",
            metavar="OVERRIDE",
            help="Hydra overrides, some with several values: lr=cosine,exponential 'seed=range(0,3)' "
            "'model=glob(ssd*)' +lr.warmup_steps=0",
        )
    add("-m", "--multirun", action="store_true", help="accepted as in Hydra's applications; every sweep is a multirun")
    add_question_options(sweep)
    add_rule_options(sweep)
    add(
        "--resume",
        nargs="?",
        const="",
        metavar="ID",
        help="resume the last sweep, or sweep ID: run the jobs that are not finished",
    )
    add("--yes", action="store_true", help="start without asking, even if it takes more than an hour")
    changed = sweep.add_mutually_exclusive_group()
    changed.add_argument(
        "--as-begun",
        action="store_true",
        help="resume with the code and settings that it started with, whatever has changed since",
    )
    changed.add_argument(
        "--anew", action="store_true", help="if they have changed, start a new sweep with the same arguments"
    )
    add_search_options(sweep)
    sweep.set_defaults(run=run_sweep)


def add_question_options(command: Parser) -> None:
    add = command.add_argument
    command.add_path(
        "--from", dest="file", metavar="FILE", help="read more overrides from a file such as conf/sweep/rates.yaml"
    )
    add("--dry-run", action="store_true", help="print what would run, and run nothing")
    add("--note", metavar="TEXT", help="description of its runs in MLflow")
    add("--person", metavar="NAME", help="person whose training minutes it uses (conf/team.yaml)")
    add("--until", metavar="STAGE", help="run this stage and those that it needs, such as render_config")


def add_rule_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--on", metavar="PLACE", help="where jobs run: local, ray, ray://HOST:PORT, slurm (local)")
    add(
        "-j",
        "--jobs",
        type=int,
        metavar="N",
        help="number of jobs at once, if memory allows (1; on a cluster as many as fit)",
    )
    add("--follow", action="store_true", help="show the jobs' output, also of several at once")
    add("--quiet", action="store_true", help="keep the jobs' output in their logs")
    add("--fail-fast", action="store_true", help="start no more jobs once one has failed")
    add(
        "--retries",
        type=int,
        default=0,
        metavar="N",
        help="try a job again if it was killed, or had too little memory or disk",
    )


def run_sweep(arguments: argparse.Namespace) -> None:
    read_rules(arguments)  # before anything else is read
    require_place(arguments.on)
    require_search(arguments)
    if arguments.resume is not None:
        _resume(arguments)
    elif arguments.overrides and COMMAND.fullmatch(arguments.overrides[0]):
        sweep_commands.refuse_command(arguments.overrides[0])
    elif arguments.overrides or arguments.file:
        _begin(arguments, read_question(arguments), arguments.until)
    else:
        raise WorkspaceError("sweep: must be given what varies, such as lr=cosine,exponential, or --resume")


def read_question(arguments: argparse.Namespace) -> tuple[str, ...]:
    from bakeoff.experiments.sweep.configurations import load_overrides

    return (*(load_overrides(Path(arguments.file)) if arguments.file else ()), *arguments.overrides)


def read_rules(arguments: argparse.Namespace, **more: bool) -> "LaunchOptions":
    from bakeoff.experiments.sweep.launch import LaunchOptions

    for option, number, least in (("--jobs", arguments.jobs, 1), ("--retries", arguments.retries, 0)):
        if number is not None and number < least:
            raise WorkspaceError(f"{option}: must be {least} or more, got {number}")
    is_one = arguments.jobs == 1 or (arguments.jobs is None and arguments.on in HERE)
    follow = arguments.follow or (is_one and not arguments.quiet)
    return LaunchOptions(arguments.jobs, follow, arguments.fail_fast, arguments.retries, **more)


def plan_sweep(arguments: argparse.Namespace, overrides: tuple[str, ...]) -> "SweepManifest | None":
    """Return a sweep that was shown, confirmed and written down; None if no more than that is wanted."""
    if arguments.search is not None:
        return plan_search(arguments, overrides, arguments.until)
    options = {key: getattr(arguments, key) for key in ("until", "yes", "dry_run", "note", "person")}
    return run_multirun(overrides, options, only_queues=True)


def _begin(arguments: argparse.Namespace, overrides: tuple[str, ...], until: str | None) -> None:
    from bakeoff.experiments.sweep.configurations import SplitOverrides

    if arguments.search is None:
        sweep_commands.finish(run_multirun(overrides, _read_options(arguments) | ({"until": until} if until else {})))
    elif own := " ".join(SplitOverrides.split(without_slurm(arguments.on, overrides)).hydra):
        raise ConfigError(f"--search: must stand without overrides of Hydra's own, got {own}")
    elif (manifest := plan_search(arguments, overrides, until)) is not None:
        _launch(manifest, read_rules(arguments), arguments.on)


def _read_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what options set of `hydra.launcher.*`; overrides may set the rest."""
    options: dict[str, Any] = {} if arguments.jobs is None else {"jobs": arguments.jobs}
    options |= {} if arguments.on in HERE else {"on": arguments.on}
    options |= {"retries": arguments.retries} if arguments.retries else {}
    options |= {key: True for key in ("fail_fast", "yes", "dry_run", "follow") if getattr(arguments, key)}
    options |= {key: value for key in ("note", "person") if (value := getattr(arguments, key)) is not None}
    return options | ({"follow": False} if arguments.quiet and not arguments.follow else {})


def _resume(arguments: argparse.Namespace) -> None:
    from bakeoff.experiments.sweep.configurations import SplitOverrides
    from bakeoff.experiments.sweep.git_snapshot import changed_since, format_files
    from bakeoff.experiments.sweep.sweep_manifest import find_manifest
    from bakeoff.experiments.sweep.team_quota import require_minutes_to_resume

    if arguments.overrides or arguments.file or arguments.until or arguments.search is not None:
        raise WorkspaceError("--resume: must stand without overrides, --until and --search, for the sweep has its own")
    for option in ("note", "person"):
        if getattr(arguments, option) is not None:
            raise WorkspaceError(f"--{option}: must not be given with --resume, for the sweep has its own")
    manifest = find_manifest(arguments.resume or None)
    left = manifest.unfinished
    print_line(f"{manifest.id}: {manifest.expected - left} of {manifest.expected} jobs are done")
    changed = changed_since(manifest.snapshot) if left else []
    if changed and arguments.anew:
        print_line(f"{format_files(changed)} changed since, so it starts over")
        ask_again(arguments, manifest.search)
        arguments.person = manifest.person
        _begin(arguments, manifest.overrides, manifest.until)
        return
    if changed and not arguments.as_begun:
        raise WorkspaceError(
            f"{manifest.id}: {format_files(changed)} changed since it started; --as-begun resumes with what they were, "
            "--anew starts a new sweep of the same overrides"
        )
    if arguments.dry_run:
        return
    require_minutes_to_resume(manifest)
    if arguments.on is None:
        arguments.on = manifest.place
    require_place(arguments.on)
    overrides = without_slurm(SLURM if manifest.place == SLURM else arguments.on, manifest.overrides)
    if SplitOverrides.split(overrides).hydra:  # a sweeper may have more to propose
        options = _read_options(arguments) | ({"until": manifest.until} if manifest.until else {})
        sweep_commands.finish(run_multirun(overrides, options, manifest))
    elif left:
        _launch(manifest, read_rules(arguments), arguments.on)


def _launch(manifest: "SweepManifest", rules: "LaunchOptions", on: str | None) -> None:
    from bakeoff.experiments.sweep.launch import launch_of
    from bakeoff.experiments.sweep.mlflow_parent import report_to_mlflow
    from bakeoff.experiments.sweep.sweep_manifest import load_manifest, one_launcher

    end_as_by_ctrl_c()
    with one_launcher(manifest.folder), place_at(on, manifest.overrides) as place:
        manifest = load_manifest(manifest.folder)  # another may have launched it until now
        print_line(f"{manifest.id}: logs in {os.path.relpath(manifest.folder)}{os.sep}")
        with report_to_mlflow(manifest):
            manifest = launch_of(manifest, print_while_heard, rules, place=place).run()
    sweep_commands.finish(manifest)
