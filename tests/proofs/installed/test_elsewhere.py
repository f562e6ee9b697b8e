"""Slurm, the queue and far nodes of Ray, in a workspace of an installed bakeoff with a part of its own. Ten minutes."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from proofs.faults import slurm
from proofs.installed.machine import Machine
from support.extra_packages import extra_packages
from support.ray_cluster import PACKAGES, RayCluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs mount namespaces"),
]
PEAK, EVERY, STEPS = 0.002, 5, 20
LINES = {
    "data": "data: {use: digits_single, train_examples: 40, validation_examples: 12}",
    "model": "model: {use: cnn_small, width: 0.25, input_size: 32}",
    "lr": f"lr: {{use: halving, peak: {PEAK}, every_steps: {EVERY}}}",
    "train": f"train: {{use: smoke, batch_size: 4, steps: {STEPS}, log_every_steps: 1, validate_every_steps: {STEPS}}}",
}
RATES = [PEAK * 0.5 ** (step // EVERY) for step in range(STEPS)]
ASK = """
import json, bakeoff
print(json.dumps([[rate for _, rate in run.history.series("learning_rate")] for run in bakeoff.runs(recent=99)]))
"""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    machine = Machine(tmp_path_factory.mktemp("machine"), extra_packages("submitit>=1.5"), extra_packages(PACKAGES))
    machine.build(first=())
    machine.install("first")
    field = machine.make_workspace("field", LINES)
    machine.add_part(field)
    assert machine.repro(field) == {"code", "build_records", "render_config", "train", "evaluate", "export"}
    machine.commit(field, "A schedule of our own, and its first run")
    return machine


def sweep(machine: Machine, environment: Mapping[str, str], *words: str) -> set[str]:
    """Run a command that runs jobs; return the digests of installed code and parts by which their results were made."""
    field, before = machine.folder / "field", experiments(machine)
    done = subprocess.run(
        ("bakeoff", *words), cwd=field, env=machine.variables | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made = experiments(machine) - before
    assert len(made) == 2, done.stdout
    return {machine.run(field, "git", "show", f"{ref}:models/code.yaml") for ref in made}


def experiments(machine: Machine) -> set[str]:
    refs = machine.run(machine.folder / "field", "git", "for-each-ref", "--format=%(refname)", "refs/exps").split()
    return {ref for ref in refs if len(ref.split("/")) == 5}


def require_part_trained(machine: Machine, digests: set[str]) -> None:
    """What came back was made by the code and the part that are here, and the part set the rate of each step."""
    assert digests == {(machine.folder / "field/models/code.yaml").read_text(encoding="utf-8")}
    rates = json.loads(machine.run(machine.folder / "field", "python", "-c", ASK))
    assert len(rates) == 1 + len(experiments(machine)) and all(one == pytest.approx(RATES) for one in rates), rates


@pytest.mark.skipif(slurm.why_not() is not None, reason=f"Slurm {slurm.why_not()}")
def test_slurm_runs_a_sweep_and_the_queue(machine: Machine, tmp_path: Path) -> None:
    with slurm.Slurm(tmp_path / "slurm") as cluster:
        own = {"SLURM_CONF": cluster.environment["SLURM_CONF"]}
        partition = ("hydra.launcher.partition=high",)
        digests = sweep(machine, own, "sweep", "seed=1,2", "--yes", "--on", "slurm", *partition)
        require_part_trained(machine, digests)
        machine.run(machine.folder / "field", "bakeoff", "queue", "add", "seed=3,4", "--yes")
        digests = sweep(machine, own, "queue", "start", "--on", "slurm")
        require_part_trained(machine, digests)


def test_the_queue_runs_here(machine: Machine) -> None:
    machine.run(machine.folder / "field", "bakeoff", "queue", "add", "seed=5,6", "--yes")
    require_part_trained(machine, sweep(machine, {}, "queue", "start"))
    assert "empty" in machine.run(machine.folder / "field", "bakeoff", "queue")


@pytest.fixture
def far(machine: Machine) -> Iterator[RayCluster]:
    """A node that does not see the workspace, which has remotes that both see."""
    field = machine.folder / "field"
    machine.run(machine.folder, "git", "init", "--quiet", "--bare", "server.git")
    machine.run(field, "git", "remote", "add", "origin", "../server.git")
    machine.run(field, "python", "-m", "dvc", "remote", "add", "--default", "store", str(machine.folder / "store"))
    machine.commit(field, "Name our remotes")
    cluster = RayCluster(machine.variables, machine.python)
    try:
        cluster.add(1, hidden=field)
        yield cluster
    finally:
        cluster.kill()


def test_a_part_travels_to_a_far_node(machine: Machine, far: RayCluster) -> None:
    digests = sweep(machine, far.environment, "sweep", "seed=7,8", "--yes", "--on", "ray")
    require_part_trained(machine, digests)
    part = machine.folder / "field/parts/halving.py"
    text = part.read_text(encoding="utf-8")
    part.write_text(text.replace("0.5 **", "0.25 **"), encoding="utf-8")  # not committed
    digests = sweep(machine, far.environment, "sweep", "seed=9,10", "--yes", "--on", "ray", "--until", "train")
    assert digests.isdisjoint({(machine.folder / "field/models/code.yaml").read_text(encoding="utf-8")})
    part.write_text(text, encoding="utf-8")
