"""`bakeoff register`: a checkpoint of a run in MLflow as the next version of a registered model."""

from dataclasses import dataclass, replace

from bakeoff.app.cli.command_options import Command, argument, option
from bakeoff.app.cli.terminal import RUN
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError, OutOfRange
from bakeoff.foundation.progress import print_line


@dataclass(frozen=True)
class RegisterCommand(Command):
    which: str = argument(RUN, "RUN")
    step: int | None = option("the checkpoint of this step; without it the best weights so far", "STEP", least=1)
    name: str | None = option("of the registered model (track.register, else the experiment's name)", "NAME")

    def run(self) -> None:
        from bakeoff.app.cli.continue_run import track_settings
        from bakeoff.tracking.fetch_checkpoints import find_work
        from bakeoff.tracking.register_checkpoint import register_checkpoint
        from bakeoff.tracking.store.target import Target

        settings = track_settings(workspace.PARAMS, workspace.CONF)
        name = self.name or settings.register or settings.experiment
        try:
            replace(settings, register=name)
        except OutOfRange as error:
            raise ConfigError(f"--name: {error.reason}") from None
        work = find_work(Target.from_settings(settings), self.which, to_resume=False)
        checkpoint, version = register_checkpoint(work, name, self.step)
        print_line(f"register: {checkpoint} of run {work.short} is version {version} of {name}, in {work.target.shown}")
        print_line(f'  mlflow.keras.load_model("models:/{name}/{version}") and `mlflow models serve` open it')
