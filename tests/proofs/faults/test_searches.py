"""Searches through real DVC stages, which compute a quadratic. Ten minutes."""

import random
import sys

import pytest

from proofs.faults.searches import best, killed_search, points, search
from support.quadratic import prepared
from support.workspace_copy import Workspace

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals"),
]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return prepared(tmp_path_factory.mktemp("searches") / "clone")


def test_a_search_that_is_killed_draws_on_as_if_nothing_had_happened(workspace: Workspace) -> None:
    """The last three of thirteen depend on the results of the others."""
    whole = points(search(workspace, "tpe", 13, 0, 1))
    assert len({point for point, _ in whole}) == 13
    assert points(killed_search(workspace, 13, 0, 3, random.Random(1))) == whole


def test_tpe_comes_as_near_as_random_points_do(workspace: Workspace) -> None:
    tpe, random_ones = (search(workspace, kind, 16, 3, 2) for kind in ("tpe", "random"))
    assert 1.0 >= best(tpe) >= best(random_ones) > 0.8
