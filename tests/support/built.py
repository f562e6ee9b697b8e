"""Records that a test built, read back without TensorFlow (tests/dataset/records/test_wire.py compares the two)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bakeoff.dataset.building.report_data import BuildFindings
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.dataset.records.shards import read_frame, read_frames
from bakeoff.dataset.records.wire import decode_features

Row = dict[str, Any]


class Built:
    def __init__(self, folder: Path, manifest: Manifest, findings: BuildFindings) -> None:
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

    @property
    def report(self) -> dict[str, Any]:
        return json.loads((self.folder / "report.json").read_text(encoding="utf-8"))

    def bytes(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.folder.iterdir())}


Build = Callable[..., Built]
