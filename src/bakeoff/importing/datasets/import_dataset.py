"""A zip or a folder -> data/raw/NAME and conf/data/NAME.yaml, both or neither."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bakeoff.config.compose.option_lookup import PRESET
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError, DataError
from bakeoff.foundation.files import building
from bakeoff.importing.datasets.copying import copy_whole, is_of_system
from bakeoff.importing.datasets.detect_format import Survey, survey_folder
from bakeoff.learning.run_file.yaml_file import write_mapping

DEEPEST = 4  # folders that hold nothing but another folder, as zips of a whole folder do
UNPACKED = ".unpacked"


@dataclass(frozen=True)
class Request:
    source: Path
    name: str
    folder: Path  # in data/raw
    kind: str | None = None
    most_bytes: int = 10_000_000_000


@dataclass(frozen=True)
class Brought:
    folder: Path
    option: Path
    survey: Survey
    others: list[Survey]
    left_out: int = 0  # files of macOS and the like


def choose_name(given: str | None, source: Path) -> str:
    """Return the option's name: what was given, else the file's own without what an option cannot be called."""
    stem = source.name.removesuffix(".zip").removesuffix(".ZIP")
    return workspace.choose_option_name(given, stem, reserved=PRESET)


def bring_in(request: Request) -> Brought:
    """Copy or unpack the source, recognise it and write the option. A folder of data/raw is read where it is.

    Raises ConfigError, DataError and WorkspaceError; then there is neither a folder nor an option.
    """
    option = workspace.CONF / "data" / f"{request.name}.yaml"
    if option.exists():
        raise ConfigError(f"{option.as_posix()}: there already; choose another --name, or remove it")
    if _lies_in_raw(request.source):
        inner = find_inner(request.source)
        survey, others = survey_folder(inner, request.kind)
        folder = inner.resolve().relative_to(Path.cwd())
        _write_option(option, folder, request.source, survey)
        return Brought(folder, option, survey, others)
    _require_new(request.folder)
    with building(request.folder) as partial:
        left_out = copy_whole(request.source, partial, request.most_bytes)
        _lift(partial)
        survey, others = survey_folder(partial, request.kind)
    with _remove_on_failure(request.folder):
        _write_option(option, request.folder, request.source, survey)
    return Brought(request.folder, option, survey, others, left_out)


def find_inner(root: Path) -> Path:
    """Return the folder below others that hold nothing else: field.zip -> field/ -> train/, valid/, data.yaml."""
    for _ in range(DEEPEST):
        entries = [entry for entry in root.iterdir() if not is_of_system(entry.name)]
        folders = [entry for entry in entries if entry.is_dir()]
        if len(entries) != 1 or len(folders) != 1 or not _is_wrapper(folders[0]):
            return root
        root = folders[0]
    return root


def _is_wrapper(folder: Path) -> bool:
    """Return whether a folder only holds a dataset: others are in it, and its own name means nothing."""
    return any(entry.is_dir() for entry in folder.iterdir()) and folder.name.lower() not in ("train", "images")


def _lift(partial: Path) -> None:
    """Move what lies in an only folder up to where the dataset begins."""
    inner = find_inner(partial)
    if inner == partial:
        return
    outermost = partial / inner.relative_to(partial).parts[0]
    moved = outermost.rename(partial / UNPACKED)
    for entry in (moved / inner.relative_to(outermost)).iterdir():
        entry.rename(partial / entry.name)
    shutil.rmtree(moved)


def _lies_in_raw(source: Path) -> bool:
    raw = workspace.RAW.resolve()
    return source.is_dir() and source.resolve() != raw and source.resolve().is_relative_to(raw)


def _require_new(folder: Path) -> None:
    place, raw = folder.resolve(), workspace.RAW.resolve()
    if place == raw or not place.is_relative_to(raw):
        raise ConfigError(f"--into: must be a folder in {workspace.RAW.as_posix()}/, got {folder.as_posix()}")
    if folder.exists():
        raise DataError(f"{folder.as_posix()}: there already; choose another --name or --into, or remove it")
    tracked = next((outer for outer in folder.parents if Path(f"{outer}.dvc").is_file()), None)
    if tracked:
        raise DataError(f"{folder.as_posix()}: lies in {tracked.as_posix()}, which DVC tracks as one; choose another")


def _write_option(option: Path, folder: Path, source: Path, survey: Survey) -> None:
    layout = survey.layout
    head = f"# From {workspace.printable_file_name(source)} ({layout.name}), by `bakeoff import`.\n"
    write_mapping(option, {"kind": layout.kind, "path": folder.as_posix(), **layout.settings}, head=head)


@contextmanager
def _remove_on_failure(folder: Path) -> Iterator[None]:
    """Remove the folder if the block fails."""
    try:
        yield
    except BaseException:
        shutil.rmtree(folder)
        raise
