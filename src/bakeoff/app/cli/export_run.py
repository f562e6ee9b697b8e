"""`bakeoff export`: files of a finished run for another device or runtime, without a training."""

from dataclasses import dataclass

from bakeoff.app.cli.command_options import Command, argument, option
from bakeoff.app.cli.terminal import RUN
from bakeoff.foundation.progress import print_line


@dataclass(frozen=True)
class ExportCommand(Command):
    which: str = argument(RUN, "RUN")
    option: str = option("an option of conf/export/, such as limelight_coral", "OPTION", flags="--as", required=True)

    def run(self) -> None:
        from bakeoff.experiments.runs.list_runs import known_runs
        from bakeoff.inference.device.run_export import export_run
        from bakeoff.tracking.resolve_name import resolve

        run = resolve(self.which, known_runs())
        folder = export_run(run, self.option)
        print_line(f"export: {run.label} as {self.option}: {folder.as_posix()}/")
