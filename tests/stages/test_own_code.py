"""A run uses the code that it was started from, wherever the package is installed from."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.imports import ROOT
from support.messages import missing_in
from support.workspace_copy import Workspace, environment, tiny_workspace

SAY_WHERE = 'print("this code:", __file__)\n\nif __name__ == "__main__":'


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return tiny_workspace(tmp_path / "clone")


def test_the_package_is_installed_from_another_workspace() -> None:
    """Else the tests below would show nothing."""
    done = subprocess.run(
        [sys.executable, "-c", "import bakeoff; print(bakeoff.__file__)"],
        cwd="/", env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert Path(done.stdout.strip()).is_relative_to(ROOT)


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="needs prlimit")
def test_compiled_code_that_did_not_fit_on_the_disk_is_not_kept(tmp_path: Path) -> None:
    """Python by itself keeps a part, and every later import of it ends in "marshal data too short"."""
    (tmp_path / "large.py").write_text("\n".join(f"value_{number} = {number}.5" for number in range(9_000)))

    def import_it(*words: str, limit: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        command = [*limit, sys.executable, "-c", "; ".join(f"import {word}" for word in words)]
        return subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)

    assert import_it("bakeoff", "large", limit=("prlimit", "--fsize=20000")).returncode == 0
    assert list(tmp_path.rglob("*.pyc*")) == []
    assert import_it("bakeoff", "large").returncode == 0 and len(list(tmp_path.rglob("*.pyc"))) == 1


def test_a_stage_runs_the_code_of_the_workspace_that_it_stands_in(workspace: Workspace) -> None:
    workspace.edit("src/bakeoff/stages/build_records.py", 'if __name__ == "__main__":', SAY_WHERE)
    workspace.edit(
        "src/bakeoff/dataset/sources/synthetic_digits.py",
        "return [str(digit) for digit in range(10)]",
        'return list("abcdefghij")',
    )
    done = workspace.run("python", "-m", "bakeoff.stages.build_records", ok=False)
    assert f"this code: {workspace.folder / 'src/bakeoff/stages/build_records.py'}" in done.stdout
    assert "KeyError: '" in done.stderr  # a digit drawn by its old label, so the edited table was in use


def test_a_temporary_experiment_runs_its_own_code(workspace: Workspace) -> None:
    """With an edit that was never committed, as `dvc exp run` carries it along."""
    workspace.edit("src/bakeoff/stages/build_records.py", 'if __name__ == "__main__":', SAY_WHERE)
    printed = workspace.run("dvc", "exp", "run", "--temp", "build_records").stdout
    [place] = re.findall(r"^this code: (.*)/src/bakeoff/stages/build_records.py$", printed, re.MULTILINE)
    assert Path(place).is_relative_to(workspace.folder / ".dvc/tmp/exps")


def test_an_experiment_keeps_the_code_of_its_start_when_the_main_workspace_changes(workspace: Workspace) -> None:
    """The main workspace's code is broken while the experiment's own is right."""
    own = Workspace(workspace.folder.parent / "elsewhere")
    workspace.run("git", "worktree", "add", "--quiet", "--detach", str(own.folder))
    workspace.edit("src/bakeoff/stages/build_records.py", '"""data/raw', 'raise SystemExit("wrong code")\n"""data/raw')
    done = subprocess.run(
        [sys.executable, "-m", "bakeoff.stages.build_records"], cwd=own.folder,
        env=environment() | {"DVC_ROOT": str(workspace.folder)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (own.folder / "data/records/manifest.json").is_file()


def test_a_stage_refuses_the_code_of_another_workspace(workspace: Workspace) -> None:
    code = (
        "import bakeoff, os, sys; os.chdir(sys.argv[1]); "
        "from bakeoff.foundation import workspace; from bakeoff.foundation.errors import errors_in_one_line\n"
        "with errors_in_one_line(): workspace.require_own_code()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(workspace.folder)], cwd="/", env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 2
    assert missing_in(done.stderr, f"{ROOT / 'src/bakeoff'}: ", str(workspace.folder)) == []
