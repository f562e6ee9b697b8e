"""The source of the records and its digest."""

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


def test_the_number_of_processes_that_build_is_no_other_source(place: Path) -> None:
    digests = set()
    for threads in ("null", "1", "3"):
        PARAMS.write_text(f"data:\n  use: coco\n  path: data/raw/field\n  num_threads: {threads}\nseed: 0\n")
        digests.add(choose_source(PARAMS, ROOT / "conf").digest)
    assert len(digests) == 1
    PARAMS.write_text("data: {use: coco, path: data/raw/field, num_threads: 0}\nseed: 0\n")
    with pytest.raises(ConfigError, match=r"params.yaml:1: data\.num_threads: \D+1\D+256\D+0"):
        choose_source(PARAMS, ROOT / "conf")


def test_what_is_expected_is_no_other_source(place: Path) -> None:
    digests = set()
    for expected in ("{}", "{alike: 0, classes: [a, b]}", "{most_of_class: 0.5}"):
        PARAMS.write_text(f"data:\n  use: coco\n  path: data/raw/field\n  expect: {expected}\nseed: 0\n")
        digests.add(choose_source(PARAMS, ROOT / "conf").digest)
    assert len(digests) == 1
    PARAMS.write_text("data: {use: coco, path: data/raw/field, expect: {negatives: [0.3, 0.1]}}\nseed: 0\n")
    with pytest.raises(ConfigError, match=r"params.yaml:1: data\.expect\.negatives: .*\[0\.3, 0\.1\]"):
        choose_source(PARAMS, ROOT / "conf")


def test_merged_data_are_expected_to_hold_something_together(place: Path) -> None:
    PARAMS.write_text("data: {use: merged, merge: [coco, pascal_voc], expect: {least_of_class: 7}}\nseed: 0\n")
    parts = choose_source(PARAMS, ROOT / "conf").source
    assert isinstance(parts, list) and [part.dataset.expect.least_of_class for part in parts] == [7, 7]
