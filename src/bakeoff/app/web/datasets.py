"""The options of conf/data/ as datasets: what each holds, which one params.yaml chooses, several as one."""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from bakeoff.app.web.dataset_summary import FORMAT, DatasetImage, DatasetSummary, keep, recall
from bakeoff.app.web.refusals import NotFound
from bakeoff.config.compose.option_lookup import PRESET
from bakeoff.dataset.sources.dataset import Item, part_folders
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import BakeoffError, ConfigError, DataError
from bakeoff.foundation.files import write_whole
from bakeoff.foundation.formatting import make_printable
from bakeoff.foundation.shipped import find_conf, list_options
from bakeoff.importing.datasets.detect_format import Survey, make_source
from bakeoff.importing.datasets.tree import Layout
from bakeoff.learning.run_file.yaml_file import read_mapping, write_mapping

FOLDER = workspace.CONF / "data"
MOST_REJECTED = 200  # that are listed
LINE = re.compile(r"^data:.*\n(?:[ \t]+.*\n|\n(?=[ \t]))*", re.MULTILINE)

FOLDERS = ("path", "validation_path", "test_path")  # keys of an option

_last: dict[str, DatasetSummary] = {}  # by name


def list_names() -> list[str]:
    return list_options(workspace.CONF, "data")


def option_of(name: str) -> dict[str, Any]:
    """Return the content of an option's file. Raises NotFound."""
    if name not in list_names():
        raise NotFound(f"{FOLDER.as_posix()}/{name}.yaml: no such option")
    return read_mapping(option_file(name))


def option_file(name: str) -> Path:
    return find_conf(workspace.CONF, "data", f"{name}.yaml")


def list_datasets() -> list[str]:
    """Return the options whose files are here, and those made of several of these."""
    names = []
    for name in list_names():
        tree = option_of(name)
        path = tree.get("path")
        if (isinstance(path, str) and Path(path).is_dir()) or isinstance(tree.get("merge"), list):
            names.append(name)
    return names


def list_unread_folders() -> list[str]:
    """Return the folders of data/raw/ that no option reads."""
    read = {Path(str(option_of(name).get("path", ""))) for name in list_names()}
    folders = sorted(path for path in workspace.RAW.iterdir() if path.is_dir()) if workspace.RAW.is_dir() else []
    return [path.name for path in folders if not any(path in (one, *one.parents) for one in read)]


def read_contents(name: str) -> DatasetSummary:
    """Return the contents of a dataset, or raise why it cannot be listed. They are listed again only after a file
    changed.
    """
    tree = option_of(name)
    if not isinstance(tree.get("kind"), str) or not isinstance(tree.get("path"), str):
        raise DataError(f"{name}: is no folder of files; `bakeoff plan data={name}` says what it holds")
    roots = [Path(tree[key]) for key in FOLDERS if isinstance(tree.get(key), str)]
    return _list_contents(name, _stamp(option_file(name), roots))


def recall_contents(name: str) -> DatasetSummary:
    """Return the contents that were listed last, without checking whether files have changed since."""
    return _last[name] if name in _last else read_contents(name)


@lru_cache(maxsize=16)
def _list_contents(name: str, stamp: str) -> DatasetSummary:
    """Return what was listed when the files were as they are now, by this server or one before; else list them."""
    contents = recall(name, stamp)
    if contents is None:
        contents = _list_anew(name)
        keep(name, stamp, contents)
    _last[name] = contents
    return contents


def _list_anew(name: str) -> DatasetSummary:
    tree = option_of(name)
    kind, path = tree.pop("kind"), tree.pop("path")
    layout = Layout(kind, kind, tree)
    contents = DatasetSummary(Survey(layout))
    source = make_source(layout, path)
    for part in part_folders(source):
        root = part.dataset.folder()
        for item, trouble, side in contents.survey.count_items(part.dataset, root):
            _note(contents, root, item, trouble, part.side or side)
    labels = {label for label, _ in contents.survey.objects}
    contents.survey.classes = list(source.classes) or source.declared_classes(source.folder()) or sorted(labels)
    return contents


def _note(contents: DatasetSummary, root: Path, item: Item, trouble: str | None, side: str) -> None:
    if trouble and not item.ignored and len(contents.rejected) < MOST_REJECTED:
        contents.rejected.append(make_printable(f"{item.name}: {trouble}"))
    elif not trouble and item.media == "image":
        contents.pictures.append(DatasetImage(root, item.path, side, item.boxes, item.labels, item.in_shares))


def _stamp(option: Path, roots: Sequence[Path]) -> str:
    """Return a digest of the names, sizes and times of a dataset's files, which another state of them makes another."""
    digest = hashlib.sha256(f"{FORMAT} {option.read_text(encoding='utf-8')}".encode())
    for root in roots:
        for line in _walk(root):
            digest.update(line)
    return digest.hexdigest()


def _walk(folder: Path | str) -> Iterator[bytes]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield os.fsencode(f"{entry.name}/")
            yield from _walk(entry.path)
        else:
            stat = entry.stat(follow_symlinks=False)
            yield os.fsencode(f"{entry.name} {stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns}\n")


def chosen_data() -> str:
    """Return the option that params.yaml chooses."""
    try:
        choice = read_mapping(workspace.PARAMS).get("data")
    except (OSError, BakeoffError):
        return ""
    return str(choice.get("use", "")) if isinstance(choice, dict) else str(choice or "")


def write_choice(name: str) -> list[str]:
    """Let params.yaml choose a dataset; return what was written."""
    if name == chosen_data():
        return []
    line = f"data: {{use: {name}}}\n"
    text = workspace.PARAMS.read_text(encoding="utf-8")
    text, times = LINE.subn(lambda match: line, text, count=1)
    write_whole(workspace.PARAMS, text if times else f"{text.rstrip()}\n{line}")
    return [f"{workspace.PARAMS.as_posix()}: {line.strip()}"]


def combine(names: Sequence[str], called: str) -> Path:
    """Write an option that reads several as one. Raises ConfigError that names the labels in which they differ."""
    if len(set(names)) < 2:
        raise ConfigError("combine: must be given two datasets or more; tick them")
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
            differences = [
                f"{one} alone has {', '.join(more)}" for one, more in ((first, here), (other, there)) if more
            ]
            raise ConfigError(
                f"combine: labels must be the same, but {'; '.join(differences)}; rename or remove these labels"
            )
    write_mapping(file, {"kind": "merged", "merge": list(names)}, head=f"# {' and '.join(names)} as one.\n")
    return file
