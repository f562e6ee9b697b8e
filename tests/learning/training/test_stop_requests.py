"""Who asks training to end, and what they get."""

import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from bakeoff.foundation.errors import Canceled, errors_in_one_line
from bakeoff.foundation.workspace import STOP_FILE
from bakeoff.learning.training import stopping as stopping
from bakeoff.learning.training.stopping import Stop
from support.messages import missing_in

NAMES = ("SIGTERM", "SIGUSR2")


@pytest.fixture
def stop(tmp_path: Path) -> Iterator[Stop]:
    stop = Stop(tmp_path / STOP_FILE)
    with stop.listening():
        yield stop


def send(number: signal.Signals) -> None:
    signal.raise_signal(number)


TAKES_AWAY = [pytest.param(getattr(signal, name), name, id=name) for name in NAMES if hasattr(signal, name)]


@pytest.mark.parametrize(
    ("number", "name", "code"),
    [(signal.SIGINT, "Ctrl-C", 130), *((*parameters.values, 75) for parameters in TAKES_AWAY)],
)
def test_before_the_first_step_a_signal_ends_the_run_at_once(
    number: signal.Signals, name: str, code: int, stop: Stop, capsys: pytest.CaptureFixture
) -> None:
    with pytest.raises(SystemExit) as ended, errors_in_one_line():
        send(number)
    assert ended.value.code == code
    assert missing_in(capsys.readouterr().err, f"stopped by {name} ", "before the first", "same command") == []


@pytest.mark.parametrize(
    ("number", "name", "code"),
    [(signal.SIGINT, "Ctrl-C", 130), *((*parameters.values, 75) for parameters in TAKES_AWAY)],
)
def test_an_error_that_a_library_made_of_an_early_signal_is_the_signal(
    number: signal.Signals, name: str, code: int, tmp_path: Path
) -> None:
    with pytest.raises(Canceled, match=name) as ended, Stop(tmp_path / STOP_FILE).listening():
        try:
            send(number)
        except Canceled:
            raise SystemError("bad argument to internal function") from None
    assert ended.value.exit_code == code


def test_an_early_signal_that_a_library_dropped_ends_the_run_where_it_looks_next(stop: Stop) -> None:
    with suppress(Canceled):
        send(signal.SIGINT)
    with pytest.raises(Canceled, match="Ctrl-C"):
        stop.leave_if_asked()


def test_an_early_signal_that_the_first_step_dropped_ends_the_run_after_it(
    stop: Stop, capfd: pytest.CaptureFixture
) -> None:
    with suppress(Canceled):
        send(signal.SIGINT)
    stop.step_is_done()
    stop.step_is_done()
    assert stop.asked and stop.by == "Ctrl-C"
    [line] = capfd.readouterr().err.split("\n")[1:-1]
    assert missing_in(line, "Ctrl-C: ", "saved", "Ctrl-C again") == []


def test_another_error_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(SystemError), Stop(tmp_path / STOP_FILE).listening():
        raise SystemError("bad argument to internal function")


def test_after_a_step_ctrl_c_asks_for_a_stop_and_says_what_happens(stop: Stop, capfd: pytest.CaptureFixture) -> None:
    stop.step_is_done()
    assert not stop.asked
    send(signal.SIGINT)
    assert stop.asked and stop.by == "Ctrl-C"
    stop.leave_if_asked()  # no more: there is something to save
    stop.leave_if_taken_away(7)  # it is evaluated
    [line] = capfd.readouterr().err.split("\n")[1:-1]
    assert missing_in(line, "Ctrl-C: ", "saved", "evaluated", "Ctrl-C again") == []


@pytest.mark.parametrize(("number", "name"), TAKES_AWAY)
def test_a_signal_that_takes_the_machine_away_ends_training_once_it_is_saved(
    number: signal.Signals, name: str, stop: Stop, capfd: pytest.CaptureFixture
) -> None:
    stop.step_is_done()
    send(number)
    assert stop.asked and stop.by == name
    with pytest.raises(SystemExit) as ended, errors_in_one_line():
        stop.leave_if_taken_away(1234)
    assert ended.value.code == 75
    asked, stopped = capfd.readouterr().err.splitlines()[1:]
    assert missing_in(asked, f"{name}: ", "saved", "same command", "resumes") == [] and "evaluated" not in asked
    assert missing_in(stopped, f"stopped by {name} ", "1,234", "saved", "same command", "resumes") == []


def test_ctrl_c_twice_stops_at_once(stop: Stop) -> None:
    stop.step_is_done()
    send(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as ended:
        send(signal.SIGINT)
    assert not isinstance(ended.value, Canceled)


def test_sigterm_twice_is_sigterm_once(stop: Stop) -> None:
    stop.step_is_done()
    send(signal.SIGTERM)
    send(signal.SIGTERM)
    assert stop.by == "SIGTERM"


def test_a_file_asks_for_a_stop_and_is_gone_when_it_was_answered(tmp_path: Path) -> None:
    stop = Stop(tmp_path / STOP_FILE)
    with stop.listening():
        stop.step_is_done()
        (tmp_path / STOP_FILE).touch()
        assert stop.asked and stop.by == "bakeoff stop"
    assert not (tmp_path / STOP_FILE).exists()


def test_a_file_that_came_before_the_first_step_ends_the_run_before_it(stop: Stop, tmp_path: Path) -> None:
    stop.leave_if_asked()
    (tmp_path / STOP_FILE).touch()
    stop._looked = float("-inf")  # or it would not look again so soon
    with pytest.raises(Canceled, match="^stopped by bakeoff stop .*before the first.*same command"):
        stop.leave_if_asked()


def test_a_request_to_a_process_that_is_gone_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / STOP_FILE).touch()
    with Stop(tmp_path / STOP_FILE).listening():
        assert not (tmp_path / STOP_FILE).exists()


def test_afterwards_signals_do_what_they_did_before() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Stop().listening():
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
