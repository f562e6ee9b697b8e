"""A build in a workspace of its own."""

from pathlib import Path

import pytest

from bakeoff.records.build import Part, build
from bakeoff.records.dataset import Dataset
from built import Build, Built


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Builds one dataset, or several by name, with one worker unless told otherwise."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)

    def made(*datasets: Dataset, workers: int = 1, out: str = "records", **named: Dataset) -> Built:
        parts = [Part(name, dataset) for name, dataset in named.items()] or [Part("", one) for one in datasets]
        return Built(tmp_path / out, *build(parts, tmp_path / out, workers))

    return made
