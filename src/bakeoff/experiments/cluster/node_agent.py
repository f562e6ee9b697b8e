"""The actor of one job on the node that Ray chose: it starts the job's process, and reports on it until it is over.

Ray sends this class by value, so a node needs no code of ours for it. It imports nothing at the top but the standard
library. An order holds
    mark, token   a file of the workspace that a near node sees, and its content
    near          command, folder, log and environment of the job on such a node
    far           the same for any other node, and how its folder is made; None if the sweep is not prepared for that
"""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

SECONDS_OF_SILENCE = 1.0  # after them an answer comes without news
SECONDS_REPORTS_ARE_KEPT = 7 * 86400.0  # of jobs that never came back
SECONDS_TO_BE_ASKED = 3600.0  # the agent answers so long after the end, for a launcher that comes back
NOT_STARTED = 130  # the exit code of a job that was asked to end before it started
NOT_OF_A_JOB = ("RAY_", "PYTHONPATH")  # variables that Ray sets for its own workers
MOST_AT_ONCE = 8_000_000  # bytes of an answer
SCRATCH = "BAKEOFF_SCRATCH"  # a variable of the node: the folder in which far jobs run
REPORTS = ("runs/*/run", "runs/*/status.json", "results/*.json", "journal/*/target.json")  # small files, replaced whole
GROWING = "journal/*/journal.jsonl"
KEPT = "journal/*/files/*"  # a journal's lines name these files, so they travel before it
UNFINISHED = ".partial"
REPORTS_LINK = "told"  # in a job's folder a link to its reports; in the node's the reports of jobs that were killed


class Agent:
    def __init__(self, order: dict[str, Any]) -> None:
        self._order, self._is_asked, self._error = order, False, ""
        self._process: subprocess.Popen[bytes] | None = None
        self._code: int | None = None
        self._lock, self._over = threading.Lock(), threading.Event()
        self._is_near = _read_text(order["mark"]) == order["token"]
        self._home = Path()  # .bakeoff of a far job's folder, once that is made
        self._log = Path()
        threading.Thread(target=self._work, daemon=True).start()
        threading.Thread(target=self._leave, daemon=True).start()

    def news(self, known: dict[str, Any]) -> dict[str, Any]:
        """Return the state of the job, once it has changed, or after a while; for a far job also its new files.

        `known` has the sizes of files that grow and the times of those that are replaced, by names below .bakeoff.
        """
        until = time.monotonic() + SECONDS_OF_SILENCE
        while True:
            is_over = self._over.wait(0.1)  # read before the files, so that none is missed
            files = [] if self._is_near or self._home == Path() else self._collect_files(known)
            if is_over or files or time.monotonic() > until:
                break
        more = sum(len(content) for _, _, content in files) >= MOST_AT_ONCE
        return {
            "where": socket.gethostname(), "is_near": self._is_near, "is_over": is_over and not more,
            "code": self._code, "error": self._error, "files": files,
        }  # fmt: skip

    def ask(self, number: int) -> None:
        """Send a signal to the job and to all processes that it has started."""
        with self._lock:
            self._is_asked = True
            process = self._process
        if process is not None:
            _signal_session(process.pid, number)

    def stop(self, name: str) -> None:
        """Make a file by which somebody asks a run to stop after its step."""
        if (self._home / name).parent.is_dir():
            (self._home / name).touch()

    def _work(self) -> None:
        # Ray blocks Ctrl-C in its workers' threads, and processes that a thread starts inherit the blocked signals.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        try:
            self._code = self._run(self._order["near"]) if self._is_near else self._run_far(self._order["far"])
        except subprocess.CalledProcessError as error:
            lines = (error.stderr or b"").decode(errors="replace").strip().splitlines()
            self._error = f"git {error.cmd[1]}: {lines[-1] if lines else 'failed'}"
        except Exception as error:  # the launcher gets it, or nobody would know
            self._error = f"{type(error).__name__}: {error}"
        finally:
            self._over.set()

    def _run(self, part: dict[str, Any]) -> int:
        with self._lock:
            if self._is_asked:
                return NOT_STARTED
            with open(part["log"], "ab") as log:
                process = self._process = subprocess.Popen(
                    [sys.executable, *part["command"]], cwd=part["folder"], env=_make_environment(part["environment"]),
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                )  # fmt: skip
        return process.wait()

    def _run_far(self, part: dict[str, Any] | None) -> int:
        if part is None:
            raise RuntimeError("this node does not see the workspace, and the sweep was started for nodes that do")
        scratch = Path(os.environ.get(SCRATCH) or Path.home() / ".cache/bakeoff/far")
        own = scratch / "jobs" / part["name"]
        own.parent.mkdir(parents=True, exist_ok=True)
        self._held = _take_lock(own)
        _remove_abandoned(scratch)
        try:
            folder = _clone(scratch, own / "workspace", part)
            self._home, self._log = folder / ".bakeoff", own / "log"
            _share(scratch, folder, self._home)
            (own / REPORTS_LINK).symlink_to(self._home)
            for name, content in part["files"].items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            _restore_reports(scratch, part["name"], self._home)
            sweep = self._home / "sweeps" / part["sweep"]
            return self._run({
                "command": ["-m", "bakeoff.experiments.cluster.remote_job", str(sweep), *part["arguments"]],
                "folder": str(folder), "log": str(self._log),
                "environment": part["environment"] | {
                    "PYTHONPATH": os.pathsep.join([str(folder / "src"), os.environ.get("PYTHONPATH", "")]).strip(":"),
                    "BAKEOFF_DVC_CACHE": str(scratch / "cache"),
                    "BAKEOFF_BYTECODE": str(scratch / "bytecode"),
                },
            })  # fmt: skip
        except BaseException:
            shutil.rmtree(own, ignore_errors=True)
            raise

    def leave(self) -> None:
        """Remove what the job leaves on this node, and end this process."""
        if self._home != Path():
            own = self._log.parent
            shutil.rmtree(own, ignore_errors=True)
            shutil.rmtree(own.parent.parent / REPORTS_LINK / _find_job(own.name), ignore_errors=True)
        from ray.actor import exit_actor

        exit_actor()

    def _collect_files(self, known: dict[str, Any]) -> list[tuple[str, Any, bytes]]:
        """Return new parts of files: the name, the offset or the time of writing, and the content."""
        grows = [(str(path.relative_to(self._home)), path, 0) for path in sorted(self._home.glob(GROWING))]
        lengths = {name: path.stat().st_size for name, path, _ in grows}  # read before the files that lines name
        files: list[tuple[str, Any, bytes]] = []
        for pattern in REPORTS:
            for path in sorted(self._home.glob(pattern)):
                name, at = str(path.relative_to(self._home)), path.stat().st_mtime_ns
                if known.get(name) != at:
                    files.append((name, at, path.read_bytes()))
        room = MOST_AT_ONCE
        for path in sorted(self._home.glob(KEPT)):
            name, at = str(path.relative_to(self._home)), known.get(str(path.relative_to(self._home)), 0)
            if path.is_file() and not name.endswith(UNFINISHED) and (at < path.stat().st_size or name not in known):
                files.append((name, at, content := _read_part(path, at, room)))
                room -= len(content)
                if room <= 0:
                    return files
        grows.append(("log", self._log, self._order["far"]["log_size"]))
        for name, path, base in grows:
            at = max(known.get(name, base), base)
            if path.is_file() and path.stat().st_size > at - base:
                length = min(room, lengths.get(name, room) - (at - base))
                if content := _read_part(path, at - base, length):
                    files.append((name, at, content))
                    room -= len(content)
        return files

    def _leave(self) -> None:
        """End this process some time after the job, or it would hold Ray's resources for ever."""
        self._over.wait()
        time.sleep(SECONDS_TO_BE_ASKED)
        os._exit(0)


def _clone(scratch: Path, place: Path, part: dict[str, Any]) -> Path:
    """Make the folder of a far job from the git remote, and return the workspace in it."""
    store = scratch / f"{part['repository']}.git"
    with open(scratch / f"{part['repository']}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several jobs of this node come at once
        if not store.is_dir():
            _git("init", "--quiet", "--bare", str(store))
        if subprocess.run(
            ["git", "-C", str(store), "cat-file", "-e", part["snapshot"]], capture_output=True
        ).returncode:
            _git("-C", str(store), "fetch", "--quiet", "--no-tags", part["remote"], f"+{part['ref']}:{part['ref']}")
    _git("clone", "--quiet", "--local", "--no-checkout", "--no-tags", str(store), str(place))
    _git("-C", str(place), "-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", part["snapshot"])
    return place / part["prefix"]


def _share(scratch: Path, folder: Path, home: Path) -> None:
    """Give a job the compiled Python files of earlier ones (experiments/sweep/pycache.py) and sizes of networks."""
    with suppress(OSError):
        shutil.copytree(scratch / "bytecode", folder / "src", dirs_exist_ok=True)
    networks = scratch / "networks"
    networks.mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    (home / "networks").symlink_to(networks)


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True, capture_output=True)


def _take_lock(own: Path) -> IO[str]:
    """Hold a lock beside the folder as long as this process lives."""
    lock = open(own.with_name(f"{own.name}.lock"), "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def _remove_abandoned(scratch: Path) -> None:
    """Remove folders of jobs whose agents are gone. The reports of their runs are kept for the next attempt."""
    for path in (scratch / "jobs").glob("*.lock"):
        with open(path, "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            own = path.with_suffix("")
            _copy_reports(own / REPORTS_LINK, scratch / REPORTS_LINK / _find_job(own.name))
            shutil.rmtree(own, ignore_errors=True)
            path.unlink(missing_ok=True)
    for reports in (scratch / REPORTS_LINK).glob("*"):
        with suppress(OSError):
            if time.time() - reports.stat().st_mtime > SECONDS_REPORTS_ARE_KEPT:
                shutil.rmtree(reports, ignore_errors=True)


def _restore_reports(scratch: Path, name: str, home: Path) -> None:
    """Give a job the reports of its last attempt on this node, unless home has received others since.

    The attempt may have ended, and its training may be in the node's cache, before home received that.
    """
    reports = scratch / REPORTS_LINK / _find_job(name)
    for journal in reports.glob(GROWING):
        received = home / journal.relative_to(reports)
        if received.is_file() and not journal.read_bytes().startswith(received.read_bytes()):
            return
    _copy_reports(reports, home)


def _copy_reports(source: Path, target: Path) -> None:
    for pattern in (*REPORTS, KEPT, GROWING):
        for path in source.glob(pattern):
            if path.is_file() and not path.name.endswith(UNFINISHED):
                place = target / path.relative_to(source)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)


def _find_job(attempt: str) -> str:
    """Return the name of an attempt's job."""
    return attempt.rpartition(".")[0]


def _read_part(path: Path, start: int, length: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(max(0, length))


def _make_environment(given: dict[str, str]) -> dict[str, str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(NOT_OF_A_JOB)}
    path = os.pathsep.join([os.path.dirname(sys.executable), inherited.get("PATH", "")])
    return inherited | given | {"PATH": path, "PYTHONUNBUFFERED": "1"}


def _read_text(file: str) -> str | None:
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError:
        return None


def _signal_session(session: int, number: int) -> None:
    import psutil

    for pid in psutil.pids():
        try:
            if os.getsid(pid) == session:
                os.kill(pid, number)
        except OSError:  # it has just ended
            continue
