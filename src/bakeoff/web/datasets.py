"""The options of conf/data/ as datasets: what each holds, which one params.yaml chooses, several as one."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from bakeoff import workspace
from bakeoff.config.choice import PRESET
from bakeoff.errors import BakeoffError, ConfigError, DataError
from bakeoff.files import write_whole
from bakeoff.intake.layout import Layout
from bakeoff.intake.survey import UNSAID, Survey, judge_head, make_source, read_lists
from bakeoff.records.record import SPLITS
from bakeoff.run.yaml_file import read_mapping, write_mapping
from bakeoff.sources.dataset import Corners, Item, part_folders
from bakeoff.sources.raw_files import make_printable
from bakeoff.web.places import NotThere

FOLDER = workspace.CONF / "data"
MOST_REJECTED = 200  # that are listed
LINE = re.compile(r"^data:.*\n(?:[ \t]+.*\n|\n(?=[ \t]))*", re.MULTILINE)

_last: dict[str, "Contents"] = {}  # by name


@dataclass(frozen=True)
class Picture:
    """An image of a dataset with its ground truth."""

    root: Path
    path: str
    side: str
    boxes: tuple[Corners, ...]
    labels: tuple[str, ...]
    in_shares: bool


@dataclass
class Contents:
    survey: Survey
    pictures: list[Picture] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)

    @property
    def sides(self) -> list[str]:
        return [side for side in (*SPLITS, UNSAID) if self.survey.images[side]]


def list_names() -> list[str]:
    return sorted(file.stem for file in FOLDER.glob("*.yaml"))


def option_of(name: str) -> dict[str, Any]:
    """Return an option as its file says. Raises NotThere."""
    if name not in list_names():
        raise NotThere(f"{FOLDER.as_posix()}/{name}.yaml: no such option")
    return read_mapping(FOLDER / f"{name}.yaml")


def list_datasets() -> list[str]:
    """Return the options whose files are here, and those made of several of these."""
    found = []
    for name in list_names():
        tree = option_of(name)
        path = tree.get("path")
        if (isinstance(path, str) and Path(path).is_dir()) or isinstance(tree.get("merge"), list):
            found.append(name)
    return found


def list_untold() -> list[str]:
    """Return the folders of data/raw/ that no option reads."""
    read = {Path(str(option_of(name).get("path", ""))) for name in list_names()}
    folders = sorted(path for path in workspace.RAW.iterdir() if path.is_dir()) if workspace.RAW.is_dir() else []
    return [path.name for path in folders if not any(path in (one, *one.parents) for one in read)]


def read_contents(name: str) -> Contents:
    """List a dataset, or say why it cannot be listed; as long as no file changes, only once."""
    tree = option_of(name)
    if not isinstance(tree.get("kind"), str) or not isinstance(tree.get("path"), str):
        raise DataError(f"{name}: is no folder of files; `bakeoff plan data={name}` says what it holds")
    return _list_contents(name, _stamp(FOLDER / f"{name}.yaml", Path(tree["path"])))


def recall_contents(name: str) -> Contents:
    """Return what was listed last, without a look at whether files have changed since."""
    return _last[name] if name in _last else read_contents(name)


@lru_cache(maxsize=16)
def _list_contents(name: str, stamp: tuple[int, int]) -> Contents:
    tree = option_of(name)
    kind, path = tree.pop("kind"), tree.pop("path")
    layout = Layout(kind, kind, tree)
    contents = Contents(Survey(layout))
    source = make_source(layout, path)
    for part in part_folders(source):
        root = part.dataset.folder()
        listed = read_lists(part.dataset.split, root)
        for item in part.dataset.items(root):
            trouble = item.problem or judge_head(root, item)
            contents.survey.add(item, trouble, listed)
            _note(contents, root, item, trouble, part.side or item.split or listed.get(Path(item.name).stem) or UNSAID)
    found = {label for label, _ in contents.survey.objects}
    contents.survey.classes = list(source.classes) or source.declared_classes(source.folder()) or sorted(found)
    _last[name] = contents
    return contents


def _note(contents: Contents, root: Path, item: Item, trouble: str | None, side: str) -> None:
    if trouble and not item.ignored and len(contents.rejected) < MOST_REJECTED:
        contents.rejected.append(make_printable(f"{item.name}: {trouble}"))
    elif not trouble and item.media == "image":
        contents.pictures.append(Picture(root, item.path, side, item.boxes, item.labels, item.in_shares))


def _stamp(option: Path, root: Path) -> tuple[int, int]:
    """Return numbers that change when a file of a dataset does."""
    times, count = option.stat().st_mtime_ns, 0
    for time in _walk(root):
        times, count = times ^ hash((time, count)), count + 1
    return times, count


def _walk(folder: Path | str) -> Iterator[int]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path)
        else:
            yield entry.stat(follow_symlinks=False).st_mtime_ns


def chosen_data() -> str:
    """Return the option that params.yaml chooses."""
    try:
        said = read_mapping(workspace.PARAMS).get("data")
    except (OSError, BakeoffError):
        return ""
    return str(said.get("use", "")) if isinstance(said, dict) else str(said or "")


def write_choice(name: str) -> list[str]:
    """Let params.yaml choose a dataset; return what was written."""
    if name == chosen_data():
        return []
    line = f"data: {{use: {name}}}\n"
    text = workspace.PARAMS.read_text(encoding="utf-8")
    text, times = LINE.subn(lambda found: line, text, count=1)
    write_whole(workspace.PARAMS, text if times else f"{text.rstrip()}\n{line}")
    return [f"{workspace.PARAMS.as_posix()}: {line.strip()}"]


def combine(names: Sequence[str], called: str) -> Path:
    """Write an option that reads several as one. Raises ConfigError that names the labels in which they differ."""
    if len(set(names)) < 2:
        raise ConfigError("combine: must be told two datasets or more; tick them")
    called = workspace.choose_option_name(called or None, "_and_".join(names), reserved=PRESET)
    file = FOLDER / f"{called}.yaml"
    if file.exists():
        raise ConfigError(f"{file.as_posix()}: there already; choose another name")
    first, *others = names
    labels = set(read_contents(first).survey.classes)
    for other in others:
        own = set(read_contents(other).survey.classes)
        here, there = sorted(labels - own), sorted(own - labels)
        if here or there:
            words = [f"{one} alone has {', '.join(more)}" for one, more in ((first, here), (other, there)) if more]
            raise ConfigError(
                f"combine: labels must be the same, but {'; '.join(words)}; rename or remove these labels"
            )
    write_mapping(file, {"kind": "merged", "merge": list(names)}, head=f"# {' and '.join(names)} as one.\n")
    return file
