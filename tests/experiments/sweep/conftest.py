"""A workspace that no test changes."""

import pytest

from support.workspace_copy import Workspace, tiny_workspace


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a workspace with records and a rendered variant, committed."""
    workspace = tiny_workspace(tmp_path_factory.mktemp("sweep") / "clone")
    workspace.prepare()
    return workspace
