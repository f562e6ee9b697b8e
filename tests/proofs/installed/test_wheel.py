"""The package as a team has it: only the wheel, no source on the machine. Three minutes.

Its dependencies are those of this environment, so that nothing is downloaded.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from support.imports import ROOT
from support.messages import missing_in

pytestmark = pytest.mark.slow
SHORT = {
    "data": "data: {use: digits, train_examples: 16, validation_examples: 8}", "model": "model: {use: ssd_tiny}",
    "train": "train: {use: smoke}",
}  # fmt: skip
MESSAGE = ("src/bakeoff/foundation/errors.py", "stopped by Ctrl-C;", "ended by Ctrl-C;")
EXPORT = ("src/bakeoff/export/readme.py", '"""', '"""\n# Edited.\n')
NEWER = (
    "pyproject.toml", 'version = "', 'version = "9.',
    "dvc.yaml", "errors by kind", "errors of a kind",
    ".gitignore", ".bakeoff/", ".bakeoff/\ncore.*",
)  # fmt: skip


class Machine:
    """An environment without the source, and folders of a team's."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._environment = folder, folder / "venv"
        self.wheels: dict[str, Path] = {}
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self._environment], check=True)
        packages = Path(self.ask("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        # A path in such a file is searched, but its own such files, among them the editable install's, are not read.
        (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")

    @property
    def variables(self) -> dict[str, str]:
        own = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        path = os.pathsep.join([str(self._environment / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        return own | {"PATH": path, "XDG_CACHE_HOME": str(self.folder / "cache")}

    def ask(self, *words: str) -> str:
        return self.run(self.folder, str(self._environment / "bin/python"), *words)

    def run(self, folder: Path, *words: str) -> str:
        done = subprocess.run(words, cwd=folder, env=self.variables, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def install(self, wheel: str) -> None:
        words = ("uv", "pip", "install", "--quiet", "--no-deps", "--reinstall", "--python")
        subprocess.run([*words, self._environment / "bin/python", self.wheels[wheel]], check=True)

    def repro(self, folder: Path) -> set[str]:
        """Return the stages that a plain `dvc repro` runs."""
        return set(re.findall(r"Running stage '(\w+)'", self.run(folder, "python", "-m", "dvc", "repro")))


def build(source: Path, wheels: Path, *edit: str) -> Path:
    """Return a wheel of a clone, with a text replaced once in each of some files for it: file, old, new, file, …"""
    before = {}
    for file, old, new in zip(edit[::3], edit[1::3], edit[2::3], strict=True):
        before[source / file] = text = (source / file).read_text(encoding="utf-8")
        assert old in text
        (source / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    words = ("uv", "build", "--quiet", "--wheel", "--no-build-isolation", "--out-dir")
    subprocess.run([*words, wheels, "."], cwd=source, check=True)
    for path, text in before.items():
        path.write_text(text, encoding="utf-8")
    [wheel] = wheels.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    machine = Machine(tmp_path_factory.mktemp("machine"))
    source = machine.folder / "source"
    subprocess.run(["git", "clone", "--quiet", ROOT, source], check=True)
    for name, edit in {"first": (), "message": MESSAGE, "export": EXPORT, "newer": NEWER}.items():
        machine.wheels[name] = build(source, machine.folder / name, *edit)
    shutil.rmtree(source)
    machine.install("first")
    machine.run(machine.folder, "bakeoff", "init", "--example", "field")
    params = machine.folder / "field/params.yaml"
    text = params.read_text(encoding="utf-8")
    for group, line in SHORT.items():
        text = re.sub(f"(?m)^{group}:.*$", line, text)
    params.write_text(text, encoding="utf-8")
    for words in (("add", "--all"), ("commit", "--quiet", "-m", "Begin")):
        machine.run(machine.folder / "field", "git", *words)
    assert machine.repro(machine.folder / "field") == {
        "code", "build_records", "render_config", "train", "evaluate", "export",
    }  # fmt: skip
    for words in (("add", "--all"), ("commit", "--quiet", "-m", "The first run")):
        machine.run(machine.folder / "field", "git", *words)
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
    for words in (("add", "--all"), ("commit", "--quiet", "-m", "Name our store")):
        machine.run(field, "git", *words)
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
