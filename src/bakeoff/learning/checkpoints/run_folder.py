"""Work in flight: `.bakeoff/runs/<fingerprint>/`, from which an interrupted run resumes.

    1-head/00000532          checkpoints of the first phase, by steps of the run that are done; the two newest stay, the
                             last of each phase, and every one at a multiple of `train.keep_every_steps`
    1-head/best-00000400     weights that scored best; copy-of-best-00000400 holds the same, for every checkpoint after
                             them needs them
    1-head/damaged-00000532  a damaged file that was set aside; the newest four of a run stay
    run                      the run's id, under which its journal and MLflow know it
    identity.json            what the fingerprint is a hash of
    lock                     held while a process trains

A new checkpoint is written by a thread beside training, and the one before stays until the new one is whole.
"""

import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import ArrayLike

from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import write_whole
from bakeoff.foundation.progress import print_line
from bakeoff.learning.checkpoints import checkpoint
from bakeoff.learning.checkpoints.checkpoint import Damaged, Missing
from bakeoff.learning.checkpoints.run_state import Position, RunState
from bakeoff.learning.plan.run_length import format_done

Arrays = Mapping[str, np.ndarray]
NEWEST = 2  # checkpoints that stay
COPY, SET_ASIDE, MOST_SET_ASIDE = "copy-of-", "damaged-", 4  # begin names of files; how many damaged ones stay
SAMPLES, IDENTITY = "samples", "identity.json"  # a folder of sheets; what the fingerprint is a hash of
RUN_ID = re.compile(r"[0-9a-f]{32}")


@dataclass
class SavedState:
    """Where a run resumes: what its newest checkpoint holds, or nothing."""

    position: Position = field(default=Position(0, 0))
    state: RunState = field(default_factory=RunState)
    arrays: Arrays | None = None
    is_over: bool = False  # nothing is left to do

    def hand_over(self) -> Arrays:
        """Return the arrays and let go of them: they are as large as everything that trains."""
        arrays, self.arrays = self.arrays, None
        assert arrays is not None
        return arrays

    def describe(self, steps: int, folder: Path) -> list[str]:
        """Return lines for the screen; none for a run that begins."""
        done = self.position.step
        if done == steps or self.is_over:
            return [f"was trained to its end before, in {folder.as_posix()}; train.fresh: true trains it again"]
        return [f"resumes after step {format_done(done, steps)}, from {folder.as_posix()}"] if done else []


@dataclass(frozen=True)
class CheckpointList:
    """The checkpoints of a run that are there, the newest first."""

    folder: Path  # of the run
    step: int  # of the newest
    newest: Sequence[Path]
    kept: Sequence[Path]  # that stay beyond the newest
    bests: Mapping[Path, Sequence[Path]]  # the best weights that each names, without which nothing resumes from it


class RunFolder:
    def __init__(
        self, folder: Path, phases: list[str], *, fresh: bool = False, keep_every: int = 0, waits: bool = False
    ) -> None:
        """If it `waits`, it is entered once no other process trains in it, and refused otherwise."""
        self.folder, self._keep_every, self._waits = folder, keep_every, waits
        self._folders = [folder / f"{number}-{name}" for number, name in enumerate(phases, start=1)]
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(folder / "lock")
        self._fresh = fresh
        self.slowest_write = 0.0  # seconds of a checkpoint
        self._settle: Callable[[], object] = lambda: None
        self._report: Callable[[CheckpointList], object] = lambda stock: None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint")
        self._pending: list[Future[None]] = []
        self._named: dict[Position, set[Path]] = {}  # best weights, by the checkpoint that names them
        self._at: Position | None = None  # how far this attempt is; a later checkpoint lacks its best weights

    def __enter__(self) -> "RunFolder":
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            if not self._waits:
                raise WorkspaceError(
                    f"{self.folder.as_posix()}: another process trains this variant right now; wait for it or stop it"
                ) from None
            print_line("train: waits, for another process trains this variant right now")
            self._lock.acquire()
        if self._fresh:
            for path in self.folder.iterdir():
                if path.name != "lock":
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        for phase in self._folders:
            phase.mkdir(exist_ok=True)
            for partial in phase.glob(f"*{checkpoint.PARTIAL}"):
                partial.unlink()
        damaged = sorted(self.folder.glob(f"*/{SET_ASIDE}*"), key=lambda file: (number_of(file.parent), file.name[-8:]))
        for file in damaged[:-MOST_SET_ASIDE]:
            file.unlink()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._thread.shutdown(wait=True)
        self._lock.release()
        if isinstance(error, FileNotFoundError) and not any(folder.is_dir() for folder in self._folders):
            raise WorkspaceError(
                f"{self.folder.as_posix()}: was removed while a training worked in it; run the same command again, "
                "which trains from the start"
            ) from None

    @contextmanager
    def followed(self, settle: Callable[[], object], report: Callable[[CheckpointList], object]) -> Iterator[None]:
        """`settle` makes lasting what a checkpoint counts as told; `tell` hears of each, and of the one that is there.

        At the end of the block nothing is being written any more.
        """
        self._settle, self._report = settle, report
        if self._checkpoints(self._at):
            report(self._stock(self._prune()))
        try:
            yield
        finally:
            self._thread.shutdown(wait=True)

    # Checkpoints.

    def newest(self) -> SavedState:
        """Return the newest checkpoint that is whole, along with the best weights that it names.

        A damaged file is set aside under another name. One that cannot be read now is an error, and stays.
        """
        earlier = sorted(self._checkpoints().items())
        while earlier:
            position, path = earlier.pop()
            try:
                saved = read_saved(path, position)
                bests = self._bests_of(saved.state)
                for best in bests:
                    _require_best(best, path.name)
            except Damaged as error:
                then = "resumes from the checkpoint before" if earlier else f"starts over; {self._name_remedy()}"
                print(f"warning: {_set_aside(path, error)}; training {then}", file=sys.stderr)
                continue
            self._at, self._named[position] = position, bests
            ends = [standing.ended_by for standing in saved.state.phases]
            is_last = len(ends) == len(self._folders) or "max_minutes" in ends
            return replace(saved, is_over=is_last and ends[-1] is not None)
        self._at = Position(0, 0)
        return SavedState()

    def _name_remedy(self) -> str:
        brings = f"`bakeoff continue {self.folder.name} --fetch` brings what MLflow has of it"
        return f"no whole checkpoint is left; {brings}"

    def can_resume(self) -> bool:
        """Whether there is a checkpoint, now that no more are to come."""
        self._thread.shutdown(wait=True)
        return bool(self._checkpoints(self._at))

    def save(
        self,
        position: Position,
        state: RunState,
        collect: Callable[[], Mapping[str, ArrayLike]],
        *,
        now: bool,
        check: Callable[[Mapping[str, ArrayLike]], object] = lambda arrays: None,
    ) -> None:
        """Write a checkpoint of the arrays that `collect` returns, beside training. It is left out if the last one is
        still being written, unless it must be there `now`.

        What `check` raises is raised here, or from the call after; then nothing is written.
        """
        while self._pending and self._pending[0].done():
            self._pending.pop(0).result()
        if self._pending and not (now or self._stays(position)):
            return
        if now:
            self.wait()  # before the copy is made, for two of a large network may not fit into memory
        path, arrays = self._folders[position.phase] / f"{position.step:08d}", collect()

        def job() -> None:
            start = time.monotonic()
            check(arrays)
            self._settle()
            checkpoint.write(path, state.as_tree(), arrays)
            self.slowest_write = max(self.slowest_write, time.monotonic() - start)
            self._at, self._named[position] = position, self._bests_of(state)
            self._report(self._stock(self._prune()))

        self._submit(job)
        if now:
            self.wait()

    def adopt(self, other: "RunFolder", saved: SavedState) -> None:
        """A checkpoint of another run as the first of this one, along with the best weights that it names."""
        for path in other._bests_of(saved.state):
            best = _read_best(path)
            _write_best(self.folder / path.relative_to(other.folder), best.facts, best.arrays)
        assert saved.arrays is not None
        self.save(saved.position, saved.state, lambda: saved.arrays or {}, now=True)

    def keep_best(self, position: Position, paths: Mapping[str, str], arrays: Mapping[str, ArrayLike]) -> None:
        """The checkpoint after these weights names them, so they are written before it."""
        path = self._best(position.phase, position.step)
        self._submit(lambda: _write_best(path, {"paths": dict(paths)}, arrays))

    def best(self, position: Position) -> Arrays:
        self.wait()
        return _read_best(self._best(position.phase, position.step)).arrays

    def wait(self) -> None:
        while self._pending:
            self._pending.pop(0).result()

    def _submit(self, job: Callable[[], None]) -> None:
        self._pending.append(self._thread.submit(job))

    def _best(self, phase: int, step: int) -> Path:
        return _best_in(self._folders[phase], step)

    def _checkpoints(self, until: Position | None = None) -> dict[Position, Path]:
        return {at: path for at, path in _list_checkpoints(self._folders).items() if until is None or at <= until}

    def _bests_of(self, state: RunState) -> set[Path]:
        return {self._best(at.phase, at.step) for at in state.bests()}

    def _stays(self, position: Position) -> bool:
        return self._keep_every > 0 and position.step % self._keep_every == 0

    def _prune(self) -> list[Position]:
        """A checkpoint goes along with the best weights that no other names. Returns those that stay.

        What is later than this attempt stays as well, for it is whole but for best weights that it names.
        """
        checkpoints = self._checkpoints(self._at)
        positions = sorted(checkpoints, reverse=True)
        ends = {max(at for at in positions if at.phase == phase) for phase in {at.phase for at in positions}}
        staying = [*positions[:NEWEST], *(at for at in positions[NEWEST:] if at in ends or self._stays(at))]
        for position in positions:
            if position not in staying:
                checkpoints[position].unlink()
        try:
            for position in staying:
                if position not in self._named:
                    self._named[position] = self._bests_of(read_run_state(checkpoints[position]))
        except (Damaged, WorkspaceError):
            return staying  # the best weights that it names are unknown
        named = set().union(*(self._named[position] for position in staying))
        for number, phase in enumerate(self._folders):
            for best in set(phase.glob("best-*[0-9]")) - named:
                if self._at is None or Position(number, int(best.name.rpartition("-")[2])) <= self._at:
                    best.unlink()
                    _copy_of(best).unlink(missing_ok=True)
        return staying

    def _stock(self, staying: Sequence[Position]) -> CheckpointList:
        parts = {self._folders[at.phase] / f"{at.step:08d}": tuple(sorted(self._named.get(at, ()))) for at in staying}
        paths = list(parts)
        return CheckpointList(self.folder, staying[0].step, paths[:NEWEST], paths[NEWEST:], parts)

    @property
    def run_id(self) -> str:
        """One for all attempts at the run; another if a loss of power left none."""
        file = self.folder / "run"
        known = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        if not RUN_ID.fullmatch(known):
            write_whole(file, known := uuid4().hex, lasting=True)
        return known


def find_newest_whole(folder: Path) -> tuple[Position, Path] | None:
    """Return the newest checkpoint of a run that is whole, along with the best weights that it names."""
    phases = sorted(folder.glob("[0-9]*-*"), key=number_of)
    for position, path in sorted(_list_checkpoints(phases).items(), reverse=True):
        try:
            for best in read_saved(path, position).state.bests():
                _read_best(_best_in(phases[best.phase], best.step))
        except Damaged:
            continue
        return position, path
    return None


def find_threads(folder: Path) -> int | None:
    """Return with how many threads in one operation a run was trained so far; None if nothing there says it."""
    phases = sorted(folder.glob("[0-9]*-*"), key=number_of)
    for _, path in sorted(_list_checkpoints(phases).items(), reverse=True):
        with suppress(Damaged):
            return read_run_state(path).threads
    return None


def read_saved(path: Path, position: Position) -> SavedState:
    """Read a checkpoint whole."""
    content = checkpoint.read(path)
    return SavedState(position, _parse_state(content.facts, path), content.arrays)


def read_run_state(path: Path) -> RunState:
    """Read the state that a checkpoint holds, however large its arrays are."""
    return _parse_state(checkpoint.read_facts(path), path)


def _list_checkpoints(phases: Sequence[Path]) -> dict[Position, Path]:
    return {
        Position(number, int(path.name)): path
        for number, phase in enumerate(phases)
        for path in phase.iterdir()
        if path.name.isdecimal()
    }


def _best_in(phase: Path, step: int) -> Path:
    return phase / f"best-{step:08d}"


def _copy_of(best: Path) -> Path:
    return best.with_name(COPY + best.name)


def _write_best(path: Path, facts: Mapping[str, Any], arrays: Mapping[str, ArrayLike]) -> None:
    for file in (_copy_of(path), path):
        checkpoint.write(file, facts, arrays)


def _read_best(path: Path) -> checkpoint.Checkpoint:
    """Read best weights from the first of their two files that is whole."""
    try:
        return checkpoint.read(path)
    except Damaged as error:
        try:
            return checkpoint.read(_copy_of(path))
        except Damaged:
            raise error from None


def _require_best(path: Path, needed_by: str) -> None:
    """Make a file of best weights that is damaged again of the other one. Raises Missing if neither is whole."""
    pair, troubles, whole = (path, _copy_of(path)), list[str](), dict[str, checkpoint.Checkpoint]()
    for file in pair:
        try:
            whole[file.name] = checkpoint.read(file)
        except Damaged as error:
            troubles.append(_set_aside(file, error))
    if not whole:
        raise Missing(f"{troubles[0]}; {needed_by} needs it, and stays")
    name, content = next(iter(whole.items()))
    if troubles:
        print(f"warning: {troubles[0]}; {name} takes its place", file=sys.stderr)
    for file in pair:
        if not file.exists():
            checkpoint.write(file, content.facts, content.arrays)


def _set_aside(path: Path, error: Damaged) -> str:
    """Give the damaged file of an error another name. Return what is to be reported; what is missing has no name."""
    if isinstance(error, Missing):
        return str(error)
    path.replace(path.with_name(SET_ASIDE + path.name))
    return f"{error}, set aside as {SET_ASIDE}{path.name}"


def _parse_state(tree: Mapping[str, Any], path: Path) -> RunState:
    try:
        return RunState.from_tree(tree)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Damaged(f"{path.as_posix()}: damaged ({error!r})") from None


def phase_names(folder: Path) -> list[str]:
    """Names of a run's phases, from the folders of their checkpoints."""
    return [path.name.partition("-")[2] for path in sorted(folder.glob("[0-9]*-*"), key=number_of)]


def number_of(phase: Path) -> int:
    """From 1, of the folder of a phase."""
    return int(phase.name.partition("-")[0])
