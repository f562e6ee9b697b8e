"""Raw files -> the parts of them that a far node needs, and back into files on that node."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bakeoff.dataset.records.shards import TAIL
from bakeoff.dataset.sources.dataset import Dataset, Item

MOST_BYTES = 1 << 30  # a task with more bytes is done on this machine


@dataclass(frozen=True)
class Excerpt:
    """Bytes of a file from an offset on, which are mostly the whole file."""

    path: str  # relative to the folder of the workspace
    offset: int
    content: bytes


def take_excerpts(datasets: Sequence[Dataset], items: Iterable[tuple[int, Item]]) -> list[Excerpt] | None:
    """Return the parts of files that items need, or None if they are too large, or if a file cannot be read."""
    excerpts: dict[tuple[str, int], Excerpt] = {}
    total = 0
    try:
        for source, item in items:
            if item.problem:
                continue
            root = Path(datasets[source].path)
            for file, offset, length in _list_parts(datasets[source], item):
                total += length
                if total > MOST_BYTES:
                    return None
                with open(root / file, "rb") as opened:
                    opened.seek(offset)
                    name = (_bring_inside(root) / file).as_posix()
                    excerpts[name, offset] = Excerpt(name, offset, opened.read(length))
    except OSError:
        return None
    return list(excerpts.values())


def _list_parts(dataset: Dataset, item: Item) -> Iterator[tuple[str, int, int]]:
    """Yield the parts of files that an item needs: file, relative to the dataset's folder, offset and length."""
    root = dataset.folder()
    if item.span:
        yield item.path, item.span[0], item.span[1] + TAIL
        if dataset.labels:
            yield dataset.labels, 0, os.stat(root / dataset.labels).st_size
    elif item.media == "frames":
        names = sorted(os.listdir(root / item.path))
        files = [f"{item.path}/{name}" for name in names if os.path.isfile(root / item.path / name)]
        yield from ((file, 0, os.stat(root / file).st_size) for file in files)
    else:
        yield item.path, 0, os.stat(root / item.path).st_size


@contextmanager
def lay_out(datasets: Sequence[Dataset], excerpts: Iterable[Excerpt]) -> Iterator[list[Dataset]]:
    """Write excerpts into a temporary folder, and yield the datasets in it. It is the current folder in the block."""
    with TemporaryDirectory(prefix="bakeoff-") as folder, chdir(folder):
        inside = [replace(dataset, path=_bring_inside(Path(dataset.path)).as_posix()) for dataset in datasets]
        for dataset in inside:
            os.makedirs(dataset.path, exist_ok=True)
        for excerpt in excerpts:
            os.makedirs(os.path.dirname(excerpt.path), exist_ok=True)
            is_there = os.path.exists(excerpt.path)
            with open(excerpt.path, "r+b" if is_there else "wb") as file:
                file.seek(excerpt.offset)
                file.write(excerpt.content)
        yield inside


def _bring_inside(path: Path) -> Path:
    """Return a relative path for an absolute one."""
    return path.relative_to(path.anchor)
