"""A reader who types a how-to page from its first line to its last, in one clone.

Commands run in a shell as they stand. A block that begins with keys of params.yaml is written there, each key in the
place of the one that is there. What a reader has before he begins, and what he types in the place of a name that is
only an example, belongs to the test of the page.
"""

import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from support.doc_blocks import COMMANDS, Block, blocks_of
from support.workspace_copy import Workspace, environment

KEYS = re.compile(r"(experiment|data|model|memory|lr|optimizer|train|evaluate|export|track|seed): ?", re.ASCII)
WATCHING = 15  # seconds, after which a reader has seen enough and types Ctrl-C
# What cannot be typed here: whole pages, and commands by how they begin. Each says why, or who or what runs it.
ELSEWHERE = {
    "colab.md": "cells of Google Colab",
    "container.md": "needs a container engine; tests/test_container.py reads its files",
    "index.md": "a list of the pages",
    "install.md": "tests/proofs/installed/test_wheel.py installs a wheel",
    "troubleshooting.md": "a table of symptoms",
    "several-machines.md": "needs a cluster; tests/proofs/faults/test_far_sweeps.py has one",
    "make": "sets up an environment; every workflow of .github begins with it",
    ". .venv/bin/activate": "this test's environment is active",
    "sudo": "installs what this machine has",
    "wsl": "is of Windows",
    "xcode-select": "is of macOS",
    "edgetpu_compiler": "Google's, for x86-64; nobody has had it here",
    "nvidia-smi": "is of a machine with a GPU",
    "pip install": "installs what this machine has, or has not",
    "bakeoff weights get": "needs a network; tests/importing/weights/ fetch from a mirror",
    "bakeoff sweep 'seed=range(0,8)' --on ray": "needs a cluster; tests/proofs/faults/test_far_sweeps.py has one",
}


class Reader:
    def __init__(self, home: Path, clone: Path, shorter: Mapping[str, Any], names: Mapping[str, str]) -> None:
        """`shorter` are values of params.yaml that he adds to every block, so that his trainings take seconds."""
        self.home, self.clone, self.shorter, self.names = home, clone, shorter, names
        self.here, self.typed, self.left_out = clone, list[str](), list[str]()

    def read(self, page: str, before: Mapping[str, Callable[["Reader"], None]]) -> None:
        """Type a page; `before` has what else is done before a line."""
        for block in blocks_of(page):
            if block.language in COMMANDS:
                for line in commands_of(block):
                    if line in before:
                        before[line](self)
                    self.type(line)
            elif block.language in ("yaml", "text") and KEYS.match(block.text):
                self.write_params(yaml.safe_load(block.text))

    def type(self, line: str) -> None:
        if any(line == start or line.startswith(f"{start} ") for start in ELSEWHERE):
            self.left_out.append(line)
            return
        for name, value in self.names.items():
            line = line.replace(name, value)
        line = self._replace_runs(line)
        watches = "--watch" in line
        script = f"{line}\npwd > {shlex.quote(str(self.home / 'here'))}"
        process = subprocess.Popen(
            ["bash", "-ec", script], cwd=self.here, env=environment() | {"HOME": str(self.home), "COLUMNS": "120"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
        try:
            output, _ = process.communicate("yes\n" * 9, timeout=WATCHING if watches else 900)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGINT)  # the shell and what it waits for
            output, _ = process.communicate()
            assert watches, f"{line}\n{output}"
            return
        assert process.returncode == 0, f"{line}\n{output}"
        self.here = Path((self.home / "here").read_text(encoding="utf-8").strip())
        self.typed.append(line)

    def write_params(self, lines: Mapping[str, Any]) -> None:
        path = self.here / "params.yaml"
        params = yaml.safe_load(path.read_text(encoding="utf-8")) | dict(lines)
        for group, values in self.shorter.items():
            entry = params[group] if isinstance(params[group], dict) else {"use": params[group]}
            params[group] = entry | values
        path.write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")

    def runs(self) -> list[str]:
        """Return the short names of the runs of the clone, the newest first."""
        status = Workspace(self.here).run("bakeoff", "status", "--all", "--json")
        return [run["run_id"][:8] for run in json.loads(status.stdout)["runs"] if run["run_id"]]

    def _replace_runs(self, line: str) -> str:
        if not (words := re.findall(r"\b(?:RUN|OTHER|a1b2c3d4)\b", line)):
            return line
        runs = self.runs()
        for word, run in zip(dict.fromkeys(words), [*runs, runs[-1]], strict=False):
            line = re.sub(rf"\b{word}\b", run, line)
        return line


def commands_of(block: Block) -> list[str]:
    """Return the lines of a block that are typed."""
    return [line[2:] for line in block.text.splitlines() if line.startswith("$ ")]


def zip_folder(folder: Path, archive: Path) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["python", "-m", "zipfile", "-c", str(archive), *map(str, folder.iterdir())], check=True)


def git(*words: str, folder: Path) -> None:
    subprocess.run(["git", *words], cwd=folder, env=environment() | dict(os.environ), check=True, capture_output=True)
