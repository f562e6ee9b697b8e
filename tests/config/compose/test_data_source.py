"""The source of the records and its digest."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from bakeoff.config.compose.data_source import choose_source
from bakeoff.foundation.errors import ConfigError
from support.imports import ROOT
from support.messages import missing_in

PARAMS = Path("params.yaml")


@pytest.mark.parametrize("line", ["", "data:", "data: {}", "data: {use: preset}", "data: preset"])
@pytest.mark.parametrize("preset", ["", "experiment: demo"])
def test_data_that_nobody_chose_are_refused_with_the_command_that_brings_them_in(
    line: str, preset: str, place: Path
) -> None:
    PARAMS.write_text(f"{preset}\n{line}\nseed: 0\n")
    with pytest.raises(ConfigError) as refused:
        choose_source(PARAMS, ROOT / "conf")
    assert missing_in(str(refused.value), "params.yaml", " data", "`bakeoff import ", "digits") == []


@pytest.mark.parametrize(
    ("key", "values", "wrong", "message"),
    [
        ("num_threads", ("null", "1", "3"), "0", r"data\.num_threads: \D+1\D+256\D+0"),
        (
            "expect", ("{}", "{alike: 0, classes: [a, b]}", "{most_of_class: 0.5}"), "{negatives: [0.3, 0.1]}",
            r"data\.expect\.negatives: .*\[0\.3, 0\.1\]",
        ),
    ],
)  # fmt: skip
def test_what_decides_no_record_is_no_other_source(
    place: Path, key: str, values: Sequence[str], wrong: str, message: str
) -> None:
    """How many processes build, and what the data are expected to hold."""
    digests = set()
    for value in values:
        PARAMS.write_text(f"data:\n  use: coco\n  path: data/raw/field\n  {key}: {value}\nseed: 0\n")
        digests.add(choose_source(PARAMS, ROOT / "conf").digest)
    assert len(digests) == 1
    PARAMS.write_text(f"data: {{use: coco, path: data/raw/field, {key}: {wrong}}}\nseed: 0\n")
    with pytest.raises(ConfigError, match=rf"params.yaml:1: {message}"):
        choose_source(PARAMS, ROOT / "conf")


def test_merged_data_are_expected_to_hold_something_together(place: Path) -> None:
    PARAMS.write_text("data: {use: merged, merge: [coco, pascal_voc], expect: {least_of_class: 7}}\nseed: 0\n")
    parts = choose_source(PARAMS, ROOT / "conf").source
    assert isinstance(parts, list) and [part.dataset.expect.least_of_class for part in parts] == [7, 7]
