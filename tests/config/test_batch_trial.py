"""The process that tries batch sizes, with a stand-in that answers, takes too much memory or dies."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bakeoff.config import batch_trial
from bakeoff.config.batch_trial import ChildTries
from bakeoff.run.settings import load
from imports import ROOT

STAND_IN = """
import json, os, sys
open("starts", "a").write("x")
assert open(sys.argv[1]).read().startswith("# Written by render_config") and sys.argv[2] == "records"
for line in sys.stdin:
    size = int(line)
    if size == 100:
        os.abort()
    if size == 200:
        held = bytearray(300 * 10**6)
        sys.stdin.readline()
    print(json.dumps({"batch_size": size, "peak_bytes": None if size == 300 else 1000 + size}), flush=True)
"""


@pytest.fixture
def tries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChildTries]:
    run, _ = load(ROOT / "models/config/run.yaml")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stand_in.py").write_text(STAND_IN)
    monkeypatch.setattr(batch_trial, "TRIAL", "stand_in")
    with ChildTries(run, Path("records"), budget=150 * 10**6) as tries:
        yield tries


def test_one_process_answers_as_long_as_sizes_climb(tries: ChildTries) -> None:
    assert [tries.peak(size) for size in (1, 4, 8)] == [1001, 1004, 1008]
    assert Path("starts").read_text() == "x"


def test_smaller_size_is_tried_by_a_new_process(tries: ChildTries) -> None:
    assert [tries.peak(size) for size in (8, 4)] == [1008, 1004]
    assert Path("starts").read_text() == "xx"


@pytest.mark.parametrize("size", [100, 200, 300], ids=["it dies", "it takes too much", "its device is too small"])
def test_size_does_not_fit_if(size: int, tries: ChildTries) -> None:
    assert tries.peak(size) is None
    assert tries.peak(3) == 1003
