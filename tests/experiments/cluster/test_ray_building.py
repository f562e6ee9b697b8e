"""Records built on real nodes of Ray: the same bytes for any number of nodes, near and far, whatever is killed."""

import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from support.deadly_jobs import AT_HOME
from support.drawing import encoded, voc, write
from support.extra_packages import extra_packages, python_path
from support.imports import ROOT, SRC
from support.messages import missing_in
from support.ray_cluster import PACKAGES, RayCluster, ray_nodes

pytestmark = pytest.mark.slow
STAGE = [sys.executable, "-m", "bakeoff.stages.build_records"]
OPTION = "kind: pascal_voc\npath: data/raw/set\nmax_side: 60\nshards: {train: 12, validation: 4}\n"
SCENES = 240
RUN = """
import pickle, sys
from pathlib import Path
from bakeoff.experiments.cluster.ray_connection import connect, parse_address
from bakeoff.experiments.cluster.ray_nodes import ask_nodes
from bakeoff.experiments.cluster.ray_tasks import Tasks
from bakeoff.foundation.errors import errors_in_one_line
from support.deadly_jobs import Doubling
with errors_in_one_line(), connect(parse_address("ray")) as ray:
    tasks = Tasks(ray, ask_nodes(ray, Path.cwd()), Path.cwd(), "doubling")
    jobs = [Doubling([number, number + 1], *map(int, sys.argv[1:])) for number in range(0, 20, 2)]
    print(sorted(str(number) for result in tasks.run(jobs) for number in result))
"""


@pytest.fixture(scope="module")
def ray_path() -> str:
    return os.pathsep.join([python_path(extra_packages(PACKAGES)), str(SRC.parent), str(ROOT / "tests")])


@pytest.fixture(scope="module")
def nodes(ray_path: str) -> Iterator[RayCluster]:
    """One node. Tests add others, which they kill again."""
    with ray_nodes(1, python_path=ray_path) as cluster:
        yield cluster


@pytest.fixture
def two_nodes(nodes: RayCluster) -> Iterator[RayCluster]:
    number = nodes.add()
    yield nodes
    nodes.nodes[number].kill()  # unless the test has


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with its own code and a dataset in which a file is broken."""
    folder = tmp_path_factory.mktemp("workspace")
    shutil.copytree(SRC, folder / "src/bakeoff", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "conf", folder / "conf")
    shutil.copy(ROOT / "dvc.yaml", folder)
    for number in range(SCENES):
        write(folder / f"data/raw/set/images/{number}.jpg", encoded(number, width=120, height=90))
        write(folder / f"data/raw/set/annotations/{number}.xml", voc([("cat", 4, 6, 20, 18)], (120, 90)))
    write(folder / "data/raw/set/images/broken.jpg", "no image")
    write(folder / "data/raw/set/annotations/broken.xml", voc([("cat", 4, 6, 20, 18)], (120, 90)))
    (folder / "conf/data/set.yaml").write_text(OPTION, encoding="utf-8")
    lines = (ROOT / "params.yaml").read_text(encoding="utf-8").splitlines()
    params = ["data: {use: set}" if line.startswith("data:") else line for line in lines]
    (folder / "params.yaml").write_text("\n".join(params) + "\n", encoding="utf-8")
    return folder


def begin(folder: Path, nodes: RayCluster | None, *arguments: str) -> "subprocess.Popen[str]":
    shutil.rmtree(folder / "data/records", ignore_errors=True)
    variables = nodes.environment if nodes else {}
    return subprocess.Popen(
        [*STAGE, *arguments], cwd=folder, env=os.environ | variables, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def build(folder: Path, nodes: RayCluster | None, *arguments: str) -> tuple[str, str]:
    """Return a digest of all files of the records, and the output."""
    with begin(folder, nodes, *arguments) as process:
        output, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
    return digest_of(folder), output


def digest_of(folder: Path) -> str:
    content = hashlib.sha256()
    for file in sorted((folder / "data/records").iterdir()):
        content.update(file.name.encode() + file.read_bytes())
    return content.hexdigest()


@pytest.fixture(scope="module")
def expected(folder: Path) -> str:
    return build(folder, None, "--workers", "1")[0]


@pytest.mark.parametrize("workers", [2, 4])
def test_any_number_of_processes_here_makes_the_same_files(workers: int, folder: Path, expected: str) -> None:
    assert build(folder, None, "--workers", str(workers))[0] == expected


def test_one_node_makes_the_same_files(folder: Path, expected: str, nodes: RayCluster) -> None:
    digest, output = build(folder, nodes, "--on", "ray")
    assert digest == expected and output.startswith("build_records: on Ray, 1 node with 1 CPU\n")


@pytest.mark.parametrize("way", ["HOST:PORT", "ray://HOST:PORT"])
def test_two_nodes_make_the_same_files(way: str, folder: Path, expected: str, two_nodes: RayCluster) -> None:
    client = f"ray://{two_nodes.address.split(':')[0]}:{two_nodes.client_port}"
    digest, output = build(folder, two_nodes, "--on", two_nodes.address if way == "HOST:PORT" else client)
    assert digest == expected and output.startswith("build_records: on Ray, 2 nodes with 2 CPUs\n")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may hide a folder from a node")
def test_a_node_that_does_not_see_the_folder_makes_the_same_files(folder: Path, expected: str, ray_path: str) -> None:
    with ray_nodes(0, python_path=ray_path) as nodes:
        nodes.add(hidden=folder)
        digest, output = build(folder, nodes, "--on", "ray")
        assert digest == expected and missing_in(output, "1 node with 1 CPU", "1 of which", "network") == []
        nodes.add()
        digest, output = build(folder, nodes, "--on", "ray")
        assert digest == expected and missing_in(output, "2 nodes with 2 CPUs", "1 of which", "network") == []


@pytest.mark.parametrize("moment", ["checking", "writing"])
def test_the_work_of_a_killed_node_is_done_by_another(
    moment: str, folder: Path, expected: str, two_nodes: RayCluster
) -> None:
    with begin(folder, two_nodes, "--on", "ray") as process:
        wait_for(folder, moment, process)
        two_nodes.nodes[-1].kill()
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
    assert digest_of(folder) == expected


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 75)])
def test_a_signal_ends_the_tasks_and_the_next_build_resumes(
    number: signal.Signals, code: int, folder: Path, expected: str, nodes: RayCluster
) -> None:
    with begin(folder, nodes, "--on", "ray") as process:
        wait_for(folder, "checking", process)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == code and "run the same command again" in errors and "Traceback" not in errors
    until = time.monotonic() + 60
    while tasks := running_tasks(nodes):
        assert time.monotonic() < until, tasks
        time.sleep(0.1)
    assert build(folder, nodes, "--on", "ray")[0] == expected


def test_a_job_that_kills_its_process_is_done_at_home_and_the_others_on_nodes(
    nodes: RayCluster, tmp_path: Path
) -> None:
    code, output, errors = run_jobs(nodes, tmp_path, 7)
    assert code == 0, errors
    expected = str(sorted([*(str(2 * number) for number in range(20) if number != 7), AT_HOME, "7"]))
    assert expected in output.splitlines()  # among Ray's own, on a process that died


def test_an_error_of_a_job_is_reported_as_on_this_machine(nodes: RayCluster, tmp_path: Path) -> None:
    code, _, errors = run_jobs(nodes, tmp_path, -1, 7)
    assert (code, errors) == (2, "data/raw/set/7.jpg: is wrong; mend it\n")


def run_jobs(nodes: RayCluster, folder: Path, *numbers: int) -> tuple[int, str, str]:
    command = [sys.executable, "-c", RUN, *map(str, numbers)]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | nodes.environment, capture_output=True, text=True, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


def wait_for(folder: Path, moment: str, process: "subprocess.Popen[str]") -> None:
    """Return when a build has some verdicts, or its first shard."""
    while process.poll() is None:
        for catalogue in (folder / ".bakeoff/records").glob("*/catalogue.db"):
            if moment == "writing" and list(catalogue.parent.glob("train-*.json")):
                return
            with suppress(sqlite3.Error), closing(sqlite3.connect(catalogue, timeout=10)) as table:
                [count] = table.execute("SELECT COUNT(*) FROM verdicts").fetchone()
                if moment == "checking" and count:
                    return
        time.sleep(0.02)
    raise AssertionError(f"the build was over before it was {moment}")


def running_tasks(nodes: RayCluster) -> list[str]:
    names = []
    for process in [process for node in nodes.nodes for process in node.processes()]:
        with suppress(psutil.Error):
            names += [name for name in process.cmdline()[:1] if name.startswith("ray::call")]
    return names
