"""The compositions and multiruns of this project with the next Hydra and OmegaConf, which are not released yet."""

import os
import subprocess
import sys

import pytest

from support.extra_packages import extra_packages, python_path
from support.imports import ROOT

NEXT = ("--pre", "hydra-core>=1.4.0rc1,<1.5", "omegaconf>=2.4.0rc1,<2.5")
TESTS = ("tests/config/compose", "tests/experiments/sweep/test_hydra_app.py")
OF_HYDRA = "ignore:hydra.utils.instantiate:UserWarning"  # where Hydra itself calls what it deprecates


@pytest.mark.slow
def test_the_next_hydra_composes_and_sweeps_the_same(tmp_path: object) -> None:
    variables = os.environ | {"PYTHONPATH": python_path(extra_packages(*NEXT))}
    version = subprocess.run(
        [sys.executable, "-c", "import hydra, omegaconf; print(hydra.__version__, omegaconf.__version__)"],
        env=variables, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert version.startswith("1.4.") and " 2.4." in version
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-W", OF_HYDRA, f"--basetemp={tmp_path}/next", *TESTS]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    print(version, done.stdout)
    assert done.returncode == 0, done.stdout
