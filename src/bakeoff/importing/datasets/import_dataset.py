"""A zip or a folder -> data/raw/NAME and conf/data/NAME.yaml, both or neither."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bakeoff.config.compose.option_lookup import PRESET
from bakeoff.dataset.sources.dataset import find_side
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError, DataError
from bakeoff.foundation.files import building
from bakeoff.foundation.formatting import make_printable
from bakeoff.foundation.progress import print_line
from bakeoff.importing.datasets.copying import copy_whole, is_of_system
from bakeoff.importing.datasets.detect_format import OF_BOXES, UNSAID, Survey, count, survey_folder
from bakeoff.importing.datasets.tree import Tree
from bakeoff.importing.datasets.unlabelled import LAYOUT, UNLABELLED, gather_photos, write_option
from bakeoff.learning.run_file.yaml_file import write_mapping

UNPACKED = ".unpacked"
MOST_OF_MEDIA = 0.9  # of the pictures and films; a folder with more of them may be the dataset itself
STRUCTURE = ("images", "jpegimages", "img", "imgs")  # names of folders within a dataset


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
    beside: tuple[str, ...] = ()  # what lies beside the dataset, of a repository for example
    tracked: Path = Path()  # the folder that DVC is to track, in which the dataset lies


def choose_name(given: str | None, source: Path) -> str:
    """Return the option's name: what was given, else the file's own without what an option cannot be called."""
    stem = source.name.removesuffix(".zip").removesuffix(".ZIP")
    return workspace.choose_option_name(given, stem, reserved=PRESET)


def bring_in(request: Request, warn: Callable[[str], None] = print_line) -> Brought:
    """Recognise the source, copy or unpack it, and write the option. A folder of data/raw is read where it is.

    What a user may want to stop for is a warning before pictures and films are copied.
    Raises ConfigError, DataError and WorkspaceError; then there is neither a folder nor an option.
    """
    option = workspace.CONF / "data" / f"{request.name}.yaml"
    if option.exists():
        raise ConfigError(f"{option.as_posix()}: there already; choose another --name, or remove it")
    if request.kind == UNLABELLED:
        return _bring_unlabelled(request, option)
    if _lies_in_raw(request.source):
        inner, survey, others = find_dataset(request.source, request.kind)
        _warn_early(survey, warn)
        top, folder = (path.resolve().relative_to(Path.cwd()) for path in (request.source, inner))
        _write_option(option, folder, request.source, survey)
        return Brought(folder, option, survey, others, beside=list_beside(request.source, inner), tracked=top)
    _require_new(request.folder)
    with building(request.folder) as partial:
        copy_whole(request.source, partial, request.most_bytes, heads_only=True)
        _lift(partial)
        inner, survey, others = find_dataset(partial, request.kind)
        _warn_early(survey, warn)
        shutil.rmtree(partial)
        partial.mkdir()
        left_out = copy_whole(request.source, partial, request.most_bytes)
        _lift(partial)
        folder, beside = request.folder / inner.relative_to(partial), list_beside(partial, inner)
    with _remove_on_failure(request.folder):
        _write_option(option, folder, request.source, survey)
    return Brought(folder, option, survey, others, left_out, beside, request.folder)


def _bring_unlabelled(request: Request, option: Path) -> Brought:
    """Copy or unpack pictures without labels, whatever lies beside them."""
    _require_new(request.folder)
    with building(request.folder) as partial:
        unpacked = partial / UNPACKED
        unpacked.mkdir()
        left_out = copy_whole(request.source, unpacked, request.most_bytes)
        left_out += gather_photos(unpacked, partial)
        shutil.rmtree(unpacked)
    with _remove_on_failure(request.folder):
        write_option(option, request.folder)
        survey = count(request.folder, LAYOUT)
    return Brought(request.folder, option, survey, [], left_out, tracked=request.folder)


def _warn_early(survey: Survey, warn: Callable[[str], None]) -> None:
    if survey.layout.kind in ("image_folders", "clips") and len(survey.classes) == 1:
        warn(f"warning: all of it is one class, {survey.classes[0]!r}, by the name of its folder")
    if survey.lists and set(survey.images) == {UNSAID}:
        names = make_printable(", ".join(survey.lists))
        warn(f"warning: {names} may be a published split, and is not used; see data.split in docs/records.md")


def find_dataset(root: Path, kind: str | None) -> tuple[Path, Survey, list[Survey]]:
    """Return the folder in which a dataset begins, at any depth, what it holds, and what other layouts fit there.

    Labels may lie in a folder above that of most pictures. So a folder above with boxes for as many pictures counts
    more than folders of classes. Raises DataError that names what the outermost folder lacks.
    """
    best: tuple[Path, Survey, list[Survey]] | None = None
    failure: DataError | None = None
    for folder in _descend(root):
        try:
            survey, others = survey_folder(folder, kind)
        except DataError as error:
            failure = failure or error
            continue
        has_boxes, had_boxes = (one.layout.kind in OF_BOXES for one in (survey, best[1] if best else survey))
        if best is None or (has_boxes >= had_boxes and survey.total >= best[1].total):
            best = folder, survey, others
    if best is None:
        assert failure is not None
        raise failure
    return best


def _descend(root: Path) -> Iterator[Path]:
    """Yield a folder, then the one in it that has nearly all pictures and films, and so on.

    A folder that holds nothing but another one is passed over.
    """
    tree = Tree(root)
    media = [*tree.images, *tree.videos]
    inside: tuple[str, ...] = ()
    while True:
        depth = len(inside)
        below = [path for path in media if path.parts[:depth] == inside]
        tops = Counter(path.parts[depth] for path in below if len(path.parts) > depth + 2)
        top, count = max(tops.items(), key=lambda item: item[1], default=("", 0))
        is_last = count <= MOST_OF_MEDIA * len(below) or find_side(top) or top.lower() in STRUCTURE
        folder = root.joinpath(*inside)
        if is_last or any(one.name != top and not is_of_system(one.name) for one in folder.iterdir()):
            yield folder
        if is_last:
            return
        inside = (*inside, top)


def list_beside(root: Path, inner: Path) -> tuple[str, ...]:
    """Return the names of what lies in a folder, and in those between, but not in the dataset's own."""
    beside: list[str] = []
    while inner != root:
        above = inner.parent
        names = sorted(one.name + "/" * one.is_dir() for one in above.iterdir() if one != inner)
        beside = [*((above / name).relative_to(root).as_posix() + "/" * name.endswith("/") for name in names), *beside]
        inner = above
    return tuple(name for name in beside if not is_of_system(name))


def _lift(partial: Path) -> None:
    """Move up what lies in a folder beside which there is nothing, as zips of a whole folder have it."""
    inner = next(_descend(partial))
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
