"""An empty workspace, and its page on a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.asking import Page, served


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a workspace in which one stands."""
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data/raw").mkdir(parents=True)
    (tmp_path / "conf/data").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def page(folder: Path) -> Iterator[Page]:
    with served() as page:
        yield page
