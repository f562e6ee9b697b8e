"""A sweep on far nodes, of which one is killed: see far_sweeps.py, which does more of it."""

import subprocess
import sys
from pathlib import Path

import pytest

from proofs.faults import far_sweeps


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs mount namespaces")
def test_each_point_is_done_once_with_the_weights_of_a_sweep_here(tmp_path: Path) -> None:
    command = [sys.executable, far_sweeps.__file__, "--points", "8", "--faults", "2", "--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
