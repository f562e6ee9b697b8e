"""A build in a workspace of its own, and its records as TensorFlow's Example reads them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bakeoff.records.build import Part, build
from bakeoff.records.dataset import Dataset
from bakeoff.records.manifest import Manifest
from bakeoff.records.report import Findings
from bakeoff.records.tfrecord import read_frame, read_frames
from bakeoff.records.wire import decode_features

Row = dict[str, Any]


class Built:
    def __init__(self, folder: Path, manifest: Manifest, findings: Findings) -> None:
        self.folder, self.manifest, self.findings = folder, manifest, findings

    def rows(self, split: str) -> dict[str, Row]:
        """Features of the split's records, by name."""
        rows = [
            decode_features(read_frame(self.folder / shard.file, *span))
            for shard in self.manifest.splits[split].shards
            for span in read_frames(self.folder / shard.file)
        ]
        return {row["image/filename"][0].decode(): row for row in rows}

    def names(self, split: str) -> list[str]:
        return sorted(self.rows(split))

    def every(self) -> dict[str, Row]:
        return self.rows("train") | self.rows("validation")

    def bytes(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.folder.iterdir())}


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Built]:
    """Builds one dataset, or several by name, with one worker unless told otherwise."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)

    def made(*datasets: Dataset, workers: int = 1, out: str = "records", **named: Dataset) -> Built:
        parts = [Part(name, dataset) for name, dataset in named.items()] or [Part("", one) for one in datasets]
        return Built(tmp_path / out, *build(parts, tmp_path / out, workers))

    return made
