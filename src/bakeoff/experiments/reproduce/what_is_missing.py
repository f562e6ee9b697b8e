"""What the proof lacks, by all that can be known before anything runs."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from bakeoff.experiments.reproduce.maker_environment import Maker
from bakeoff.experiments.reproduce.recorded import NO_COMMIT, Recorded
from bakeoff.experiments.runs.device import THREADS_TAG
from bakeoff.foundation import git
from bakeoff.foundation.git import list_left_out
from bakeoff.learning.plan.run_length import format_done
from bakeoff.tracking.results.measurements import RESUMED_TAG, measured_of
from bakeoff.tracking.sync import system_metrics
from bakeoff.tracking.tracker import CHANGES

DECIDING = ("conf/", "src/", "params.yaml", "dvc.yaml", "data/raw/")  # what stages read besides their own outputs
UNFINISHED = ("PREPARING", "RUNNING", "STOP_REQUESTED", "STOPPING")
PROCESSOR = ("architecture", "processor", "cores", "instructions")  # parts of the tag
SHORT = 12  # characters of a commit or digest


@dataclass(frozen=True)
class Lack:
    """Something that is missing, in words."""

    text: str
    is_fatal: bool = False  # without it nothing can be tried


@dataclass(frozen=True)
class Here:
    """What there is to make a run with."""

    has_commit: bool
    versions: str
    processor: str

    @classmethod
    def now(cls, commit: str | None) -> "Here":
        return cls(commit is not None and git.has_commit(commit), system_metrics.versions(), system_metrics.processor())


def find_lacks(recorded: Recorded, here: Here) -> list[Lack]:
    code = [*_of_code(recorded, here), *_of_maker(recorded)]
    return [*code, *_of_outcome(recorded), *_of_settings(recorded), *_of_machine(recorded, here)]


def _of_code(recorded: Recorded, here: Here) -> Iterator[Lack]:
    commit = recorded.commit
    if commit is None:
        text = "commit: none is known of this run; it was trained outside of git, or is known by its files only"
        yield Lack(text, True)
        return
    if not here.has_commit:
        where = recorded.tags.get("bakeoff.host")
        how = f"`git fetch` from the clone in which it was trained{f', on {where}' if where else ''}"
        yield Lack(f"commit {commit[:SHORT]}: is not in this repository; {how}", True)
    patch, digest = recorded.patch, recorded.patch_sha256
    if patch is None:
        if recorded.is_dirty and digest != NO_COMMIT:
            yield Lack(f"{CHANGES}: missing, and the run had changes that were not committed", True)
        return
    if digest and digest != hashlib.sha256(patch).hexdigest():
        yield Lack(f"{CHANGES}: is cut or was changed, for its SHA-256 is not the one that the run said", True)
    elif recorded.tracked and CHANGES in recorded.tracked.damaged:
        yield Lack(f"{CHANGES}: is cut or was changed, for it is not what the run handed over", True)
    for name in list_left_out(patch):
        yield Lack(f"{name}: was there, but git did not know it, and it was not kept", name.startswith(DECIDING))


def _of_maker(recorded: Recorded) -> Iterator[Lack]:
    """Yield why the bakeoff that made it, if it is not the installed one, cannot be had."""
    maker = Maker.of(recorded.tags)
    if maker is None or maker.is_here or not (why := maker.find_lack()):
        return
    if maker.address is None:
        yield Lack(f"{why}; the installed one runs instead, whose code decides otherwise")
    else:
        yield Lack(why, True)


def _of_outcome(recorded: Recorded) -> Iterator[Lack]:
    state = recorded.state
    if not state.is_known:
        last = recorded.tags.get("bakeoff.state", "")
        if last in (*UNFINISHED, "FAILED", "CANCELED"):
            yield Lack(f"models/train: there is none to compare with, for the run is {last}", True)
        elif not recorded.metrics:
            yield Lack("models/train, models/evaluation: neither is known, so there is nothing to compare with", True)
        else:
            yield Lack("models/train: is not known, so weights cannot be compared, only the metrics")
    elif is_cut_off(recorded):
        how = "stopped by hand" if state.ended_by == "stop" else "ended by train.max_minutes"
        where = f"it was {how} after step {format_done(state.last_step, state.steps)}, which no settings say"
        if recorded.history:
            yield Lack(f"{where}: its history up to there is compared, its weights cannot be")
        else:
            yield Lack(f"{where}, and before the first line of its history, so there is nothing to compare with", True)
    tagged = recorded.tags.get("bakeoff.weights_sha256")
    if state.is_known and tagged and tagged != state.weights_sha256:
        yield Lack("train/state.json: names other weights than the tag bakeoff.weights_sha256; one of them was changed")
    for name in recorded.tracked.damaged if recorded.tracked else ():
        if name != CHANGES:
            yield Lack(f"{name}: is not what the run handed over, so what differs from it may be its own fault")
    if resumed := measured_of(state).get("resumed_at_steps") or recorded.tags.get(RESUMED_TAG, "").split():
        steps = ", ".join(f"{int(step):,}" for step in resumed)
        yield Lack(f"it was interrupted and resumed at step {steps}; made again, it is trained in one go")
    if state.is_known and not recorded.metrics:
        yield Lack("models/evaluation/metrics.json: is not known, so the metrics are not compared")


def is_cut_off(recorded: Recorded) -> bool:
    """Whether a hand or a clock ended it; both are in no config."""
    state = recorded.state
    return state.ended_by in ("stop", "max_minutes") and state.last_step < state.steps


def _of_settings(recorded: Recorded) -> Iterator[Lack]:
    train = recorded.run_yaml.get("train") or {}
    if not recorded.run_yaml:
        yield Lack("models/config/run.yaml: is not known, so it is not compared")
    if recorded.records_digest is None:
        yield Lack("the digest of the records is not known, so they are not compared")
    if train.get("deterministic") is False:
        yield Lack("train.deterministic is false, so no two trainings of it are alike to the bit")


def threads_of(recorded: Recorded) -> int | None:
    """Return with how many threads in one operation the run was trained; None if it did not say so."""
    said = recorded.tags.get(THREADS_TAG, "")
    return int(said) if re.fullmatch(r"[1-9]\d{0,2}", said) else None


def _of_machine(recorded: Recorded, here: Here) -> Iterator[Lack]:
    then = recorded.tags.get("bakeoff.versions")
    if then is None:
        yield Lack("the run did not say its versions of Python, TensorFlow, Keras and NumPy; they may be others here")
    else:
        before, now = _versions(then), _versions(here.versions)
        for name in [*before, *(name for name in now if name not in before)]:
            if before.get(name) != now.get(name):
                yield Lack(f"{name}: was {before.get(name, 'not there')}, is {now.get(name, 'not there')} here")
    then = recorded.tags.get("bakeoff.processor")
    if then is None:
        yield Lack("the run did not say its processor; another one may round in other places")
    else:
        for kind, was, now_is in zip(PROCESSOR, then.split("; "), here.processor.split("; "), strict=False):
            if was != now_is and not (kind == "cores" and threads_of(recorded)):
                yield Lack(f"{kind}: {was} then, {now_is} here; sums may be rounded in other places")


def _versions(text: str) -> dict[str, str]:
    return {name: number for name, _, number in (part.partition(" ") for part in text.split(", "))}
