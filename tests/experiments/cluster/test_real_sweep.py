"""A sweep on a real cluster of Ray whose two nodes see the workspace."""

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from proofs.faults.sweep_checks import experiments, manifests
from proofs.faults.sweeps import prepared
from support.extra_packages import extra_packages, python_path
from support.messages import missing_in
from support.ray_cluster import PACKAGES, RayCluster, ray_nodes
from support.workspace_copy import Workspace, environment

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayCluster]:
    with ray_nodes(1, 1, python_path=python_path(extra_packages(PACKAGES))) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return prepared(tmp_path_factory.mktemp("near") / "clone")


def sweep(workspace: Workspace, nodes: RayCluster, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "bakeoff", "sweep", *arguments], cwd=workspace.folder, text=True,
        env=environment() | nodes.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def test_jobs_run_on_the_nodes_and_a_new_launcher_finds_them(workspace: Workspace, nodes: RayCluster) -> None:
    arguments = ("--on", "ray", "--until", "render_config", "seed=range(1,4)")
    launcher = sweep(workspace, nodes, *arguments)
    while not list((workspace.folder / ".bakeoff/sweeps").glob("*/1.log")):  # its job has begun
        assert launcher.poll() is None
        time.sleep(0.1)
    launcher.kill()
    launcher.communicate()
    again = sweep(workspace, nodes, "--resume")
    output, _ = again.communicate()
    assert again.returncode == 0, output
    [manifest] = manifests(workspace)
    assert [job["state"] for job in manifest["jobs"]] == ["done"] * 3 and manifest["place"] == "ray"
    assert len(manifest["jobs"][0]["attempts"]) == 1  # the launcher's end cost it nothing
    assert experiments(workspace) == [f"{manifest['id']}-{number}" for number in (1, 2, 3)]


def test_a_job_that_no_node_could_hold_is_refused_with_what_there_is(workspace: Workspace, nodes: RayCluster) -> None:
    command = (
        "from bakeoff.experiments.cluster.ray_backend import ray_place\nfrom dataclasses import replace\n"
        "from bakeoff.experiments.sweep.sweep_manifest import find_manifest\n"
        "job = replace(find_manifest(None).job(1), memory_bytes=10**15)\n"
        "with ray_place('ray') as place: print(place.refuses(job))"
    )
    done = subprocess.run(
        [sys.executable, "-c", command],
        cwd=workspace.folder,
        env=environment() | nodes.environment,
        capture_output=True,
        text=True,
    )
    assert missing_in(done.stdout, "1000000.0 GB of memory", "no node") == [], done.stderr
    assert done.stdout.count(" has 1 CPUs, 0 GPUs and ") == 2


def test_a_cluster_that_does_not_answer_costs_nothing(workspace: Workspace, nodes: RayCluster) -> None:
    launcher = sweep(workspace, nodes, "--on", "127.0.0.9:1", "--until", "render_config", "seed=range(9,11)")
    output, _ = launcher.communicate()
    assert launcher.returncode == 2 and "--on 127.0.0.9:1: no Ray cluster answers" in output
