"""The package as a team has it: only the wheel, no source on the machine. Three minutes."""

import re
import shutil
import subprocess

import pytest

from proofs.installed.machine import SHORT, Machine
from support.messages import missing_in

pytestmark = pytest.mark.slow
MESSAGE = ("src/bakeoff/foundation/errors.py", "stopped by Ctrl-C;", "ended by Ctrl-C;")
EXPORT = ("src/bakeoff/export/readme.py", '"""', '"""\n# Edited.\n')
NEWER = (
    "pyproject.toml", 'version = "', 'version = "9.',
    "dvc.yaml", "errors by kind", "errors of a kind",
    ".gitignore", ".bakeoff/", ".bakeoff/\ncore.*",
)  # fmt: skip


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    machine = Machine(tmp_path_factory.mktemp("machine"))
    machine.build(first=(), message=MESSAGE, export=EXPORT, newer=NEWER)
    machine.install("first")
    field = machine.make_workspace("field", SHORT)
    machine.add_part(field)
    assert machine.repro(field) == {"code", "build_records", "render_config", "train", "evaluate", "export"}
    machine.commit(field, "The first run")
    return machine


def test_the_code_is_the_wheels(machine: Machine) -> None:
    assert "venv" in machine.ask("-c", "import bakeoff; print(bakeoff.__file__)")
    assert (machine.folder / "venv/bin/bakeoff").is_file() and not (machine.folder / "venv/bin/dvc").exists()


def test_a_version_runs_what_it_changes_and_nothing_else(machine: Machine) -> None:
    field = machine.folder / "field"
    assert machine.repro(field) == {"code"}
    machine.install("message")
    assert machine.repro(field) == {"code"}
    assert machine.run(field, "git", "status", "--porcelain") == ""
    machine.install("export")
    stages = machine.run(field, "bakeoff", "plan").rpartition("stages")[2]
    assert re.findall(r"(\w+) runs", stages) == ["render_config", "export"]
    assert machine.repro(field) == {"code", "render_config", "export"}
    machine.install("first")
    assert machine.repro(field) == {"code", "render_config"}  # the others' results are in DVC's cache


def test_a_colleague_gets_the_results_and_runs_nothing(machine: Machine) -> None:
    machine.install("first")
    field, store = machine.folder / "field", machine.folder / "store"
    machine.run(machine.folder, "git", "init", "--quiet", "--bare", "server.git")
    machine.run(field, "python", "-m", "dvc", "remote", "add", "--quiet", "--default", "store", str(store))
    machine.run(field, "python", "-m", "dvc", "repro")
    machine.commit(field, "Name our store")
    machine.run(field, "python", "-m", "dvc", "push", "--quiet")
    machine.run(field, "git", "push", "--quiet", "../server.git", "HEAD:refs/heads/main")
    machine.run(machine.folder, "git", "clone", "--quiet", "--branch", "main", "server.git", "colleague")
    colleague = machine.folder / "colleague"
    machine.run(colleague, "python", "-m", "dvc", "pull", "--quiet")
    assert machine.repro(colleague) == {"code"}
    assert "SUCCEEDED" in machine.run(colleague, "bakeoff", "compare")


def test_a_run_of_another_version_is_made_again_by_that_version(machine: Machine) -> None:
    field = machine.folder / "field"
    machine.install("export")
    run = next(folder.name for folder in (field / ".bakeoff/journal").iterdir() if folder.is_dir())
    output = machine.run(field, "bakeoff", "reproduce", run, "--until", "render_config", "--install")
    assert "verdict: identical" in output and "environment: " in output
    moved = machine.wheels["first"].rename(machine.folder / "moved.whl")
    shutil.rmtree(machine.folder / "cache")
    words = ("bakeoff", "reproduce", run)
    done = subprocess.run(words, cwd=field, env=machine.variables, capture_output=True, text=True)
    assert done.returncode == 2 and str(machine.wheels["first"]) in done.stderr.splitlines()[-1]
    moved.rename(machine.wheels["first"])


def test_a_newer_version_upgrades_the_workspace_and_an_older_one_refuses_it(machine: Machine) -> None:
    field = machine.folder / "field"
    pipeline = (field / "dvc.yaml").read_text(encoding="utf-8")
    (field / "dvc.yaml").write_text(pipeline.replace("stages:\n", "stages:\n  own:\n    cmd: echo\n"), encoding="utf-8")
    machine.install("newer")
    shown = machine.run(field, "bakeoff", "upgrade")
    assert missing_in(shown, "9.", ".gitignore", "dvc.yaml", "train unchanged", "nothing was written") == []
    assert "a kind" not in (field / "dvc.yaml").read_text(encoding="utf-8")
    machine.run(field, "bakeoff", "upgrade", "--yes")
    upgraded = (field / "dvc.yaml").read_text(encoding="utf-8")
    assert "errors of a kind" in upgraded and "  own:\n" in upgraded
    assert "nothing to write" in machine.run(field, "bakeoff", "upgrade")
    assert machine.repro(field) == {"own", "code"}
    machine.install("first")
    done = subprocess.run(
        ("bakeoff", "status"), cwd=field, env=machine.variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and missing_in(done.stderr, ".dvc/bakeoff.json", "9.") == []
    machine.run(field, "git", "checkout", "--quiet", ".")


def test_a_sweep_and_an_experiment_run_as_in_a_clone(machine: Machine) -> None:
    field = machine.folder / "field"
    machine.run(field, "git", "add", "--all")
    machine.run(field, "bakeoff", "sweep", "--until", "train", "--yes", "lr=cosine,exponential")
    assert machine.run(field, "bakeoff", "compare").count("SUCCEEDED") >= 2
    machine.run(field, "python", "-m", "dvc", "exp", "run", "--temp", "-S", "seed=3")
    assert "seed" in machine.run(field, "python", "-m", "dvc", "exp", "show", "--csv")
