"""How a command ends."""

import errno
import os
import signal
import threading

import pytest

from bakeoff.foundation.errors import (
    STOPPED,
    ConfigError,
    choices,
    errors_in_one_line,
    hide_interrupt_traceback,
    remember_interrupt,
)
from support.messages import missing_in


def test_the_nearest_name_is_offered_before_all_of_them() -> None:
    assert missing_in(choices("cosin", ["constant", "cosine"]), "'cosine'?", "constant, cosine") == []


def test_nothing_is_offered_for_a_name_that_is_like_none() -> None:
    assert choices("zzz", ["cosine", "constant"]) == "one of: constant, cosine"
    assert choices("zzz", []) == "one of: (none)"


@pytest.mark.parametrize(
    ("error", "code", "parts"),
    [
        (ConfigError("params.yaml: lr: is missing"), 2, ("params.yaml: lr: is missing\n",)),
        (KeyboardInterrupt(), 130, (f"{STOPPED}\n",)),
        (
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "models/train"),
            2,
            ("disk", "No space left on device: 'models/train'", "free", "same command"),
        ),
        (
            RuntimeError("append failed:\n No space left on device"),  # as TensorFlow and HDF5 say it
            2,
            ("disk", "append failed: No space left on device", "free", "same command"),
        ),
    ],
)
def test_an_error_that_a_user_can_repair_is_one_line_and_a_code(
    error: BaseException, code: int, parts: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended, errors_in_one_line():
        raise error
    assert ended.value.code == code
    [line] = capsys.readouterr().err.splitlines(keepends=True)
    assert missing_in(line, *parts) == []


def test_an_error_after_a_remembered_ctrl_c_is_the_ctrl_c_and_only_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, errors_in_one_line():
        try:
            remember_interrupt(signal.SIGINT, None)
        except KeyboardInterrupt:
            raise RuntimeError("Error calling __set_name__") from None
    assert (ended.value.code, capsys.readouterr().err) == (130, f"{STOPPED}\n")
    with pytest.raises(RuntimeError), errors_in_one_line():
        raise RuntimeError("Error calling __set_name__")


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EACCES, "right"), (errno.EROFS, "writable"),
        (errno.EMFILE, "`ulimit -n`"), (errno.EIO, "repair the disk"),
        (errno.ESTALE, "mount it again"), (errno.ENOMEM, "end other programs"),
    ],
)  # fmt: skip
def test_what_the_machine_refuses_is_one_line_with_its_remedy(
    number: int, remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended, errors_in_one_line():
        raise OSError(number, os.strerror(number), ".bakeoff/runs")
    [line] = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert missing_in(line, ".bakeoff/runs", os.strerror(number), remedy, "same command") == []


@pytest.mark.parametrize(
    "error", [MemoryError(), ImportError("x.so: failed to map segment"), RuntimeError("can't start new thread")]
)
def test_a_lack_of_memory_is_one_line_also_while_libraries_load(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended, errors_in_one_line():
        raise error
    with pytest.raises(SystemExit) as at_the_top:
        hide_interrupt_traceback(type(error), error, None)
    lines = capsys.readouterr().err.splitlines()
    assert ended.value.code == at_the_top.value.code == 2 and len(lines) == 2
    assert [missing_in(line, "memory", str(error), "same command") for line in lines] == [[], []]


def test_a_mistake_of_ours_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError), errors_in_one_line():
        raise ZeroDivisionError


def test_only_ctrl_c_loses_its_traceback_at_the_top(capsys: pytest.CaptureFixture[str]) -> None:
    hide_interrupt_traceback(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert capsys.readouterr().err == f"{STOPPED}\n"
    hide_interrupt_traceback(ValueError, ValueError("ours"), None)
    assert capsys.readouterr().err == "ValueError: ours\n"


def test_what_openblas_sends_where_no_thread_starts_is_no_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(SystemExit) as ended, errors_in_one_line():
        raise KeyboardInterrupt
    assert ended.value.code == 2
    with pytest.raises(SystemExit) as ended:
        hide_interrupt_traceback(KeyboardInterrupt, KeyboardInterrupt(), None)  # type: ignore[arg-type]
    assert ended.value.code == 2
    for line in capsys.readouterr().err.splitlines():
        assert missing_in(line, "threads", "`ulimit -u`", "`ulimit -v`", "same command again") == []
