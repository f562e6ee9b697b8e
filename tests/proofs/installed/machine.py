"""A team's machine: an environment with the wheel, no source, and folders of the team's.

Its dependencies are those of this environment, so that nothing is downloaded.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from support.imports import ROOT
from test_recipes import read_blocks

SHORT = {
    "data": "data: {use: digits, train_examples: 16, validation_examples: 8}", "model": "model: {use: ssd_tiny}",
    "train": "train: {use: smoke}",
}  # fmt: skip


class Machine:
    """An environment without the source, and folders of a team's."""

    def __init__(self, folder: Path, *more: Path) -> None:
        """`more` are folders of other packages that it has."""
        self.folder, self._environment = folder, folder / "venv"
        self.wheels: dict[str, Path] = {}
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self._environment], check=True)
        packages = Path(self.ask("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        # A path in such a file is searched, but its own such files, among them the editable install's, are not read.
        places = [str(place) for place in (sysconfig.get_path("purelib"), *more)]
        (packages / "dependencies.pth").write_text("\n".join(places) + "\n", encoding="utf-8")

    @property
    def python(self) -> str:
        return str(self._environment / "bin/python")

    @property
    def variables(self) -> dict[str, str]:
        own = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        path = os.pathsep.join([str(self._environment / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        return own | {"PATH": path, "XDG_CACHE_HOME": str(self.folder / "cache")}

    def ask(self, *words: str) -> str:
        return self.run(self.folder, self.python, *words)

    def run(self, folder: Path, *words: str) -> str:
        done = subprocess.run(words, cwd=folder, env=self.variables, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def install(self, wheel: str) -> None:
        words = ("uv", "pip", "install", "--quiet", "--no-deps", "--reinstall", "--python")
        subprocess.run([*words, self.python, self.wheels[wheel]], check=True)

    def repro(self, folder: Path) -> set[str]:
        """Return the stages that a plain `dvc repro` runs."""
        return set(re.findall(r"Running stage '(\w+)'", self.run(folder, "python", "-m", "dvc", "repro")))

    def build(self, **edits: tuple[str, ...]) -> None:
        """Build a wheel for each name, with texts replaced for it; then the source is gone."""
        source = self.folder / "source"
        subprocess.run(["git", "clone", "--quiet", ROOT, source], check=True)
        self.wheels |= {name: build(source, self.folder / name, *edit) for name, edit in edits.items()}
        shutil.rmtree(source)

    def make_workspace(self, name: str, lines: dict[str, str]) -> Path:
        """Make a workspace with the demo's data and lines of params.yaml, and commit it."""
        self.run(self.folder, "bakeoff", "init", "--example", name)
        params = self.folder / name / "params.yaml"
        text = params.read_text(encoding="utf-8")
        for group, line in lines.items():
            text = re.sub(f"(?m)^{group}:.*$", line, text)
        params.write_text(text, encoding="utf-8")
        self.commit(self.folder / name, "Begin")
        return self.folder / name

    def add_part(self, folder: Path) -> None:
        """Write the guide's schedule, and an option for it, into a workspace."""
        for name, text in read_blocks("a learning-rate schedule"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")

    def commit(self, folder: Path, message: str) -> None:
        self.run(folder, "git", "add", "--all")
        self.run(folder, "git", "commit", "--quiet", "-m", message)


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
