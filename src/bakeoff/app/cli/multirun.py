"""`python -m bakeoff.multirun`, and what both doors to a multirun show on the terminal."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from bakeoff.app.cli import sweep_commands
from bakeoff.app.cli.backend_option import place_at, without_slurm
from bakeoff.app.cli.sweep_plan import require_yes, show_jobs, show_sum
from bakeoff.app.cli.terminal import end_as_by_ctrl_c, print_while_heard
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError, errors_in_one_line

if TYPE_CHECKING:
    from bakeoff.experiments.sweep.backend import Backend
    from bakeoff.experiments.sweep.launcher_settings import Settings
    from bakeoff.experiments.sweep.plan_jobs import PlannedJob
    from bakeoff.experiments.sweep.sweep_manifest import SweepManifest

OTHER_CONF = ("config_path", "config_name", "config_dir")


class Terminal:
    def print_line(self, line: str) -> None:
        print_while_heard(line)

    def show(self, jobs: "Sequence[PlannedJob]", configurations: int, settings: "Settings", *, ask: bool) -> None:
        show_jobs(jobs, configurations)
        sum_of_all = show_sum([job.estimate for job in jobs], settings.jobs or 1)
        if ask and not settings.dry_run:
            require_yes(sum_of_all, sure=settings.yes)

    def place_at(self, on: str | None, overrides: Sequence[str]) -> "AbstractContextManager[Backend]":
        return place_at(on, overrides)


def run_multirun(
    overrides: Sequence[str],
    options: Mapping[str, Any],
    resumed: "SweepManifest | None" = None,
    *,
    only_queues: bool = False,
) -> "SweepManifest | None":
    """Run the application on overrides as `bakeoff sweep` has them: a key with a value needs no `++`.

    Hydra does not get settings of Slurm's jobs, which are kept with the sweep.
    """
    from bakeoff.experiments.sweep.configurations import set_or_add
    from bakeoff.experiments.sweep.hydra_app import Multirun

    end_as_by_ctrl_c()
    multirun = Multirun(Terminal(), overrides, options=options, resumed=resumed, only_queues=only_queues)
    shown = without_slurm(options.get("on"), overrides)
    return multirun.run(["bakeoff sweep", "--multirun", *map(set_or_add, shown)])


def main() -> None:
    with errors_in_one_line():
        overrides, options = _read_arguments(sys.argv[1:])
        for name in OTHER_CONF:
            if getattr(options, name) is not None:
                option = f"--{name.replace('_', '-')}"
                raise ConfigError(f"{option}: must not be given, for the configuration is conf/ of this workspace")
        workspace.enter()
        end_as_by_ctrl_c()
        from bakeoff.experiments.sweep.configurations import SplitOverrides
        from bakeoff.experiments.sweep.hydra_app import Multirun

        shown = SplitOverrides.split(overrides).variants if options.cfg is not None else None
        sweep_commands.finish(Multirun(Terminal(), overrides).run(sys.argv, whole_of=shown))


def _read_arguments(arguments: list[str]) -> tuple[list[str], argparse.Namespace]:
    """Return the overrides, and of Hydra's own options those that take one; Hydra reads them all again."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("overrides", nargs="*")
    for names in (("--cfg", "-c"), ("--package", "-p"), ("--config-path", "-cp"), ("--config-name", "-cn")):
        parser.add_argument(*names)
    parser.add_argument("--config-dir", "-cd")
    parser.add_argument("--info", "-i", nargs="?")
    parser.add_argument("--shell-completion", "-sc", action="store_true")
    options, _ = parser.parse_known_intermixed_args(arguments)
    return [] if options.shell_completion else options.overrides, options
