"""What a campaign of attacks offers, and how one attempt of it ends.

A campaign is a module of this folder with a `CAMPAIGN`, and a line in `CAMPAIGNS` of attack.py. Its generator prepares
once what all attempts need, then yields one attempt for each `Random` that it is given:

    def attempts(randoms: Iterable[Random], folder: Path) -> Iterator[Attempt]:
        image = draw_image(folder)
        for random in randoms:
            damaged = damage(image, random)
            yield Attempt(f"byte {damaged.at} changed", lambda: decode(damaged.path))

All chance comes from that `Random`, so an attempt can be repeated alone. `folder` is empty, and the campaign's own.
"""

import io
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from random import Random

from bakeoff.foundation.errors import TRY_AGAIN_LATER, USER_ERROR, errors_in_one_line, is_out_of_memory

MOST_LINES, LONGEST_LINE = 100, 2000  # of a refusal that a user reads to its end


class Verdict(StrEnum):
    """`answered` and `refused` are good ends, all others are falls."""

    ANSWERED = "answered"
    REFUSED = "refused"
    TRACEBACK = "traceback"
    UNREADABLE = "unreadable"  # a refusal with too many or too long lines, or with characters that nobody can print
    WRONG = "wrong"
    HANG = "hang"
    MEMORY = "memory"
    KILLED = "killed"

    @property
    def is_fall(self) -> bool:
        return self not in (Verdict.ANSWERED, Verdict.REFUSED)


class Wrong(Exception):
    """An attempt ended without an error, and what came out of it is not true."""


@dataclass(frozen=True)
class Attempt:
    """`act` attacks the code in this process. It raises `Wrong` if the answer is wrong."""

    description: str
    act: Callable[[], object]


@dataclass(frozen=True)
class Campaign:
    """`count` is the number of attempts of a full campaign; the idle numbers are what commands take for no input."""

    count: int
    attempts: Callable[[Iterable[Random], Path], Iterator[Attempt]]
    idle_bytes: int = 0
    idle_seconds: float = 0.0


@dataclass(frozen=True)
class End:
    verdict: Verdict
    text: str = ""


def run_command(words: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a command as the act of an attempt; return what it printed, or end as it did."""
    text = {"capture_output": True, "encoding": "utf-8", "errors": "replace"}
    done = subprocess.run(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, check=False, **text)
    print(done.stderr, file=sys.stderr, end="")
    if done.returncode < 0:
        raise CommandKilled(f"signal {-done.returncode}: {done.stderr[-500:]}")
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


class CommandKilled(Exception):
    """A signal that nobody of the campaign sent ended the command."""


def judge(act: Callable[[], object]) -> End:
    """Call the act as the command line calls a command, and tell how it ended."""
    printed, code = io.StringIO(), 0
    try:
        with redirect_stderr(printed), redirect_stdout(io.StringIO()), errors_in_one_line():
            act()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except Wrong as wrong:
        return End(Verdict.WRONG, str(wrong))
    except CommandKilled as killed:
        return End(Verdict.KILLED, str(killed))
    except BaseException as error:
        verdict = Verdict.MEMORY if is_out_of_memory(error) else Verdict.TRACEBACK
        return End(verdict, "".join(traceback.format_exception(error, limit=-8))[-3000:])
    text = printed.getvalue()
    if "Traceback (most recent call last)" in text:
        return End(Verdict.TRACEBACK, text[-3000:])
    if text.rpartition("\n")[0].rpartition("\n")[2].startswith("not enough memory"):
        return End(Verdict.MEMORY, text[-500:])
    if code not in (0, USER_ERROR, TRY_AGAIN_LATER):
        return End(Verdict.WRONG, f"exit code {code}: {text[-500:]}")
    return End(Verdict.ANSWERED) if code == 0 else _judge_refusal(text)


def _judge_refusal(text: str) -> End:
    lines = text.splitlines()
    if not lines or len(lines) > MOST_LINES or max(map(len, lines)) > LONGEST_LINE:
        size = f"{len(lines)} lines of up to {max(map(len, lines), default=0)} characters"
        return End(Verdict.UNREADABLE, f"{size}: {text[:500]}")
    if odd := [line for line in lines if not line.isprintable()]:
        return End(Verdict.UNREADABLE, ascii(odd[0][:500]))
    return End(Verdict.REFUSED, lines[-1])
