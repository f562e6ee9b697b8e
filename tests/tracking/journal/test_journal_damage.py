"""Whatever bytes are in a journal, its readers come to an end: with what is whole, and without the rest."""

import json
import tracemalloc
import zlib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bakeoff.tracking.journal import journal as module
from bakeoff.tracking.journal.entries import KINDS, MetricsEntry, TagsEntry, format_line, parse_line
from bakeoff.tracking.journal.journal import Journal, entries
from bakeoff.tracking.journal.journal_folder import FILE
from bakeoff.tracking.store.stored_run import journaled_in_full
from bakeoff.tracking.store.target import SyncProgress, Target, is_sent, place_in, target_in

NAMES = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8,
)  # fmt: skip
OF_TYPE = {
    int: st.integers(0, 2**40), str: NAMES, bool: st.booleans(), tuple: st.just([]),
    Mapping: st.dictionaries(NAMES, st.floats(allow_nan=False) | NAMES | JSON, max_size=3),
}  # fmt: skip


@st.composite
def entry(draw: st.DrawFn) -> dict[str, Any]:
    """As this project writes them, but for a few fields that are others, or missing."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    hints, made = get_type_hints(KINDS[kind]), {"kind": kind, "at": draw(st.integers(0, 2**41))}
    for field in fields(KINDS[kind]):
        if field.default is MISSING:
            made[field.name] = draw(OF_TYPE[get_origin(hints[field.name]) or hints[field.name]])
    for name in draw(st.lists(st.sampled_from(sorted(made)), max_size=1)):
        made[name] = draw(JSON)
    return made


def with_checksum(content: bytes) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(content), content)


LINE = st.one_of(
    (entry() | JSON).map(lambda tree: with_checksum(json.dumps(tree).encode())),
    st.binary(max_size=40), st.binary(max_size=40).map(with_checksum), st.integers(0, 700).map(bytes),
)  # fmt: skip
BYTES = st.lists(LINE, max_size=8).map(b"".join)
WRITING = settings(max_examples=60, deadline=5000, derandomize=True, suppress_health_check=list(HealthCheck))
READING = settings(WRITING, max_examples=200)


@pytest.fixture
def folder(workspace: Path) -> Path:
    folder = workspace / ".bakeoff/journal/0f"
    folder.mkdir(parents=True)
    return folder


@READING
@given(content=BYTES, cut=st.integers(0, 400))
@example(content=with_checksum(b"[" * 100_000), cut=0)
@example(content=with_checksum(b'{"kind": ["run"]}'), cut=0)
@example(content=with_checksum(b'{"kind": "metrics", "at": 1, "step": 1, "values": {"loss": "0.5"}}'), cut=0)
@example(content=with_checksum(b'{"kind": "metrics", "at": 1, "step": 1' + b"0" * 5000 + b', "values": {}}'), cut=0)
def test_any_bytes_are_read_to_their_end(folder: Path, content: bytes, cut: int) -> None:
    file = folder / FILE
    file.write_bytes(content[: max(0, len(content) - cut)] if cut < len(content) else content)
    whole = [line for line in file.read_bytes().split(b"\n")[:-1] if parse_line(line) is not None]
    read = [one for one, _ in entries(folder)]
    assert len([one for one in read if one is not None]) == len(whole)
    assert journaled_in_full(folder).run_id == "0f"


@WRITING
@given(content=BYTES)
@example(content=b"\0" * 100)
def test_any_bytes_can_be_written_on(folder: Path, content: bytes) -> None:
    file = folder / FILE
    file.write_bytes(content)
    journal = Journal("0f")
    assert journal.is_new == (not any(parse_line(line) for line in content.split(b"\n")))
    journal.tags({"a name that is new": "x"})
    journal.close()
    *_, (last, end) = entries(folder)
    assert isinstance(last, TagsEntry) and last.values == {"a name that is new": "x"} and end == file.stat().st_size


@settings(READING, max_examples=100)
@given(content=BYTES, place=st.binary(max_size=60) | JSON.map(lambda tree: json.dumps(tree).encode()), offset=JSON)
def test_any_place_in_any_journal_is_one_from_which_can_be_sent(
    folder: Path, content: bytes, place: bytes, offset: Any
) -> None:
    target, file = Target("http://somewhere", "bakeoff"), folder / FILE
    file.write_bytes(content)
    for text in (place, json.dumps({"offset": offset, "refused": [], "tries": 0}).encode()):
        (folder / f"sent-{target.key}.json").write_bytes(text)
        (folder / "target.json").write_bytes(text)
        sent = place_in(folder, target)
        assert isinstance(sent, SyncProgress) and 0 <= sent.offset <= len(content)
        assert is_sent(folder, target) == (sent.offset >= len(content))
        assert target_in(folder) is None or target_in(folder).uri  # type: ignore[union-attr]


@given(values=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8), cut=st.integers(1, 300))
@WRITING
def test_after_any_cut_the_points_that_are_written_again_are_there_once(
    folder: Path, values: list[float], cut: int
) -> None:
    (folder / FILE).unlink(missing_ok=True)
    for again in range(2):
        journal = Journal("0f")
        for step, value in enumerate(values):
            journal.metrics(step, {"loss": value})
        journal.close()
        if not again:
            file = folder / FILE
            file.write_bytes(file.read_bytes()[:-cut])
    values_by_step = [(one.step, one.values["loss"]) for one, _ in entries(folder) if isinstance(one, MetricsEntry)]
    assert values_by_step == list(enumerate(values))


def test_a_hole_of_two_gigabytes_is_passed_over_without_being_held(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a loss of power leaves it; here with a shorter longest line, so that it takes no seconds."""
    monkeypatch.setattr(module, "LONGEST_LINE", 2**16)
    line = format_line(TagsEntry({"a": "b"}))
    with (folder / FILE).open("wb") as file:
        file.write(line)
        file.truncate(len(line) + 2**26)
        file.seek(0, 2)
        file.write(b"\n" + line)
    tracemalloc.start()
    read = [one for one, _ in entries(folder)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [one is not None for one in read] == [True, False, True] and peak < 2**20
