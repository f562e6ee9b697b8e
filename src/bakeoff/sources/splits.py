"""Which side an example is on: the settings, and the names that other datasets give to the sides."""

import hashlib
import re
from dataclasses import dataclass
from typing import Literal

from bakeoff.errors import require
from bakeoff.records.record import TRAIN, VALIDATION

TEST = "test"  # stands in for validation where there is none
NAMES = {
    TRAIN: TRAIN, "training": TRAIN, "trn": TRAIN,
    VALIDATION: VALIDATION, "val": VALIDATION, "valid": VALIDATION, "eval": VALIDATION, "dev": VALIDATION,
    TEST: TEST, "testing": TEST,
}  # fmt: skip


@dataclass(frozen=True)
class Split:
    """given: folders, lists or a column say it. fraction: a share of the groups. blocks: the end of each group."""

    by: Literal["auto", "given", "fraction", "blocks"] = "auto"  # auto: given if the dataset says it, else fraction
    validation: float = 0.2  # share of the examples
    seed: int = 0
    group: str | None = None  # a pattern on the name, with one group in brackets: what it finds stays together
    gap: int = 0  # blocks: so many items between the two sides are left out
    train_list: str | None = None  # a file with one name a line
    validation_list: str | None = None

    def __post_init__(self) -> None:
        require(0 < self.validation < 1, "validation", self.validation, "a share between 0 and 1")
        require(self.seed >= 0, "seed", self.seed, "0 or more")
        require(self.gap >= 0, "gap", self.gap, "0 or more")
        require(not self.gap or self.by == "blocks", "gap", self.gap, "0 unless split.by is blocks")
        if self.group is not None:
            require(_has_one_group(self.group), "group", self.group, "a regular expression with one (group)")
        lists = (self.train_list, self.validation_list)
        if any(lists):
            require(self.by in ("auto", "given"), "by", self.by, "auto or given if lists are named")
            require(self.validation_list is not None, "validation_list", None, "named if train_list is")

    def group_of(self, name: str) -> str | None:
        found = re.search(self.group, name) if self.group else None
        return found[1] if found else None


def side_named(word: str) -> str | None:
    """train, validation or test for the word that a folder or a column uses."""
    return NAMES.get(word.strip().lower())


def place_of(seed: int, key: str) -> int:
    """A number below 2**63 that shuffles keys the same way everywhere, also when others come and go."""
    digest = hashlib.sha256(f"{seed}:{key}".encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:8]) >> 1


def _has_one_group(pattern: str) -> bool:
    try:
        return re.compile(pattern).groups == 1
    except re.error:
        return False
