"""Which kind of failure an exception is."""

import errno
import os

import pytest

from bakeoff.errors import ConfigError, DataError, TryAgainLater, WorkspaceError
from bakeoff.runs.failures import failure_of
from bakeoff.training.checkpoint import Damaged


class InternalError(Exception):
    """Named as one of TensorFlow's."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (MemoryError(), "out of memory"),
        (MemoryError("Unable to allocate 7.28 TiB for an array"), "out of memory"),
        (InternalError("CUDA_ERROR_OUT_OF_MEMORY: out of memory"), "out of memory"),
        (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), "out of memory"),
        (OSError(errno.ENOSPC, "No space left on device"), "disk"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "disk"),
        (RuntimeError("Can't write data (file write failed: errno = 28, 'No space left on device')"), "disk"),
        (DataError("annotations/0042.xml: box 3 has xmax 12 <= xmin 40"), "bad data"),
        (Damaged("1-head/00000100: damaged (it ends too early)"), "bad data"),
        (ConfigError("train.devices: must be at most 1"), "error"),
        (WorkspaceError("nothing"), "error"),
        (TryAgainLater("memory: 1 MB are left"), "no room"),
        (OSError(errno.EACCES, "Permission denied"), "error"),
        (ZeroDivisionError("division by zero"), "error"),
    ],
)
def test_a_failure_has_a_kind(error: BaseException, kind: str) -> None:
    assert failure_of(error).kind == kind


def test_tensorflows_own_errors_are_known_by_name() -> None:
    import tensorflow as tf

    exhausted = tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor with shape[9999,9999]")
    assert failure_of(exhausted).kind == "out of memory"
    full = tf.errors.ResourceExhaustedError(None, None, "models/train; No space left on device")
    assert failure_of(full).kind == "disk"
    assert failure_of(tf.errors.DataLossError(None, None, "corrupted record at 12")).kind == "bad data"
    assert failure_of(tf.errors.InvalidArgumentError(None, None, "shapes differ")).kind == "error"


def test_a_run_that_left_the_numbers_diverged() -> None:
    from bakeoff.training.loop import Diverged

    assert failure_of(Diverged("the loss is nan", step=3, rate=0.1)).kind == "diverged"


def test_what_an_error_was_raised_from_counts_if_itself_says_nothing() -> None:
    error = RuntimeError("the batch could not be made")
    error.__cause__ = DataError("shard 3")
    assert failure_of(error).kind == "bad data"


def test_the_message_is_one_line_of_at_most_a_thousand_characters() -> None:
    assert failure_of(ValueError("one\n  two\tthree")).message == "one two three"
    assert len(failure_of(ValueError("x" * 9999)).message) == 1000
    assert failure_of(MemoryError()).message == "MemoryError"


def test_no_room_has_its_own_exit_code() -> None:
    assert TryAgainLater("memory").exit_code == 75 and WorkspaceError("x").exit_code == 2
