"""The lines of every kind keep their bytes, for journals that an earlier version wrote are still read and sent."""

import json
import zlib

import pytest

from bakeoff.tracking.journal.entries import (
    KINDS,
    JournalEntry,
    MetricsEntry,
    PredictorEntry,
    StateEntry,
    format_line,
    parse_line,
)

FILE = '{"name": "labels.txt", "sha256": "5d1c", "bytes": 10, "path": "/w/labels.txt", "shown": "exported/labels.txt"}'
MODEL = f'"name": "exported", "step": 6, "weights": "best", "by_reference": false, "files": [{FILE}]'
CONTENTS = (
    '{"kind": "metrics", "at": 5, "step": 20, "values": {"train/loss": 0.5, "naïve": 1}}',
    '{"kind": "metrics", "at": 5, "step": 20, "values": {"a": 0.5}, "revised": true, "weights": "best"}',
    '{"kind": "params", "at": 5, "values": {"lr.peak": "0.5"}, "restored": true}',
    '{"kind": "tags", "at": 5, "values": {"bakeoff.host": "here"}}',
    '{"kind": "file", "at": 5, "name": "config/run.yaml", "sha256": "5d1c", "bytes": 10}',
    '{"kind": "file", "at": 5, "name": "train/state.json", "sha256": "5d1c", "bytes": 10, "path": "/w/state.json"}',
    f'{{"kind": "model", "at": 5, {MODEL}}}',
    f'{{"kind": "model", "at": 5, {MODEL}, "answers": "detection", "clips": false, "requirements": ["numpy==2"], '
    '"register": null, "restored": true}',
    '{"kind": "checkpoint", "at": 5, "name": "1-head/00000532", "step": 532, "files": [{"name": "1-head/00000532", '
    '"bytes": 13, "path": "/w/00000532", "needs": ["1-head/best-00000400"], "by_reference": false}]}',
    '{"kind": "checkpoint", "at": 5, "name": "1-head/00000532", "step": 532, "files": [], "stay": ["1-head/00000532"]}',
    '{"kind": "network", "at": 5, "model": {"kind": "cnn", "width": 0.25}, "classes": ["a", "b"]}',
    '{"kind": "network", "at": 5, "model": {"kind": "cnn"}, "classes": ["a"], "multi_label": true}',
    '{"kind": "run", "at": 5, "name": "ssd · cosine"}',
    '{"kind": "run", "at": 5, "name": "ssd · cosine", "differs": "lr.peak=1"}',
    '{"kind": "state", "at": 5, "state": "FINISHED"}',
    '{"kind": "state", "at": 5, "state": "KILLED", "ended": false}',
    '{"kind": "dataset", "at": 5, "name": "pets", "digest": "7a", "source": "data", "counts": {"train": 3}, '
    '"context": "training"}',
    '{"kind": "parent", "at": 5, "name": "sweep-20260102-030405"}',
    '{"kind": "link", "at": 5, "tag": "bakeoff.made_by_mlflow_run", "run": "7f"}',
)


def read(content: str) -> JournalEntry | None:
    return parse_line(b"%08x %s\n" % (zlib.crc32(content.encode()), content.encode()))


@pytest.mark.parametrize("content", CONTENTS)
def test_an_entry_that_is_read_and_written_again_has_the_same_bytes(content: str) -> None:
    entry = read(content)
    assert entry is not None and format_line(entry).partition(b" ")[2].decode() == f"{content}\n"


def test_every_kind_is_among_them() -> None:
    assert {json.loads(content)["kind"] for content in CONTENTS} == {*KINDS}


def test_a_model_that_answers_is_a_predictor() -> None:
    plain, exported = (read(content) for content in CONTENTS if '"kind": "model"' in content)
    assert not isinstance(plain, PredictorEntry) and isinstance(exported, PredictorEntry)


def test_keys_of_another_version_are_left_out_and_those_that_it_lacked_have_their_defaults() -> None:
    assert read('{"kind": "state", "at": 5, "state": "FAILED", "why": "heat"}') == StateEntry("FAILED", at=5)
    assert read('{"kind": "metrics", "at": 5, "step": 1, "values": {}}') == MetricsEntry(1, {}, at=5)


@pytest.mark.parametrize(
    "content",
    [
        '{"kind": "weather", "at": 5}',
        '{"kind": "state", "state": "FAILED"}',
        '{"kind": "state", "at": 5, "state": 3}',
        '{"kind": "params", "at": 5, "values": {"lr.peak": 0.5}}',
        '{"kind": "checkpoint", "at": 5, "name": "1", "step": 1, "files": [{"name": "1"}]}',
    ],
)
def test_an_unknown_kind_and_a_line_without_what_its_kind_has_are_passed_over(content: str) -> None:
    assert read(content) is None
