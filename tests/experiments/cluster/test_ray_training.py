"""Two workers on two real nodes of Ray train as two of one machine do, also when a node is killed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from proofs.faults.kills import curve
from proofs.faults.workers import anew, rendered, trained
from support.extra_packages import extra_packages, python_path
from support.imports import ROOT, SRC
from support.messages import missing_in
from support.ray_cluster import PACKAGES, RayCluster, ray_nodes
from support.workspace_copy import Workspace, environment

pytestmark = pytest.mark.slow
STAGE = [sys.executable, "-m", "bakeoff.stages.train"]
STEPS = 60


def begin(workspace: Workspace, nodes: RayCluster, on: str) -> "subprocess.Popen[str]":
    variables = environment() | nodes.environment | {"BAKEOFF_ON": on}
    return subprocess.Popen(
        STAGE, cwd=workspace.folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_two_nodes_train_the_weights_of_two_workers_here_also_after_a_node_is_killed(tmp_path: Path) -> None:
    path = os.pathsep.join([python_path(extra_packages(PACKAGES)), str(SRC.parent), str(ROOT / "tests")])
    workspace = rendered(tmp_path / "two", 2, steps=STEPS)
    expected = trained(workspace)
    with ray_nodes(2, 1, python_path=path) as nodes:
        anew(workspace)
        with begin(workspace, nodes, "ray") as process:
            output, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
        assert missing_in(output, "train: 2 workers", "Ray", "127.0.0.") == [] and "several" not in output
        assert (workspace.state()["weights_sha256"], curve(workspace)) == expected
        anew(workspace)
        with begin(workspace, nodes, nodes.address) as process:
            wait_for_checkpoint(workspace, process)
            nodes.nodes[1].kill()
            output, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
        assert missing_in(output, "workers begin again", "checkpoint") == []
        assert missing_in(output, "train: 2 workers", "Ray, several", "there are 1") == []
        assert (workspace.state()["weights_sha256"], curve(workspace)) == expected
        with begin(workspace, nodes, f"ray://127.0.0.2:{nodes.client_port}") as process:
            _, errors = process.communicate(timeout=600)
        assert process.returncode == 2 and missing_in(errors, "--on ray://127.0.0.2:", "HOST:PORT") == []


def wait_for_checkpoint(workspace: Workspace, process: "subprocess.Popen[str]") -> None:
    while not list((workspace.folder / ".bakeoff/runs").glob("*/*-*/[0-9]*[0-9]")):
        assert process.poll() is None
        time.sleep(0.05)
