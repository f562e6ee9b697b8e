"""Connections to real clusters of Ray on this machine, of two nodes with addresses of their own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.extra_packages import extra_packages, python_path
from support.imports import SRC
from support.ray_cluster import PACKAGES, RayCluster, ray_nodes

pytestmark = pytest.mark.slow
ASK = """
import sys
from pathlib import Path
from bakeoff.experiments.cluster.ray_connection import connect, parse_address
from bakeoff.experiments.cluster.ray_nodes import ask_nodes, require_fitting
from bakeoff.foundation.errors import errors_in_one_line
with errors_in_one_line():
    with connect(parse_address(sys.argv[1])) as ray:
        nodes = ask_nodes(ray, Path.cwd())
        require_fitting(nodes)
        for node in nodes:
            print(node.address, node.cpus, node.sees_workspace)
"""


@pytest.fixture(scope="module")
def ray_path() -> str:
    return os.pathsep.join([python_path(extra_packages(PACKAGES)), str(SRC.parent)])


@pytest.fixture(scope="module")
def nodes(ray_path: str) -> Iterator[RayCluster]:
    with ray_nodes(1, 1, python_path=ray_path) as cluster:
        yield cluster


def ask(folder: Path, environment: dict[str, str], address: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", ASK, address],
        cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("way", ["ray", "HOST:PORT", "ray://HOST:PORT"])
def test_each_kind_of_address_reaches_both_nodes(way: str, nodes: RayCluster, tmp_path: Path) -> None:
    client = f"ray://{nodes.address.split(':')[0]}:{nodes.client_port}"
    address = {"ray": "ray", "HOST:PORT": nodes.address, "ray://HOST:PORT": client}[way]
    code, output, errors = ask(tmp_path, nodes.environment, address)
    assert (code, sorted(output.splitlines())) == (0, ["127.0.0.2 1.0 True", "127.0.0.3 1.0 True"]), errors


def test_the_name_alone_makes_a_cluster_where_there_is_none(ray_path: str, nodes: RayCluster, tmp_path: Path) -> None:
    fresh = nodes.environment | {"RAY_ADDRESS": "local", "PYTHONPATH": ray_path}
    code, output, errors = ask(tmp_path, fresh, "ray")
    assert code == 0 and output.endswith(" True\n") and output.count("\n") == 1, errors


def test_nodes_that_differ_are_refused_by_name_and_dead_ones_left_out(
    nodes: RayCluster, ray_path: str, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    (other / "numpy-1.0.dist-info").mkdir(parents=True)
    described = "Metadata-Version: 2.1\nName: numpy\nVersion: 1.0\n"
    (other / "numpy-1.0.dist-info/METADATA").write_text(described, encoding="utf-8")
    nodes.add(1, {"PYTHONPATH": os.pathsep.join([str(other), ray_path])})
    code, _, errors = ask(tmp_path, nodes.environment, "ray")
    assert code == 2 and "(127.0.0.4, node " in errors and "numpy 1.0 there, " in errors, errors
    nodes.nodes[2].kill()
    code, output, errors = ask(tmp_path, nodes.environment, "ray")
    assert (code, output.count(" True\n")) == (0, 2), errors


def test_what_a_dead_cluster_left_is_refused_at_once(ray_path: str, tmp_path: Path) -> None:
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray/ray_current_cluster").write_text("127.0.0.9:9", encoding="utf-8")
    code, _, errors = ask(tmp_path, {"RAY_TMPDIR": str(tmp_path), "PYTHONPATH": ray_path}, "ray")
    assert code == 2 and "--on 127.0.0.9:9: no Ray cluster answers" in errors and "`ray stop` clears" in errors
