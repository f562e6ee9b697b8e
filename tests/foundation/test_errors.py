"""How a command ends."""

import errno
import os

import pytest

from bakeoff.foundation.errors import STOPPED, ConfigError, choices, errors_in_one_line, hide_interrupt_traceback


def test_the_nearest_name_is_offered_before_all_of_them() -> None:
    assert choices("cosin", ["constant", "cosine"]) == "did you mean 'cosine'? one of: constant, cosine"


def test_nothing_is_offered_for_a_name_that_is_like_none() -> None:
    assert choices("zzz", ["cosine", "constant"]) == "one of: constant, cosine"
    assert choices("zzz", []) == "one of: (none)"


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ConfigError("params.yaml: lr: is missing"), 2, "params.yaml: lr: is missing"),
        (KeyboardInterrupt(), 130, STOPPED),
        (
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "models/train"),
            2,
            "no space left on the disk: [Errno 28] No space left on device: 'models/train'; "
            "free some and run the same command again",
        ),
        (
            RuntimeError("append failed:\n No space left on device"),  # as TensorFlow and HDF5 say it
            2,
            "no space left on the disk: append failed: No space left on device; "
            "free some and run the same command again",
        ),
    ],
)
def test_an_error_that_a_user_can_repair_is_one_line_and_a_code(
    error: BaseException, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended, errors_in_one_line():
        raise error
    assert ended.value.code == code
    assert capsys.readouterr().err == f"{line}\n"


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EACCES, "give this user the right to it"), (errno.EROFS, "make it writable"),
        (errno.EMFILE, "raise the limit of open files (`ulimit -n`)"), (errno.EIO, "repair the disk"),
        (errno.ESTALE, "mount it again"), (errno.ENOMEM, "end other programs"),
    ],
)  # fmt: skip
def test_what_the_machine_refuses_is_one_line_with_its_remedy(
    number: int, remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended, errors_in_one_line():
        raise OSError(number, os.strerror(number), ".bakeoff/runs")
    line = f".bakeoff/runs: {os.strerror(number)}; {remedy} and run the same command again\n"
    assert (ended.value.code, capsys.readouterr().err) == (2, line)


def test_a_mistake_of_ours_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError), errors_in_one_line():
        raise ZeroDivisionError


def test_only_ctrl_c_loses_its_traceback_at_the_top(capsys: pytest.CaptureFixture[str]) -> None:
    hide_interrupt_traceback(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert capsys.readouterr().err == f"{STOPPED}\n"
    hide_interrupt_traceback(ValueError, ValueError("ours"), None)
    assert capsys.readouterr().err == "ValueError: ours\n"
