"""data.expect: each expectation that is not met is named, and the old records stay."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.dataset.building.require_expected import require_expected
from bakeoff.dataset.building.survey import SplitCounts
from bakeoff.dataset.records.record import TRAIN, VALIDATION
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.expectations import Expectations
from bakeoff.foundation.errors import DataError, OutOfRange
from support.built import Build
from support.drawing import write_images
from support.messages import missing_in

HELD = {
    TRAIN: SplitCounts(30, labels={"ball": 60, "cube": 12}, negatives=6, least_side=80),
    VALIDATION: SplitCounts(10, labels={"ball": 20, "cube": 8}, negatives=0, least_side=48),
}  # 80 balls, 20 cubes, 40 images
PAIRS = [("a.jpg", "b.jpg"), ("c.jpg", "d.jpg")]


def find_unmet(pairs: Sequence[tuple[str, str]] = (), **expected: object) -> list[str]:
    try:
        require_expected(Expectations(**expected), ["ball", "cube"], HELD, (pairs, True), "data/raw/set")  # type: ignore[arg-type]
    except DataError as error:
        head, *lines = str(error).splitlines()
        assert missing_in(head, "data/raw/set:", "data.expect", "the old records stay") == []
        return [line.strip() for line in lines]
    return []


@pytest.mark.parametrize(
    ("met", "unmet", "parts"),
    [
        ({"least_of_class": 20}, {"least_of_class": 21}, ("least_of_class:", "21", "cube 20")),
        ({"most_of_class": 0.8}, {"most_of_class": 0.79}, ("most_of_class:", "79 %", "ball 80.0 %")),
        ({"classes": ("cube", "ball")}, {"classes": ("ball",)}, ("classes:", "ball", "also cube")),
        ({}, {"classes": ("ball", "cube", "cone")}, ("classes:", "without cone")),
        ({"least_side": 48}, {"least_side": 49}, ("least_side:", "49", "48")),
        ({"negatives": (0.1, 0.15)}, {"negatives": (0.16, 0.2)}, ("negatives:", "0.16", "0.150", "6 of 40")),
        ({"validation": (0.25, 0.3)}, {"validation": (0.1, 0.2)}, ("validation:", "0.250", "10 of 40")),
    ],
)
def test_each_expectation(met: dict[str, object], unmet: dict[str, object], parts: Sequence[str]) -> None:
    assert find_unmet(**met) == []
    [line] = find_unmet(**unmet)
    assert line.startswith("data.expect.") and missing_in(line, *parts) == []


def test_all_are_named_at_once() -> None:
    assert find_unmet(PAIRS) == []
    assert find_unmet(PAIRS, alike=2) == []
    lines = find_unmet(PAIRS, alike=1, least_of_class=100, least_side=64)
    assert len(lines) == 3 and missing_in(" ".join(lines), "got 2: a.jpg and b.jpg", "data.split.group") == []


@pytest.mark.parametrize(
    "wrong",
    [{"least_of_class": 0}, {"most_of_class": 0.0}, {"most_of_class": 1.1}, {"alike": -1}, {"validation": (0.2,)},
     {"negatives": (0.5, 0.1)}, {"classes": ("a", "a")}],
)  # fmt: skip
def test_senseless_expectations_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(OutOfRange, match=f"^{next(iter(wrong))}: "):
        Expectations(**wrong)  # type: ignore[arg-type]


def test_a_build_that_meets_less_keeps_the_old_records(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 20, "dog": 5})
    before = make(ImageFolders(path="set"), out="records").bytes()
    expecting = ImageFolders(path="set", expect=Expectations(least_of_class=6))
    with pytest.raises(DataError, match=r"set: .*\n  data\.expect\.least_of_class: .*dog 5"):
        make(expecting, out="records")
    assert {file.name: file.read_bytes() for file in (tmp_path / "records").iterdir()}.keys() >= before.keys()
    kept = replace(expecting, expect=Expectations(least_of_class=5))
    assert make(kept, out="records").bytes() == before
