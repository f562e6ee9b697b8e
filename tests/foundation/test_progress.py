import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from bakeoff.foundation import progress as module
from bakeoff.foundation.progress import print_line, progress


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock.monotonic))
    return clock


@pytest.fixture
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rich.console.Console", lambda: Console(file=io.StringIO(), force_terminal=False))


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal of 120 columns was sent."""
    sent = io.StringIO()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr("rich.console.Console", lambda: Console(file=sent, force_terminal=True, width=120))
    return sent


def test_work_without_an_end_has_no_total_and_no_time_left(
    no_terminal: None, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("train", None, "steps") as bar:
        for _ in range(20):
            clock.now += 0.5
            bar.advance()
    assert capsys.readouterr().out == "train: 20 steps, 2.0/s\n"


def test_a_terminal_shows_work_without_an_end(terminal: io.StringIO, clock: Clock) -> None:
    with progress("train", None, "steps") as bar:
        clock.now += 0.5
        bar.advance()
    assert "1/?" in terminal.getvalue()


def test_without_a_terminal_a_line_comes_every_ten_seconds(
    no_terminal: None, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("train", 1200, "steps") as bar:
        for _ in range(50):
            clock.now += 0.5
            bar.advance()
    assert capsys.readouterr().out == (
        "train: 20 of 1,200 steps, 2.0/s, 590 s left\ntrain: 40 of 1,200 steps, 2.0/s, 580 s left\n"
    )


def test_what_was_done_before_counts_as_done_and_not_as_speed(
    no_terminal: None, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("train", 100, "steps", done=40) as bar:
        clock.now += 10
        bar.advance(20)
    assert capsys.readouterr().out == "train: 60 of 100 steps, 2.0/s, 20 s left\n"


def test_time_left_is_what_the_work_says_and_the_first_unit_is_no_measure(
    no_terminal: None, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    left = iter([None, None, 33.4])
    with progress("train", 1000, "steps", seconds_left=lambda: next(left)) as bar:
        clock.now += 96  # of compilation
        bar.advance()
        for _ in range(2):
            clock.now += 10
            bar.advance(5)
    assert capsys.readouterr().out == ("train: 6 of 1,000 steps, 0.5/s\ntrain: 11 of 1,000 steps, 0.5/s, 33 s left\n")


def test_the_rate_is_that_of_the_last_half_minute(
    no_terminal: None, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("build_records", 10_000, "examples") as bar:
        for pace in (1, 100):  # a second each: slow for a minute, then quick for half a minute
            for _ in range(60 if pace == 1 else 31):
                clock.now += 1
                bar.advance(pace)
    lines = capsys.readouterr().out.splitlines()
    slow, quick = lines[5], lines[8]
    assert slow == "build_records: 60 of 10,000 examples, 1.0/s, 9940 s left"
    assert quick == "build_records: 3,060 of 10,000 examples, 100.0/s, 69 s left"


def test_a_bar_says_that_the_first_step_compiles_until_it_is_done(terminal: io.StringIO, clock: Clock) -> None:
    with progress("train", 8, "steps", seconds_left=lambda: None) as bar:
        before = terminal.getvalue()
        bar.advance()
        shown = len(terminal.getvalue())
        clock.now += 2
        bar.advance()
    assert "0.5 steps/s" in terminal.getvalue()[shown:] and "0 steps/s" not in terminal.getvalue()[:shown]
    assert "compiling the first step" in before + terminal.getvalue()[:shown]
    assert "compiling" not in terminal.getvalue()[shown:]
    with progress("evaluate", 8, "examples") as bar:
        bar.advance()
    assert "compiling" not in terminal.getvalue()[shown:]


def test_work_of_which_nothing_is_done_yet_has_no_time_left(
    no_terminal: None, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("build_records", 10, "examples") as bar:
        clock.now += 10
        bar.advance(0)
    assert capsys.readouterr().out == "build_records: 0 of 10 examples, 0.0/s\n"


def test_line_ends_with_the_newest_note(no_terminal: None, clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with progress("train", 10, "steps") as bar:
        bar.note("loss 9.999")
        bar.note("loss 1.500")
        clock.now += 10
        bar.advance(5)
    assert capsys.readouterr().out == "train: 5 of 10 steps, 0.5/s, 10 s left, loss 1.500\n"


def test_short_work_without_a_terminal_says_nothing(
    no_terminal: None, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("build_records", 3, "examples") as bar:
        for _ in range(3):
            clock.now += 3
            bar.advance()
    assert capsys.readouterr().out == ""


def test_work_that_takes_no_time_has_a_rate_all_the_same(
    no_terminal: None, monkeypatch: pytest.MonkeyPatch, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LINES", 0)
    with progress("train", 2, "steps") as bar:
        bar.advance()
    assert capsys.readouterr().out.startswith("train: 1 of 2 steps, ")


def test_terminal_gets_a_bar_with_count_rate_and_note(terminal: io.StringIO, clock: Clock) -> None:
    with progress("train", 8, "steps") as bar:
        clock.now += 1
        bar.note("loss 0.250")
        bar.advance(6)
    shown = terminal.getvalue()
    assert "train" in shown and "6/8" in shown and "6 steps/s" in shown and "loss 0.250" in shown


def test_bar_is_gone_from_the_terminal_when_the_work_is_done(terminal: io.StringIO) -> None:
    with progress("train", 1, "steps") as bar:
        bar.advance()
    erase_line, up = "\x1b[2K", "\x1b[1A"
    assert terminal.getvalue().endswith(up + erase_line)


def test_printed_lines_lose_trailing_blanks_and_appear_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written, sent = io.BytesIO(), io.BytesIO()

    class Pipe(io.TextIOWrapper):
        def flush(self) -> None:
            super().flush()
            sent.write(written.getvalue()[len(sent.getvalue()) :])

    pipe = Pipe(written, encoding="utf-8")
    monkeypatch.setattr(module.sys, "stdout", pipe)
    print_line("one line  ")
    monkeypatch.undo()
    assert sent.getvalue() == b"one line\n"
