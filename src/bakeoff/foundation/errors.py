"""What a user can repair, in one line: `<file>: <key>: <rule>, got <value>; <remedy>`.

BakeoffError
├── ConfigError      params.yaml, conf/ or run.yaml
├── DataError        data/raw or data/records
├── WorkspaceError   the folder, git, DVC, the disk, the tracking store
└── TryAgainLater    the machine, for now
"""

import codecs
import errno
import io
import os
import re
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import ClassVar, NoReturn

USER_ERROR = 2
TRY_AGAIN_LATER = 75  # EX_TEMPFAIL of sysexits.h
INTERRUPTED = 130  # what a shell reports for a program that ended by Ctrl-C
SEEN_ENOUGH = 141  # the exit code of a program whose output pipe was closed
STOPPED = "stopped by Ctrl-C; what was finished before is untouched, run the same command again"
NO_THREAD = (
    "the system starts no more threads; end other programs, or raise the limits of processes and memory (`ulimit -u`, "
    "`ulimit -v`, a container's limits) and run the same command again"
)
NOT_INSTALLED = (
    "{}: this package is not installed, and the command needs it; install bakeoff with the extra train "
    "(docs/howto/install.md), or in a clone run `make .venv/ready`"
)
MOST_SHOWN = 200  # characters of a value in a message
SPELT_OUT = {"·": "-", "–": "-", "…": "...", "±": "+-", "×": "x", "√": "sqrt ", "²": "^2", "→": "->"}

RIGHTS, FILES, DISK = "give this user the right to it", "raise the limit of open files (`ulimit -n`)", "repair the disk"
REMEDIES = {  # by the system's error number; none of these is a reason to discard a result
    errno.EACCES: RIGHTS, errno.EPERM: RIGHTS, errno.EROFS: "make it writable", errno.EMFILE: FILES,
    errno.ENFILE: FILES, errno.EIO: DISK, errno.ESTALE: "mount it again", errno.ENOMEM: "end other programs",
    errno.EFBIG: "raise the limit of a file's size (`ulimit -f`)",
}  # fmt: skip

NO_MEMORY = {"MemoryError", "ResourceExhaustedError", "OutOfMemory"}  # names of classes
VAGUE = {
    "OSError",
    "ImportError",
    "RuntimeError",
    "SystemError",
    "OpError",
    "InternalError",
}  # of which only the text tells
NO_MEMORY_SAID = re.compile(  # by an allocator, CUDA or the system
    r"OOM when allocating|out of memory|OUT_OF_MEMORY|Dst tensor is not initialized|bad_alloc|cannot allocate memory|"
    r"failed to map segment|can't start new thread",
    re.IGNORECASE,
)

_interrupts: list[int] = []  # that came to Python's own handler, and may be lost in a library


class BakeoffError(Exception):
    """An error whose text is all that a user needs to see."""

    exit_code: ClassVar[int] = USER_ERROR

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows of it."""
        return [f"{type(self).__name__}: {self}"]


class ConfigError(BakeoffError):
    pass


class DataError(BakeoffError):
    pass


class WorkspaceError(BakeoffError):
    pass


class TryAgainLater(BakeoffError):
    """Nothing is wrong with the variant; there is too little room for it at the moment."""

    exit_code = TRY_AGAIN_LATER


class Canceled(KeyboardInterrupt):
    """A request to stop that came before there was anything to save."""

    def __init__(self, text: str, exit_code: int) -> None:
        self.exit_code = exit_code
        super().__init__(text)


class TakenAway(Canceled):
    """A signal announced that the machine is needed for something else."""

    def __init__(self, name: str, remedy: str = "run the same command again") -> None:
        self.name = name
        super().__init__(f"stopped by {name}; {remedy}", TRY_AGAIN_LATER)


class OutOfRange(ValueError):
    """A settings object refuses one of its own fields; the parser knows the file and the full key."""

    def __init__(self, key: str, value: object, rule: str, why: str = "") -> None:
        self.key = key
        self.reason = f"must be {rule}, got {show(value)}" + (f"; {why}" if why else "")
        super().__init__(f"{key}: {self.reason}")


def require(condition: bool, key: str, value: object, rule: str) -> None:
    """Refuse a field of a settings object, from its `__post_init__`."""
    if not condition:
        raise OutOfRange(key, value, rule)


def require_between(settings: object, **limits: tuple[float, float]) -> None:
    """Refuse numbers outside of their limits, which are allowed themselves."""
    for key, ends in limits.items():
        value, (least, most) = getattr(settings, key), ends
        shown = [f"{end:,}" if end >= 10_000 else str(end) for end in ends]
        require(least <= value <= most, key, value, f"between {' and '.join(shown)}")


def require_at_most(settings: object, **limits: float) -> None:
    """Refuse numbers that are so large that they can only be a mistake."""
    for key, most in limits.items():
        value = getattr(settings, key)
        require(not isinstance(value, (int, float)) or value <= most, key, value, f"at most {most:,}")


def show(value: object) -> str:
    """Return a value as a message repeats it: on one line, and of a long one the beginning."""
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def choices(name: str, allowed: Iterable[str]) -> str:
    """Return the tail of a message about an unknown name: the nearest match and everything that is allowed."""
    allowed = sorted(allowed)
    return f"{did_you_mean(name, allowed)}one of: {', '.join(allowed) or '(none)'}"


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """Return a question that ends with a blank; nothing if nothing is near."""
    import difflib  # few messages need it

    near = difflib.get_close_matches(name, list(allowed), n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}? " if near else ""


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Turn what a user can repair, Ctrl-C and faults of the machine into one line and an exit code: no traceback.

    A reader that went away, such as `head`, gets no line either.
    """
    print_on_any_console()
    try:
        yield
    except BakeoffError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    except Canceled as canceled:
        print(canceled, file=sys.stderr)
        sys.exit(canceled.exit_code)
    except KeyboardInterrupt:
        _end_interrupted()
    except BrokenPipeError:
        sys.exit(SEEN_ENOUGH)
    except Exception as error:
        if _interrupts:
            _end_interrupted()
        if (what := explain(error)) is None:
            raise
        print(what, file=sys.stderr)
        sys.exit(USER_ERROR)
    finally:
        _interrupts.clear()
        try:
            sys.stdout.flush()
        except BrokenPipeError:  # or Python complains when it flushes
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end_interrupted() -> NoReturn:
    """End as by Ctrl-C, unless OpenBLAS has sent the signal."""
    _refuse_without_threads()
    print(STOPPED, file=sys.stderr)
    sys.exit(INTERRUPTED)


def _refuse_without_threads() -> None:
    """End if the system starts no thread. OpenBLAS then sends its own process what Ctrl-C sends."""
    import threading

    try:
        threading.Thread(target=int).start()
    except RuntimeError:
        print(NO_THREAD, file=sys.stderr)
        sys.exit(USER_ERROR)


def explain(error: BaseException) -> str | None:
    """Return the line about a package that is missing or a fault of the machine; None for an error of the code."""
    if isinstance(error, ModuleNotFoundError):
        package = (error.name or "bakeoff").partition(".")[0]
        return None if package in ("bakeoff", *sys.stdlib_module_names) else NOT_INSTALLED.format(package)
    fault = name_fault(error)
    return None if fault is None else f"{fault} and run the same command again"


def name_fault(error: BaseException) -> str | None:
    """Return what is wrong with the machine and what repairs it; None if the error is no fault of the machine."""
    if is_disk_full(error):
        return f"no space left on the disk: {one_line(error)}; free some"
    if not isinstance(error, OSError) or error.errno not in REMEDIES:
        remedy = "end other programs, or raise the limit of memory"
        return (
            f"not enough memory ({one_line(error) or type(error).__name__}); {remedy}"
            if is_out_of_memory(error)
            else None
        )
    return f"{error.filename or 'the system'}: {error.strerror}; {REMEDIES[error.errno]}"


def print_on_any_console() -> None:
    """Write characters that the console's encoding lacks in others, unless the user has chosen what to do with them."""
    codecs.register_error("spelt_out", _spell_out)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape", "backslashreplace"):
            stream.reconfigure(errors="spelt_out")


def _spell_out(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return "".join(SPELT_OUT.get(letter) or ascii(letter)[1:-1] for letter in lacking), error.end


def remember_interrupt(number: int, frame: FrameType | None) -> None:
    """Serve as the handler of SIGINT: raise what Python's own raises, and remember it.

    Some of Python's own code in C, and libraries, turn what a handler raises into an error of their own, or drop it.
    """
    _interrupts.append(number)
    signal.default_int_handler(number, frame)


def raise_lost_interrupt() -> None:
    """Raise again what a library dropped since the process began."""
    if _interrupts:
        raise KeyboardInterrupt


def hide_interrupt_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Serve as a `sys.excepthook` without a traceback of Ctrl-C, of a message for users, or for lack of memory."""
    if issubclass(kind, KeyboardInterrupt):
        _refuse_without_threads()
        print(STOPPED, file=sys.stderr)  # and Python ends as the signal does
    elif _interrupts and issubclass(kind, Exception):
        _end_interrupted()
    elif isinstance(error, BakeoffError):
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    elif is_out_of_memory(error):
        print(f"{name_fault(error)} and run the same command again", file=sys.stderr)
        sys.exit(USER_ERROR)
    else:
        sys.__excepthook__(kind, error, trace)


def is_disk_full(error: BaseException) -> bool:
    # TensorFlow and HDF5 wrap the system's error in their own and keep only its text.
    full = (errno.ENOSPC, errno.EDQUOT)
    return getattr(error, "errno", None) in full or any(os.strerror(number) in str(error) for number in full)


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an error means that there was no memory, without loading TensorFlow to know its errors."""
    names = {cls.__name__ for cls in type(error).__mro__}
    if is_disk_full(error):  # TensorFlow calls a full disk an exhausted resource, too
        return False
    return bool(names & NO_MEMORY) or (bool(names & VAGUE) and NO_MEMORY_SAID.search(str(error)) is not None)


def one_line(error: BaseException, most: int = 200) -> str:
    return " ".join(str(error).split())[:most]
