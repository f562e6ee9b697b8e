"""`bakeoff import-config FILE`: a pipeline.config of the Object Detection API becomes options of conf/."""

import argparse
from pathlib import Path
from typing import Any

from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError
from bakeoff.foundation.progress import print_line


def add_to(commands: Any) -> None:
    command = commands.add_parser("import-config")
    add = command.add_argument
    # Made absolute at once: the command itself runs in the workspace's own folder.
    command.add_path("file", metavar="FILE", type=lambda text: Path(text).absolute(), help="the pipeline.config")
    add("--name", help="name of the options (default: the file's name, or its folder's for pipeline.config)")
    add("--force", action="store_true", help="replace options of this name")
    add("--nearest", action="store_true", help="use the nearest network if there is none of this kind here")
    command.set_defaults(run=import_config)


def import_config(arguments: argparse.Namespace) -> None:
    """Write the options into the workspace that is the current folder, and print what could not be carried over."""
    from bakeoff.importing.api_config.options import import_pipeline, write_options

    path: Path = arguments.file
    name, file = _choose_name(arguments.name, path), workspace.printable_file_name(path)
    imported = import_pipeline(_read_bytes(path), file, takes_nearest=arguments.nearest)
    written = write_options(imported.settings, workspace.CONF, name=name, file=file, force=arguments.force)
    for line in imported.report:
        print_line(line)
    if imported.report:
        print_line(f"{len(imported.report)} lines above: what the options don't hold, or hold in another form")
    for option in written:
        print_line(f"written: {option.as_posix()}")


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
