"""The bakeoff command in a workspace of its own, which holds no results yet."""

from pathlib import Path

import pytest

from support.commands import Bakeoff


@pytest.fixture
def bakeoff(here: Path, bakeoff: Bakeoff) -> Bakeoff:
    return bakeoff
