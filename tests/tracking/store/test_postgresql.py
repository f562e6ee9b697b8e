"""Two runs at once straight into PostgreSQL. Start one with Debian's packages, and name its address:

apt-get install postgresql && python -m pip install 'psycopg[binary]'
su postgres -c 'createdb mlflow'
BAKEOFF_POSTGRESQL=postgresql://postgres@127.0.0.1/mlflow pytest -m slow tests/tracking/store/test_postgresql.py
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from proofs.faults.tracking_store import contents
from support.imports import ROOT
from support.workspace_copy import environment

URI = os.environ.get("BAKEOFF_POSTGRESQL")
PLAYER = ROOT / "tests/proofs/faults/tracking_player.py"

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not URI, reason="BAKEOFF_POSTGRESQL names no database")]


def test_two_runs_at_once_arrive_whole_in_postgresql(tmp_path: Path) -> None:
    assert URI
    paths = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    variables = environment() | {"PYTHONPATH": paths}
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        (folder / "config").mkdir(parents=True)
        (folder / "config/run.yaml").write_text("seed: 0\n")
    ids = [f"{os.getpid()}{folder.name}" for folder in folders]
    players = [
        subprocess.Popen([sys.executable, str(PLAYER), run_id, "50", "0.002", URI], cwd=folder, env=variables)
        for run_id, folder in zip(ids, folders, strict=True)
    ]
    assert [player.wait() for player in players] == [0, 0]
    sync = "import sys; from bakeoff.tracking.sync.sync_status import sync; sys.exit(not sync(None, print))"
    for folder in folders:
        assert subprocess.run([sys.executable, "-c", sync], cwd=folder, env=variables).returncode == 0
    stored = contents(URI)
    for run_id in ids:
        [run] = stored[run_id]
        assert run["status"] == "FINISHED" and run["number_of_models"] == 3
        assert run["history"]["train/loss"] == [[step, 1 / step] for step in range(1, 51)]
