"""Where a model is measured: this machine, or one that ssh reaches. One command goes there, and one archive back.

The command unpacks what it is sent in a folder of its own, measures, and sends back the answers. It leaves nothing.
"""

import io
import os
import re
import shlex
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Event, Thread
from typing import IO
from urllib.parse import urlsplit

from bakeoff.foundation.errors import ConfigError, WorkspaceError, one_line
from bakeoff.foundation.formatting import make_printable, without_secrets

BENCHMARK, BUNDLE = "bakeoff.inference.device.benchmark", "bundle.zip"
MEASURED, ANSWERS = "measured.json", "answers.npz"
SCHEME, SECONDS_TO_CONNECT, SECONDS_BETWEEN_SIGNS = "ssh", 10, 15
MOST_SECONDS = 1800  # for everything that happens there
MOST_BYTES = 200_000_000  # of an answer
PIECE, READER = 1 << 16, "reads an answer"  # how much at once; the name of a thread
LONGEST_ERROR, LONGEST_LINE = 10_000, 300
NAME = re.compile(r"[\w:][\w.:%-]*", re.ASCII)  # of a machine
USER = re.compile(r"[\w][\w.@+\\-]*", re.ASCII)
NEEDED = (3, 11)
UNREACHABLE, NO_SUCH_COMMAND, TOO_OLD = 255, 127, 97  # exit codes: of ssh, of a shell, and of the script below
SCRIPT = """\
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT HUP INT TERM
cd "$folder"
tar xf -
{python} -c 'import sys; sys.exit({too_old} if sys.version_info < {needed} else 0)' || exit $?
PYTHONPATH={bundle} {python} -m {benchmark} {arguments} > {measured}
tar cf - {measured} {answers}
"""


@dataclass(frozen=True)
class Host:
    address: str | None  # ssh://user@name:port; None: this machine
    python: str

    @property
    def name(self) -> str:
        return urlsplit(self.address).hostname or "" if self.address else "this machine"

    def run(self, files: Mapping[str, bytes], arguments: list[str]) -> dict[str, bytes]:
        """Run the benchmark on these files and return those that it made."""
        return self._run_there(files, arguments) if self.address else self._run_here(files, arguments)

    def _run_here(self, files: Mapping[str, bytes], arguments: list[str]) -> dict[str, bytes]:
        with TemporaryDirectory() as name:
            folder = Path(name)
            for file, data in files.items():
                (folder / file).write_bytes(data)
            environment = os.environ | {"PYTHONPATH": BUNDLE}
            command = [self.python, "-m", BENCHMARK, *arguments]
            try:
                done = subprocess.run(command, cwd=folder, env=environment, capture_output=True)
            except OSError as error:
                raise WorkspaceError(f"--python {self.python}: cannot be run ({error.strerror})") from None
            if done.returncode:
                raise WorkspaceError(f"{self.name}: {self._explain(done)}")
            return {MEASURED: done.stdout, ANSWERS: (folder / ANSWERS).read_bytes()}

    def _run_there(self, files: Mapping[str, bytes], arguments: list[str]) -> dict[str, bytes]:
        named = {
            "python": shlex.quote(self.python),
            "too_old": TOO_OLD,
            "needed": NEEDED,
            "arguments": shlex.join(arguments),
        }
        script = SCRIPT.format(bundle=BUNDLE, benchmark=BENCHMARK, measured=MEASURED, answers=ANSWERS, **named)
        try:
            done = _talk([*self._way, shlex.join(["sh", "-c", script])], _pack(files))
        except FileNotFoundError:
            raise WorkspaceError(f"--on {self.address}: `{SCHEME}` is not installed on this machine") from None
        except subprocess.TimeoutExpired:
            raise WorkspaceError(
                f"{self.address}: has not answered in {MOST_SECONDS / 60:.0f} minutes; lower --count or --calls"
            ) from None
        if len(done.stdout) > MOST_BYTES:
            raise WorkspaceError(
                f"{self.address}: its answer must have at most {MOST_BYTES:,} bytes, and more came; measure again"
            )
        if done.returncode:
            raise WorkspaceError(f"{self.address}: {self._explain(done)}")
        return _unpack(done.stdout)

    @property
    def _way(self) -> list[str]:
        parts = urlsplit(self.address or "")
        port = ["-p", str(parts.port)] if parts.port else []
        user = f"{parts.username}@" if parts.username else ""
        settings = f"BatchMode=yes ConnectTimeout={SECONDS_TO_CONNECT} ServerAliveInterval={SECONDS_BETWEEN_SIGNS}"
        options = [text for setting in settings.split() for text in ("-o", setting)]
        return [SCHEME, *options, *port, "--", f"{user}{parts.hostname}"]

    def _explain(self, done: "subprocess.CompletedProcess[bytes]") -> str:
        lines = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
        last = make_printable(lines[-1].strip()[:LONGEST_LINE]) if lines else f"exit code {done.returncode}"
        if self.address and done.returncode == UNREACHABLE:
            return f"cannot be reached ({last}); `ssh {self.address}` must log in without a question"
        if done.returncode == NO_SUCH_COMMAND:
            return f"has no {self.python}; install Python 3.11 or newer there, or name it with --python"
        if done.returncode == TOO_OLD:
            return f"{self.python} is older than Python 3.11; name a newer one with --python"
        return last


def find_host(address: str | None, python: str) -> Host:
    if address is None:
        return Host(None, python)
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"--on: must be like ssh://pi@10.0.0.5, got {address!r} ({error})") from None
    if parts.password is not None:
        raise ConfigError(f"--on: must hold no password, got {without_secrets(address)}; ssh logs in by a key")
    is_plain = parts.scheme == SCHEME and not (parts.path.strip("/") or parts.query or parts.fragment)
    is_named = NAME.fullmatch(parts.hostname or "") and USER.fullmatch(parts.username or "pi")
    if not is_plain or not is_named or port == 0:
        raise ConfigError(f"--on: must be like ssh://pi@10.0.0.5 or ssh://pi@robot:2222, got {address!r}")
    return Host(address, python)


def _talk(command: Sequence[str], sent: bytes) -> "subprocess.CompletedProcess[bytes]":
    """Run a command as `subprocess.run` does, and end it if it takes too long or prints more than an answer has.

    Of its errors the end is kept. What it left running is no longer read, and ends as it writes. Raises TimeoutExpired.
    """
    out, errors, is_over = bytearray(), bytearray(), Event()
    with TemporaryFile() as packed:
        packed.write(sent)
        packed.seek(0)
        process = subprocess.Popen(command, stdin=packed, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def read(pipe: IO[bytes]) -> None:
        with pipe:
            while not is_over.is_set() and len(out) <= MOST_BYTES and (piece := os.read(pipe.fileno(), PIECE)):
                out.extend(piece)
        if len(out) > MOST_BYTES:
            process.kill()

    def read_end(pipe: IO[bytes]) -> None:
        with pipe:
            while not is_over.is_set() and (piece := os.read(pipe.fileno(), PIECE)):
                errors.extend(piece)
                del errors[:-LONGEST_ERROR]

    readers = [Thread(target=read, args=[process.stdout], daemon=True, name=READER)]
    readers.append(Thread(target=read_end, args=[process.stderr], daemon=True, name=READER))
    for reader in readers:
        reader.start()
    try:
        code = process.wait(MOST_SECONDS)
    finally:
        process.kill()
        process.wait()
        for reader in readers:
            reader.join(SECONDS_TO_CONNECT)
        is_over.set()
    return subprocess.CompletedProcess(command, code, bytes(out), bytes(errors))


def _pack(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def _unpack(data: bytes) -> dict[str, bytes]:
    """Read what came back; nothing of it is written anywhere."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:  # which unpacks no compressed one
            members = [member for member in archive if member.isreg() and not member.issparse()]
            files = ((Path(member.name).name, archive.extractfile(member)) for member in members)
            return {name: file.read() for name, file in files if file}
    except (tarfile.TarError, ValueError, OverflowError) as error:
        raise WorkspaceError(f"the answer of the machine cannot be read ({one_line(error)}); measure again") from None
