"""Whatever a disk made of the files of a stopped training, it resumes to the same bits, and is listed.

Half of the attempts resume: a real training of three phases that was killed at its eighth step of nine. The others read
status, journal and results as commands do.
"""

import io
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, suppress
from functools import partial
from pathlib import Path
from random import Random

from proofs.attacks.campaign import Attempt, Campaign, Wrong
from proofs.attacks.damage_bytes import damage
from support.imports import ROOT

RUN, FINGERPRINT = "0f" * 16, "a1" * 8
IN_RUN, NEWEST = Path(".bakeoff/runs", FINGERPRINT), Path("2-all/00000007")  # a run's folder, a checkpoint in it
COMMANDS = (
    ["status"], ["status", "--json"], ["status", FINGERPRINT], ["track", "status", "--all"], ["sweep", "list"],
    ["clean"], ["stop", FINGERPRINT],
)  # fmt: skip
PASSING = ("lock", "writing", "running", "stop_requested")  # names of files that come and go
Content = dict[str, bytes]


def attempts(randoms: Iterable[Random], folder: Path) -> Iterator[Attempt]:
    from bakeoff.foundation.tf_loading import load_tensorflow

    load_tensorflow()
    from bakeoff.tracking.sync import sync_status

    sync_status.start_sender = lambda key: None  # which would outlive the attempt
    _train_to_the_end(folder / "uninterrupted")
    expected = (folder / "uninterrupted/digests").read_text()
    first = folder / "first"
    _make_stopped_training(first)
    os.chdir(folder)
    for number, random in enumerate(randoms):
        place = folder / str(number)
        shutil.copytree(first, place)
        os.chdir(place)
        resumes = random.random() < 0.5
        files = _choose_files(place / IN_RUN if resumes else place, random)
        hows = [f"{file.relative_to(place)}: {_damage_or_remove(file, random)}" for file in files]
        act = partial(resume, files, expected) if resumes else partial(read, random.choice(COMMANDS), files)
        yield Attempt(f"{'resume' if resumes else 'read'}; {'; '.join(hows)}", act)
        os.chdir(folder)
        shutil.rmtree(place)


def _choose_files(below: Path, random: Random) -> list[Path]:
    files = sorted(file for file in below.rglob("*") if file.is_file() and file.name not in PASSING)
    files = [file for file in files if ".bakeoff" in file.parts or file.name == "state.json"]
    return random.sample(files, random.choice((1, 1, 1, 2, 3)))


def _damage_or_remove(file: Path, random: Random) -> str:
    if random.random() < 0.15:
        file.unlink()
        return "removed"
    return damage(file, random)


def resume(damaged: list[Path], expected: str) -> None:
    """Resume the training. Nothing that is whole is lost before, and it ends in the weights of an uninterrupted one."""
    from bakeoff.learning.checkpoints.run_folder import RunFolder, find_newest_whole
    from support.kitchen import digests, noisy

    kitchen, said = noisy(IN_RUN), io.StringIO()
    gone = [file for file in damaged if not file.exists()]
    before = _read_whole(IN_RUN, damaged)
    newest = find_newest_whole(IN_RUN)
    with redirect_stderr(said), RunFolder(IN_RUN, [phase.span.name for phase in kitchen.phases]) as work:
        saved = work.newest()
    if newest and newest[0] != saved.position:
        raise Wrong(f"resumes at {saved.position}, and {newest[0]} is whole")
    if lost := before.items() - _read_whole(IN_RUN, []).items():
        raise Wrong(f"lost {sorted(name for name, _ in lost)}")
    is_earlier = saved.position.step < int(NEWEST.name) and not any(file.name == NEWEST.name for file in gone)
    if is_earlier and "warning: " not in said.getvalue():
        raise Wrong(f"resumes after step {saved.position.step} without a word")
    kitchen.bake()
    if " ".join(digests(kitchen)) != expected:
        raise Wrong(f"other weights after a resume at {saved.position}")


def read(words: list[str], damaged: list[Path]) -> None:
    """List runs and stop one. Nothing that is whole is lost."""
    from bakeoff.app import cli
    from bakeoff.learning.checkpoints.trained_state import read_state

    before = _read_whole(Path(), damaged)
    try:
        read_state(Path("models/train"))
        sys.argv = ["bakeoff", *words]
        cli.main()
    finally:
        now = set(_read_whole(Path(), []).values())
        if lost := [name for name, content in before.items() if not _is_kept(name, content, now)]:
            raise Wrong(f"{' '.join(words)}: lost {lost}")


def _is_kept(name: str, content: bytes, now: set[bytes]) -> bool:
    """A journal may have more lines, and a status be another one; checkpoints and results stay as they are."""
    return content in now or name.endswith(("status.json", "journal.jsonl"))


def _read_whole(folder: Path, damaged: list[Path]) -> Content:
    apart = {file.absolute() for file in damaged}
    files = (file for file in folder.rglob("*") if file.is_file() and ".bakeoff" in file.absolute().parts)
    chosen = (file for file in files if file.name not in PASSING and file.absolute() not in apart)
    return {file.as_posix(): file.read_bytes() for file in chosen}


def _train_to_the_end(folder: Path) -> None:
    from support.kitchen import digests, noisy

    kitchen = noisy(folder)
    kitchen.bake()
    (folder / "digests").write_text(" ".join(digests(kitchen)))


def _make_stopped_training(folder: Path) -> None:
    from bakeoff.experiments.runs.run_status import State
    from bakeoff.learning.checkpoints.run_folder import find_newest_whole
    from bakeoff.learning.checkpoints.run_state import Position
    from bakeoff.learning.checkpoints.trained_state import TrainedLineage, TrainedState, write_state
    from bakeoff.tracking.store.target import SyncProgress, Target
    from support.kitchen import Interrupted, noisy
    from support.made_runs import NOBODY, made
    from support.run_journals import scores, write_run

    (folder / "models/train").mkdir(parents=True)
    (folder / "dvc.yaml").touch()
    shutil.copytree(ROOT / "conf", folder / "conf")
    shutil.copy(ROOT / "params.yaml", folder)
    os.chdir(folder)
    made(Path(".bakeoff/runs"), FINGERPRINT, State.RUNNING, ago=3600, process=NOBODY)
    kitchen = noisy(IN_RUN)
    with suppress(Interrupted):
        kitchen.bake(interrupt_at=9)
    assert find_newest_whole(IN_RUN) == (Position(1, 7), IN_RUN / NEWEST)
    (IN_RUN / "run").write_text(RUN)
    (IN_RUN / "identity.json").write_text('{"seed": 1, "derived": {"phases": []}}\n')
    write_state(Path("models/train"), TrainedState(state="STOPPED", lineage=TrainedLineage(fingerprint=FINGERPRINT)))
    journal = write_run(RUN, scores(0.5), {"bakeoff.fingerprint": FINGERPRINT}, state=None)
    lines = journal.folder / "journal.jsonl"
    SyncProgress(run=RUN).move(lines, lines.stat().st_size).write(journal.folder, Target("local", "bakeoff"))
    Path(".bakeoff/results").mkdir()
    Path(".bakeoff/results", f"{FINGERPRINT}.json").write_text('{"seconds": 12.5, "run_id": "' + RUN + '"}\n')
    Path(".bakeoff/durations.jsonl").write_text('{"what": "step", "seconds": 0.1}\n' * 5)


CAMPAIGN = Campaign(400, attempts, idle_seconds=20.0)
