"""`bakeoff import-config FILE`: a pipeline.config of the Object Detection API becomes options of conf/."""

from dataclasses import dataclass
from pathlib import Path

from bakeoff.app.cli.command_options import Command, absolute_path, argument, flag, option
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError
from bakeoff.foundation.progress import print_line


@dataclass(frozen=True)
class ImportConfigCommand(Command):
    file: Path = argument("the pipeline.config", "FILE", type=absolute_path)
    name: str | None = option("name of the options (default: the file's name, or its folder's for pipeline.config)")
    force: bool = flag("replace options of this name")
    nearest: bool = flag("use the nearest network if there is none of this kind here")

    def run(self) -> None:
        """Write the options into the workspace that is the current folder, and print what could not be carried over."""
        from bakeoff.importing.api_config.options import import_pipeline, write_options

        path = self.file
        name, file = _choose_name(self.name, path), workspace.printable_file_name(path)
        imported = import_pipeline(_read_bytes(path), file, takes_nearest=self.nearest)
        written = write_options(imported.settings, workspace.CONF, name=name, file=file, force=self.force)
        for line in imported.report:
            print_line(line)
        if imported.report:
            print_line(f"{len(imported.report)} lines above: what the options don't hold, or hold in another form")
        for path in written:
            print_line(f"written: {path.as_posix()}")


def _read_bytes(path: Path) -> bytes:
    from bakeoff.importing.api_config.pipeline_reader import MOST_BYTES

    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


def _choose_name(given: str | None, path: Path) -> str:
    from bakeoff.config.compose.option_lookup import PRESET

    stem = path.parent.name if path.stem == "pipeline" else path.stem
    return workspace.choose_option_name(given, stem, reserved=PRESET)
