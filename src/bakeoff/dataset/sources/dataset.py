"""What a folder of files must offer to become records: a list of items, and the settings by which each is read.

An item of a detection set: `images/1.jpg`, 650x417 as recorded, `boxes=((81, 88, 522, 408, "raccoon"),)` in pixels.
"""

import hashlib
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from bakeoff.dataset.records.record import TEST, TRAIN, VALIDATION
from bakeoff.dataset.sources.expectations import Expectations
from bakeoff.dataset.sources.paths import read_lines
from bakeoff.foundation.errors import DataError, require
from bakeoff.foundation.name_groups import find_groups, require_one_group

Media = Literal["image", "video", "frames", "example"]
OnBadBox = Literal["drop_empty", "drop", "reject"]
Corners = tuple[float, float, float, float, str]  # xmin, ymin, xmax, ymax, label
SIDES = {  # of the split, by the names that other datasets give them
    TRAIN: TRAIN, "training": TRAIN, "trn": TRAIN,
    VALIDATION: VALIDATION, "val": VALIDATION, "valid": VALIDATION, "eval": VALIDATION, "dev": VALIDATION,
    TEST: TEST, "testing": TEST,
}  # fmt: skip
FOLD, MOST_FOLDS = re.compile(r"(\d{1,3})/(\d{1,3})", re.ASCII), 100
YEAR = re.compile(r"[-_ ]?(19|20)\d\d$", re.ASCII)


@dataclass(frozen=True)
class Item:
    """One image or clip as a source lists it. Its problem is stored, not raised, so that all of them are known."""

    name: str  # relative to the dataset's folder; also the record's name
    path: str  # the file to read, relative likewise
    media: Media = "image"
    split: str | None = None  # if the dataset says it
    group: str | None = None  # items of one group stay on one side
    labels: tuple[str, ...] = ()
    boxes: tuple[Corners, ...] = ()
    in_shares: bool = False  # boxes are shares of the image, not pixels
    recorded: tuple[int, int] | None = None  # (width, height) that the annotation names
    span: tuple[int, int] | None = None  # (offset, length) inside the file
    notes: tuple[str, ...] = ()  # what was changed while listing
    problem: str | None = None  # why it cannot be used
    ignored: bool = False  # with a problem: it was never meant to be an example, so it is reported and not counted
    unpaired: bool = False  # an image without an annotation; another item of the same name is the annotated one


@dataclass(frozen=True)
class SplitSettings:
    """given: folders, lists or a column name the side. fraction: a share of the groups. blocks: the end of each group.

    given_test: the dataset names which examples are for the test, and validation is a fraction of the others.
    test: all of it, for runs that were trained on something else.
    """

    # auto: given if the dataset says it, else fraction
    by: Literal["auto", "given", "given_test", "fraction", "blocks", "test"] = "auto"
    validation: float = 0.2  # share of the examples
    test: float = 0.0  # share of the examples that fraction and blocks keep for the test
    seed: int = 0
    group: str | None = None  # a pattern on the name, with one group in brackets: what it finds stays together
    gap: int = 0  # blocks: so many items between the two sides are left out
    # 2/5: validation is the second of five parts, each of which is validation once; instead of `validation`
    fold: str | None = None
    train_list: str | None = None  # a file with one name a line
    validation_list: str | None = None
    test_list: str | None = None

    def __post_init__(self) -> None:
        require(0 < self.validation < 1, "validation", self.validation, "a share between 0 and 1")
        rest = 1 - self.validation
        require(0 <= self.test < rest, "test", self.test, f"0 or a share below {rest:g}, what validation leaves")
        drawn = not self.test or self.by not in ("given", "given_test", "test")
        require(drawn, "test", self.test, f"0 where split.by is {self.by}: there the dataset says what is tested on")
        require(self.seed >= 0, "seed", self.seed, "0 or more")
        require(self.gap >= 0, "gap", self.gap, "0 or more")
        require(not self.gap or self.by == "blocks", "gap", self.gap, "0 unless split.by is blocks")
        if self.fold is not None:
            require(self.folds is not None, "fold", self.fold, f"K/N, the K-th of 2 to {MOST_FOLDS} parts, such as 1/5")
            is_drawn = self.by in ("auto", "fraction", "given_test") and not self.test
            require(is_drawn, "fold", self.fold, "null unless split.by is fraction or given_test, and split.test is 0")
        if self.group is not None:
            require_one_group("group", self.group)
        if self.train_list or self.validation_list or self.test_list:
            require(self.by in ("auto", "given"), "by", self.by, "auto or given if lists are named")
            require(self.fold is None, "fold", self.fold, "null unless no list is named")
            named = "train_list" if self.train_list else "test_list"
            require(self.validation_list is not None, "validation_list", None, f"named if {named} is")

    @property
    def folds(self) -> tuple[int, int] | None:
        """Return which part is validation, from 1 on, and of how many; None if a share is drawn or `fold` is wrong."""
        match = FOLD.fullmatch(self.fold or "")
        number, parts = (int(match[1]), int(match[2])) if match else (0, 0)
        return (number, parts) if 1 <= number <= parts and 2 <= parts <= MOST_FOLDS else None

    def find_groups(self, names: Sequence[str]) -> list[str | None]:
        return find_groups("data.split.group", self.group, names) if self.group else [None] * len(names)

    def read_lists(self, root: Path) -> Iterator[tuple[str, str, str]]:
        """Yield (file, name, side) of every name in the lists."""
        for key, side in (("train_list", TRAIN), ("validation_list", VALIDATION), ("test_list", TEST)):
            file = getattr(self, key)
            for line in read_lines(root, file, f"data.split.{key}") if file else ():
                if columns := line.split():
                    yield file, columns[0], side


@dataclass(frozen=True)
class ShardCounts:
    train: int | None = None
    validation: int | None = None
    test: int | None = None

    def __post_init__(self) -> None:
        for key in ("train", "validation", "test"):
            value = getattr(self, key)
            require(value is None or 1 <= value <= 65536, key, value, "between 1 and 65536")


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """The settings that all folders of files share."""

    path: str  # of the dataset's folder
    validation_path: str | None = (
        None  # of another folder of the same kind: all of it is validation, and `path` training
    )
    test_path: str | None = None
    classes: tuple[str, ...] = ()  # those of the dataset that count, in the order of their ids; none: all
    labels: str | None = None  # a file in it that lists the labels in the order of their ids
    split: SplitSettings = field(default_factory=SplitSettings)
    shards: ShardCounts = field(default_factory=ShardCounts)
    max_side: int | None = None  # larger images are resized
    square: bool = False  # to max_side x max_side: what a network of that input size is shown of them
    num_threads: int | None = None  # processes that build; none: one for each core. The records are the same
    max_rejected: float = 0.05  # share of the items; with more the build fails
    # A box of no area is a slip of the mouse that marks nothing; any other bad box casts doubt on all of its image.
    on_bad_box: OnBadBox = "drop_empty"
    # Of images with an EXIF orientation where the recorded size does not tell; auto: as on most others of the dataset.
    boxes_drawn_on: Literal["auto", "stored", "shown"] = "auto"
    expect: Expectations = field(default_factory=Expectations)  # decides no record, only whether there are any

    def __post_init__(self) -> None:
        require(bool(self.path.strip()), "path", self.path, "a folder, such as data/raw/<dataset>")
        require(self.max_side is None or 16 <= self.max_side <= 16384, "max_side", self.max_side, "16 to 16384 or null")
        require(
            not self.square or self.max_side is not None, "square", True, "false unless data.max_side says its side"
        )
        threads = self.num_threads
        require(threads is None or 1 <= threads <= 256, "num_threads", threads, "between 1 and 256, or null")
        require(0 <= self.max_rejected <= 1, "max_rejected", self.max_rejected, "a share between 0 and 1")
        for key in ("validation_path", "test_path"):
            other = getattr(self, key)
            known = (self.path, self.validation_path) if key == "test_path" else (self.path,)
            require(
                other is None or (bool(other.strip()) and other not in known), key, other, "another folder, or null"
            )
        split = self.split
        apart = self.validation_path is None or (split.by in ("auto", "given") and not split.validation_list)
        require(apart, "validation_path", self.validation_path, "null where data.split says what is validated on")
        untested = self.test_path is None or not (split.test or split.test_list or split.by in ("given_test", "test"))
        require(untested, "test_path", self.test_path, "null where data.split says what is tested on")
        twice = len(set(self.classes)) < len(self.classes)
        require(not twice, "classes", list(self.classes), "different classes")
        self.check()

    def check(self) -> None:
        """Refuse values of the fields that a kind adds."""

    @property
    @abstractmethod
    def task(self) -> str: ...

    @property
    def multi_label(self) -> bool:
        return False

    @abstractmethod
    def items(self, root: Path) -> Iterator[Item]:
        """All of the dataset, in any order, without reading pixels."""

    def list_whole_folders(self, root: Path) -> set[str]:
        """Return folders of which `items` has every file, and those below them."""
        return set()

    def declared_classes(self, root: Path) -> list[str] | None:
        """The labels in their order, if the dataset's own files have one; else they are sorted."""
        return None

    def describe_sides(self) -> str:
        """What says the side of an example where the dataset itself does."""
        return "the dataset's folders"

    def folder(self) -> Path:
        """The dataset's folder. Raises DataError."""
        folder = Path(self.path)
        if not folder.is_dir():
            # DVC refuses to add what is inside of a folder that it tracks.
            tracked = next((outer for outer in folder.parents if Path(f"{outer}.dvc").is_file()), folder)
            raise DataError(
                f"{folder.as_posix()}: no such folder (data.path); put the dataset there. An experiment in a copy of "
                f"the workspace, and a clone, have it after `dvc add {tracked.as_posix()}` and a commit"
            )
        return folder


@dataclass(frozen=True)
class Merged:
    """Several datasets as one; only if their labels are the same."""

    merge: tuple[str, ...]  # options of conf/data/, each with its own split, limits and sizes
    classes: tuple[str, ...] = ()  # the classes that are kept from each dataset; none: as the option says
    expect: Expectations = field(default_factory=Expectations)  # of all together; what each option expects is not asked

    def __post_init__(self) -> None:
        require(len(self.merge) >= 2, "merge", list(self.merge), "at least two options of conf/data/")
        require(len(set(self.merge)) == len(self.merge), "merge", list(self.merge), "different options")


@dataclass(frozen=True)
class Part:
    """One dataset of a build; a build of several puts their names before the records' names."""

    name: str
    dataset: Dataset
    side: str | None = None  # of all its examples; None: the dataset's own rule says


def part_folders(dataset: Dataset) -> list[Part]:
    """Return the dataset, or one for each folder if sides have folders of their own."""
    own = replace(dataset, validation_path=None, test_path=None)
    others = [
        Part(side, replace(own, path=path, split=SplitSettings()), side)
        for side, path in ((VALIDATION, dataset.validation_path), (TEST, dataset.test_path))
        if path
    ]
    return [Part(TRAIN, own, TRAIN if dataset.validation_path else None), *others] if others else [Part("", own)]


def find_side(name: str) -> str | None:
    """Return train, validation or test for the name that a folder or a column uses; `val2017` means val."""
    return SIDES.get(YEAR.sub("", name.strip().lower()))


def pair_sides(train: str, validation: str | None, test: str | None = None) -> list[tuple[str | None, str]]:
    """Return (side, file) of the files that each side has, or of the one whose examples are to be split.

    With a file for the test alone, the examples of the other one have no side yet.
    """
    first = TRAIN if validation else None
    named = [(VALIDATION, validation), (TEST, test)]
    return [(first, train), *((side, file) for side, file in named if file)]


def join_names(names: Sequence[str]) -> str:
    """Return `a and b`, or `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def hash_place(seed: int, key: str) -> int:
    """Return a number below 2**63 that shuffles keys the same way everywhere, also when others come and go."""
    digest = hashlib.sha256(f"{seed}:{key}".encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:8]) >> 1
