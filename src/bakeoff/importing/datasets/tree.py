"""The files of a folder by their names, as layouts are recognised by them."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path, PurePosixPath

from bakeoff.dataset.sources.dataset import find_side
from bakeoff.dataset.sources.paths import IMAGE_SUFFIXES, VIDEO_SUFFIXES, list_files

DATE = re.compile(r"(19|20)\d\d[-_.]?[01]\d[-_.]?[0-3]\d(\D.*)?|[0-3]\d[-_.][01]\d[-_.](19|20)\d\d(\D.*)?")


def below_side(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders below that of a side."""
    return parts[1:] if parts and find_side(parts[0]) else parts


class Tree:
    """Paths are relative to the folder, with slashes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = [PurePosixPath(name) for name, problem in list_files(root) if problem is None]

    @cached_property
    def images(self) -> list[PurePosixPath]:
        return [path for path in self.files if path.suffix.lower() in IMAGE_SUFFIXES]

    @cached_property
    def image_stems(self) -> set[PurePosixPath]:
        return {path.with_suffix("") for path in self.images}

    @cached_property
    def videos(self) -> list[PurePosixPath]:
        return [path for path in self.files if path.suffix.lower() in VIDEO_SUFFIXES - {".gif"}]

    def find(self, *suffixes: str) -> list[PurePosixPath]:
        return [path for path in self.files if path.suffix.lower() in suffixes]

    def find_side_of(self, path: PurePosixPath) -> str | None:
        """Return the side that a file's folders name, or the words of its own name: `instances_val2017.json`."""
        parts = [*path.parts[:-1], path.stem, *re.split(r"[_.-]+", path.stem)]
        return next((side for side in map(find_side, parts) if side), None)

    def find_dates(self) -> list[str]:
        """Return the folders of the first level, if images lie in them alone and all are called as dates are."""
        tops = {path.parts[0] for path in self.images if len(path.parts) > 1}
        flat = any(len(path.parts) == 1 for path in self.images)
        return sorted(tops) if tops and not flat and all(map(DATE.fullmatch, tops)) else []

    def find_images_folder(self, names: Iterable[str]) -> str | None:
        """Return the folder that names of images start from, without that of a side; None if there is no such image."""
        by_name: dict[str, list[PurePosixPath]] = {}
        for path in self.images:
            by_name.setdefault(path.name, []).append(path)
        folders: Counter[str] = Counter()
        for name in names:
            plain = PurePosixPath(name.replace("\\", "/").removeprefix("./"))
            for path in by_name.get(plain.name, ()):
                if path.parts[-len(plain.parts) :] == plain.parts:
                    above = path.parts[: -len(plain.parts)]
                    folders["/".join(above[:-1] if above and find_side(above[-1]) else above)] += 1
        return min(folders, key=lambda folder: (-folders[folder], folder)) if folders else None
