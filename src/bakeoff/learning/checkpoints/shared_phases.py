"""Phases that another run has trained alike: an edit of a phase keeps the phases before it.

A phase is decided by all that the run's fingerprint is a hash of, except the phases after it. A run without work of its
own begins where the longest row of phases ends that it shares with a run in `.bakeoff/runs/`.
"""

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bakeoff.foundation.files import read_json
from bakeoff.learning.checkpoints.checkpoint import Damaged
from bakeoff.learning.checkpoints.run_folder import IDENTITY, SAMPLES, RunFolder, phase_names, read_saved
from bakeoff.learning.checkpoints.run_state import Position
from bakeoff.learning.checkpoints.trained_state import TakenFrom
from bakeoff.learning.input.record_reader import BAD_RECORDS

KEYS_OF_PHASES = ("phases", "steps", "epochs", "trainable")  # of `train`
WHOLE = ("steps", "early_stopping")  # the ways in which a phase ends with nothing left to do


def take_earlier_phases(work: RunFolder, identity: Mapping[str, Any]) -> list[str]:
    """Adopt into `work`, which has nothing yet, the end of the last phase that another run shares.

    Return what is to be reported.
    """
    mine: dict[str, Any] = json.loads(json.dumps(identity))
    names = [span["name"] for span in mine["derived"]["phases"]]
    if len(names) < 2:
        return []
    others = {
        folder: read_json(folder / IDENTITY)  # nothing of a folder that is no run's
        for folder in sorted(work.folder.parent.iterdir())
        if folder != work.folder
    }
    for count in range(len(names) - 1, 0, -1):
        wanted = _what_decides(mine, count)
        for folder, other in others.items():
            if other and _what_decides(other, count) == wanted and _adopt(work, folder, count):
                which = f"phase {names[0]} is" if count == 1 else f"phases {', '.join(names[:count])} are"
                return [f"{which} taken from {folder.as_posix()}, where the same was trained already"]
    return []


def _what_decides(identity: Mapping[str, Any], count: int) -> dict[str, Any] | None:
    """Return all that has a say in the first `count` phases; None of a run without phases, or with fewer."""
    train, spans = identity["train"], identity["derived"]["phases"]
    if len(train["phases"]) < max(2, count):  # a single phase has no name in the history
        return None
    apart = {key: value for key, value in train.items() if key not in KEYS_OF_PHASES}
    phases = [
        [span, phase["lr"], phase["trainable"] or train["trainable"], phase["start"], phase.get("quantize", False)]
        for span, phase in zip(spans[:count], train["phases"], strict=False)
    ]
    # Each phase of a rendered variant has its own `lr`.
    rest = {key: value for key, value in identity.items() if key not in ("train", "lr", "derived")}
    numbers = {key: value for key, value in identity["derived"].items() if key != "phases"}
    return rest | {"train": apart, "derived": numbers, "phases": phases}


def _adopt(work: RunFolder, folder: Path, count: int) -> bool:
    """Return whether the other run has the end of its first `count` phases, and all that goes with it."""
    if (folder / BAD_RECORDS).is_file():  # nobody knows in which phase it left them out
        return False
    names = phase_names(folder)
    ends = sorted(file for file in (folder / f"{count}-{names[count - 1]}").glob("*") if file.name.isdecimal())
    if not ends:
        return False
    try:
        step = int(ends[-1].name)
        saved = read_saved(ends[-1], Position(count - 1, step))
        if len(saved.state.phases) != count or saved.state.phases[-1].ended_by not in WHOLE:
            return False
        _copy_samples(folder, work.folder, step)
        lent = (*saved.state.lent, TakenFrom(folder.name, step))
        work.adopt(RunFolder(folder, names), replace(saved, state=replace(saved.state, lent=lent)))
    except Damaged as error:
        print(f"warning: {error}; nothing is taken from that run", file=sys.stderr)
        return False
    return True


def _copy_samples(there: Path, here: Path, step: int) -> None:
    """Copy the sheets of the validation passes up to a step."""
    (here / SAMPLES).mkdir(exist_ok=True)
    for sheet in (there / SAMPLES).glob("*.jpg"):
        if sheet.stem.isdecimal() and int(sheet.stem) <= step:
            shutil.copyfile(sheet, here / SAMPLES / sheet.name)
