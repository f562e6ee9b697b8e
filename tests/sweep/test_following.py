"""A log is shown as it grows: whole lines, of this attempt."""

from pathlib import Path

from bakeoff.sweep.following import Following


def test_lines_come_once_and_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("of before\n")
    following = Following(log)
    with log.open("ab") as out:
        for part, lines in [(b"one\ntw", ["one"]), (b"o\n\xc2", ["two"]), (b"\xb7\n", ["·"]), (b"end", [])]:
            out.write(part)
            out.flush()
            assert list(following.lines()) == lines
    assert list(following.lines(ended=True)) == ["end"]
    assert list(following.lines(ended=True)) == []
    assert following.last_lines(3) == ["two", "·", "end"] and following.last_lines(9) == ["one", "two", "·", "end"]
    assert list(Following(tmp_path / "none").lines()) == []
    assert list(Following(log, has_begun=True).lines()) == []
    assert Following(log, has_begun=True).last_lines(2) == ["·", "end"]
