"""The files that all checkpoints of a network share in MLflow, made once for each network and kept on this machine.

.bakeoff/networks/opened-5d1c…/      named by the network's settings, the code that builds it, and the libraries
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from filelock import FileLock

from bakeoff.foundation.result_code import deciding_digest
from bakeoff.foundation.versions import library_version
from bakeoff.foundation.workspace import facts, main_workspace
from bakeoff.learning.networks import NETWORKS
from bakeoff.tracking.journal.entries import NetworkEntry, dump_fields
from bakeoff.tracking.journal.journal import entries_of
from bakeoff.tracking.sync import make_network_files
from bakeoff.tracking.sync.make_network_files import LAYOUT

LONGEST_S = 300.0
LIBRARIES = ("tensorflow", "keras")
NOTHING_KNOWN = "its journal is of an earlier version, which did not keep how its network is built"


class NetworkFiles:
    """Those of the run that a journal is of."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self.recipe: NetworkEntry | None = None
        self._folder: Path | None = None
        self.trouble = ""  # why there are none; this process does not try again

    def find_or_make(self) -> Path | None:
        """Return the folder; None if there are no such files."""
        if self._folder or self.trouble:
            return self._folder
        for entry in entries_of(self._journal, NetworkEntry):
            self.recipe = entry  # the last one counts
        if self.recipe is None:
            self.trouble = NOTHING_KNOWN
            return None
        folder = folder_of(self.recipe)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_suffix(".lock")):
            if not (folder / LAYOUT).is_file():
                self.trouble = _make(self.recipe, folder)
        self._folder = None if self.trouble else folder
        return self._folder

    @property
    def takes_clips(self) -> bool:
        return self._task == "video"

    @property
    def answers(self) -> str:
        """Return the kind of answers, as a model that was exported has it."""
        assert self.recipe
        if self._task == "detection":
            return "detection"
        return "several labels" if self.recipe.multi_label else "one label"

    @property
    def _task(self) -> str:
        assert self.recipe
        return NETWORKS[self.recipe.model["kind"]].task


def folder_of(recipe: NetworkEntry) -> Path:
    """Return where the files of a network are, or will be."""
    code = hashlib.sha256(Path(make_network_files.__file__).read_bytes()).hexdigest()
    libraries = [library_version(name) for name in LIBRARIES]
    content = "\n".join([_format(recipe), code, deciding_digest("export"), *libraries])
    return facts() / f"opened-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def _make(recipe: NetworkEntry, folder: Path) -> str:
    """Make the files in a process of its own, for this one does without TensorFlow; return why it failed."""
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "-1"}  # training has the GPUs
    try:
        done = subprocess.run(
            [sys.executable, "-m", make_network_files.__name__, str(folder)],
            input=_format(recipe), cwd=main_workspace(), env=environment, capture_output=True, text=True,
            timeout=LONGEST_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"its network was not built in {LONGEST_S:.0f} s"
    except OSError as error:
        return f"no process could be started ({error})"
    lines = done.stderr.strip().splitlines() or [f"the process ended with {done.returncode}"]
    return lines[-1] if done.returncode else ""


def _format(recipe: NetworkEntry) -> str:
    return json.dumps(dump_fields(recipe))
