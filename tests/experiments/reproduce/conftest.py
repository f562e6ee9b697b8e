"""The workspace of `repository.py`, and standing in it."""

from pathlib import Path

import pytest

from bakeoff.foundation import dvc
from support.repository import repository_in


@pytest.fixture
def commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of the workspace that the test stands in; DVC, which takes a second to say where its cache is, is not asked."""
    (tmp_path / "clone").mkdir()
    monkeypatch.chdir(tmp_path / "clone")
    monkeypatch.setattr(dvc, "answer", lambda *words, folder: str(folder / ".dvc/cache"))
    return repository_in(Path.cwd())
