"""MLflow's pages of three variants, gone through in a headless Chromium as a user would; it draws docs/'s picture."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.imports import ROOT
from support.workspace_copy import environment


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs the program chromium (Debian's package)")
def test_three_variants_are_in_the_table_can_be_compared_and_have_three_lines_in_a_chart(tmp_path: Path) -> None:
    picture = tmp_path / "mlflow.jpg"
    done = subprocess.run(
        [sys.executable, "docs/images/mlflow.py", str(picture)],
        cwd=ROOT, env=environment(), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert 10_000 < picture.stat().st_size < 300_000
