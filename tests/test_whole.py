"""A file is what it was or what it shall be, and two that write it at once are not in each other's way."""

import os
from pathlib import Path

import pytest

from bakeoff import whole


@pytest.mark.parametrize("lasting", [False, True])
def test_a_file_is_written_with_its_folder_and_nothing_is_left_beside_it(tmp_path: Path, lasting: bool) -> None:
    file = tmp_path / "in/it/state.json"
    for text in ("longer than the other\n", "ä\n"):
        whole.write_text(file, text, lasting=lasting)
        assert file.read_bytes() == text.encode()
    assert [path.name for path in file.parent.iterdir()] == ["state.json"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "state.json"
    whole.write_text(file, "old")
    monkeypatch.setattr(os, "fsync", lambda number: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        whole.write_text(file, "new", lasting=True)
    assert file.read_text() == "old"


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "cached").write_text("cached")
    (tmp_path / "file").symlink_to(tmp_path / "cached")
    whole.write_text(tmp_path / "file", "own")
    assert (tmp_path / "cached").read_text() == "cached" and (tmp_path / "file").read_text() == "own"
