"""Whose weights a run starts from: others' by the `about.yaml` beside them, a run's own by its `state.json`.

    [{"name": "ssd_mobilenet_v2_320x320_coco17_tpu-8", "licence": "Apache-2.0", "data": "COCO 2017", "verified": false,
      "sha256": "77ab…"}, {"run": "1356d7d31e99a84a", "data": "600 examples of 10 classes", "steps": 2000}]

The oldest comes first; each was trained on from the one before it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.config.weight_card import FILES, read_card, require_licence, require_whole_files
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.foundation.errors import ConfigError
from bakeoff.foundation.files import load_json, write_whole
from bakeoff.learning.checkpoints.trained_state import STATE, TakenFrom, TrainedLineage, TrainedState, find_published
from bakeoff.learning.run_file.settings import LearningRun
from bakeoff.learning.training.start import RunStart

FILE = "lineage.json"  # in the folder of a run's work
IMAGENET = {"name": "imagenet", "page": "Keras Applications", "licence": "Apache-2.0", "data": "ImageNet (ILSVRC 2012)"}

Lineage = list[dict[str, Any]]


def lineage_of(weights: str, path: Path | None, digest: str) -> Lineage:
    """`weights` is what the variant calls them, `path` their file, or the prefix of a checkpoint."""
    if path is None:
        return [] if weights == "none" else [dict(IMAGENET)]
    if (state := path.parent / STATE).is_file():
        done = TrainedState.from_tree(_read_json(state))
        own = done.lineage.own or {"run": done.lineage.fingerprint or "not known", "data": None}
        return [*starts_of(done), {**own} if done.step is None else {**own, "steps": done.step}]
    if (work := path.parent.parent / FILE).is_file():
        return [*_read_json(work)["starts"], _read_json(work)["own"]]
    require_licence(path, "train.init.weights")
    require_whole_files(path)
    card = read_card(path)
    card.pop(FILES, None)
    card.pop("came_from", None)  # which may be a folder or server that is nobody else's business
    return [{"name": weights, "licence": None, "data": None} | card | {"digest": digest}]


@dataclass(frozen=True)
class Ancestry:
    """What a run started from, and what it adds for those that start from its weights."""

    starts: Lineage
    own: dict[str, Any]

    @classmethod
    def of(
        cls, run: LearningRun, manifest: Manifest, start: RunStart, teacher: Mapping[str, Any] | None = None
    ) -> "Ancestry":
        """Return the ancestry of a run. One that continues another has what the other started from."""
        origin, count = start.origin, len(manifest.classes)
        if start.parent:
            starts = starts_of_work(start.parent.folder)
        else:
            starts = lineage_of(run.train.init.weights, origin.path, origin.digest)
        data = f"{run.derived.train_examples:,} examples of {count} {'class' if count == 1 else 'classes'}"
        own = {"run": start.fingerprint, "data": data, "records": manifest.digest}
        return cls(starts, own | ({"teacher": teacher} if teacher else {}))

    @property
    def in_words(self) -> str:
        return in_words(self.starts) + describe_teacher(self.own)

    @property
    def licences(self) -> list[str]:
        return licences_of(self.starts, self.own)

    def keep(self, folder: Path) -> None:
        """Write it into the folder of the run's work."""
        text = json.dumps({"starts": self.starts, "own": self.own}, indent=1) + "\n"
        write_whole(folder / FILE, text, lasting=True)

    def remarks(self) -> list[str]:
        """Return a line for the screen; none for random weights."""
        return [f"  {self.in_words}"] if self.starts or "teacher" in self.own else []

    def describe(self, source: str, digest: str, parents: tuple[TakenFrom, ...]) -> TrainedLineage:
        """Return what the state of the training holds of it; in words, too, for the stages that come after."""
        return TrainedLineage(
            fingerprint=self.own["run"],
            started_from=source,
            first_weights=digest,
            parents=parents,
            starts=tuple(self.starts),
            own=self.own,
            trained_from=self.in_words,
            licences=tuple(self.licences),
        )


def starts_of_work(folder: Path) -> Lineage:
    """Return what the run in a folder of work started from."""
    if (folder / FILE).is_file():
        return list(_read_json(folder / FILE)["starts"])
    return [{"name": f"whatever run {folder.name[:8]} started from", "licence": None, "data": None}]


def starts_of(state: TrainedState) -> Lineage:
    """Return what a finished run started from, also of one from before more was kept than a name."""
    lineage = state.lineage
    if lineage.starts is not None:
        return list(map(dict, lineage.starts))
    source = lineage.started_from or "none"
    return [] if source == "none" else [{"name": source, "licence": None, "data": None}]


def licences_of(starts: Lineage, own: Mapping[str, Any] | None = None) -> list[str]:
    """Return the licences of all weights that others have published; `not known` among them."""
    return list(dict.fromkeys(one.get("licence") or "not known" for one in find_published(starts, own)))


def in_words(starts: Lineage) -> str:
    return "; then ".join(map(_describe, starts)) or "random weights"


def _describe(one: Mapping[str, Any]) -> str:
    if "run" in one:
        steps = f"{one['steps']:,} steps on " if "steps" in one else ""
        return f"run {one['run'][:8]}: {steps}{one.get('data') or 'data that is not known'}{describe_teacher(one)}"
    sure = "" if one.get("verified") is not False else ", not verified"
    data = one.get("data") or "data that is not known"
    return f"{one['name']}, trained on {data}, licence {one.get('licence') or 'not known'}{sure}"


def describe_teacher(own: Mapping[str, Any]) -> str:
    """Return what a run that had a teacher adds to what it started from."""
    if (teacher := own.get("teacher")) is None:
        return ""
    return f"; taught by run {teacher['run']} (from {in_words(teacher['starts'])})"


def _read_json(file: Path) -> dict[str, Any]:
    try:
        return load_json(file)
    except ValueError:
        raise ConfigError(f"{file.as_posix()}: cannot be read; copy the folder of the run again") from None
