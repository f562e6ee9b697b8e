"""What `make` says and shows while it sets up the environment."""

import os
import shutil
import subprocess
import sys

import pytest

from imports import ROOT

SIZES = {"": "0.9 GB to download, 3.4 GB on disk", "1": "3.7 GB to download, 7.1 GB on disk"}
LOCKS = {"": ("requirements.lock", ".venv/ready"), "1": ("requirements-gpu.lock", ".venv/ready-gpu")}
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="GPUs are for Linux")


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("uv", ["", "uv 0.9"])
@pytest.mark.parametrize("gpu", ["", pytest.param("1", marks=ON_LINUX)])
def test_setting_up_says_how_much_it_is_and_shows_its_progress(uv: str, gpu: str) -> None:
    lock, ready = LOCKS[gpu]
    words = ["make", "-n", "-W", lock, f"UV={uv}", f"GPU={gpu}", ready]
    own = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}  # not of a make that tests
    lines = subprocess.run(words, cwd=ROOT, env=own, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0] == f'echo "setting up .venv: about {SIZES[gpu]}; later calls find it ready"'
    [install] = [line for line in lines if f"--requirement {lock}" in line]
    assert "--quiet" not in install and install.startswith("uv pip" if uv else ".venv/")


def test_the_readme_says_the_same_sizes() -> None:
    assert "The set-up downloads 0.9 GB and takes 3.4 GB on disk" in (ROOT / "README.md").read_text(encoding="utf-8")
