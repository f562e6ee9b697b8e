"""How much faster two nodes of Ray build records than one, each with a core of its own.

    python benchmarks/ray_records.py                        # 6,000 images of 640x480, 0.4 GB; five pairs
    python benchmarks/ray_records.py --images 2000 --pairs 3
    python benchmarks/ray_records.py --share 0.45           # as root: each node gets 45 % of a core

The head of the cluster does no work. All processes of a node keep to one core of this machine. The command itself, with
the catalogue, runs on any core: beside two nodes on a machine of two cores it has none of its own, which it has beside
one. With `--share` both leave it a core, as machines of their own do. One node and two are timed in turn, and the
median of the ratios is printed: other work on the machine hits both of a pair.

    whole      python -m bakeoff.stages.build_records --on ray, from its start to its end
    images     the same without what it takes for the first 64 images: Python, the connection to Ray, processes on nodes
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil
from records import new_workspace, write_images

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.extra_packages import extra_packages, python_path  # noqa: E402
from support.ray_cluster import PACKAGES, RayCluster, ray_nodes  # noqa: E402

STAGE = [sys.executable, "-m", "bakeoff.stages.build_records", "--on", "ray"]
FEW = 64
PERIOD = 20_000  # microseconds; after its share of them a node pauses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=6000)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--share", type=float, help="of a core, that each node gets at most")
    arguments = parser.parse_args()
    path = os.pathsep.join([python_path(extra_packages(PACKAGES)), str(ROOT / "src")])
    ratios: dict[str, list[float]] = {"whole": [], "images": []}
    with tempfile.TemporaryDirectory() as folder:
        few, many = new_workspace(Path(folder) / "few"), new_workspace(Path(folder) / "many")
        write_images(few / "data/raw/images", FEW, (640, 480))
        write_images(many / "data/raw/images", arguments.images, (640, 480))
        print(f"{'nodes':>5} {'whole s':>8} {'images s':>8}   load of the machine")
        for _ in range(arguments.pairs):
            slow, fast = (measure(few, many, cpus, path, arguments.share) for cpus in ((0, 1), (0, 1, 1)))
            for name, values in ratios.items():
                values.append(slow[name] / fast[name])
    for name, values in ratios.items():
        print(
            f"{name}: two nodes are {statistics.median(values):.2f} times as fast, "
            f"{min(values):.2f} to {max(values):.2f}"
        )


def keep_apart(nodes: RayCluster, share: float | None) -> None:
    """Let each working node have a core, and its processes that start later with it, or only a share of one."""
    below = [process for node in nodes.nodes for process in node.processes()]
    raylets = sorted((one for one in below if one.name() == "raylet"), key=psutil.Process.create_time)
    cores = sorted(os.sched_getaffinity(0))
    for number, (core, raylet) in enumerate(zip(cores, raylets[1:], strict=False)):
        group = make_group(f"ray_records_{os.getpid()}_{number}", share) if share else None
        for process in (raylet, *raylet.children(recursive=True)):
            with suppress(psutil.Error, ProcessLookupError):
                process.cpu_affinity([core])
                if group:
                    (group / "cgroup.procs").write_text(str(process.pid))


def make_group(name: str, share: float) -> Path:
    """Make a control group (version 1) whose processes together get that share of a core."""
    group = Path("/sys/fs/cgroup/cpu") / name
    group.mkdir(exist_ok=True)
    (group / "cpu.cfs_period_us").write_text(str(PERIOD))
    (group / "cpu.cfs_quota_us").write_text(str(round(share * PERIOD)))
    return group


def measure(few: Path, many: Path, cpus: tuple[int, ...], path: str, share: float | None) -> dict[str, float]:
    with ray_nodes(*cpus, python_path=path) as nodes:
        keep_apart(nodes, share)
        start, whole = build(few, nodes), build(many, nodes)
    print(f"{len(nodes.nodes) - 1:5} {whole:8.1f} {whole - start:8.1f}   {os.getloadavg()[0]:.1f}", flush=True)
    return {"whole": whole, "images": whole - start}


def build(workspace: Path, nodes: RayCluster) -> float:
    """Return how many seconds it takes."""
    shutil.rmtree(workspace / "data/records", ignore_errors=True)
    started = time.perf_counter()
    subprocess.run(STAGE, cwd=workspace, env=os.environ | nodes.environment, capture_output=True, check=True)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
