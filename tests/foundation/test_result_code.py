"""One changed line of deciding code: DVC and the fingerprint see it. Of any other: neither does."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from dvc.dependency.base import Dependency
from dvc.repo import Repo

from bakeoff.foundation import result_code
from support.imports import ROOT, SRC
from support.workspace_copy import Workspace

CODE = "src/bakeoff/"
FILES = sorted(
    path.relative_to(SRC).as_posix() for path in SRC.rglob("*") if path.is_file() and "__pycache__" not in path.parts
)
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
DECIDED_BY = {stage: {file.as_posix() for file in result_code.deciding_files(stage)} for stage in result_code.DECIDING}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that holds the code and dvc.yaml."""
    folder = tmp_path_factory.mktemp("code")
    shutil.copytree(SRC, folder / CODE, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "dvc.yaml", folder)
    workspace = Workspace(folder)
    workspace.run("git", "init", "--quiet")
    workspace.run("dvc", "init", "--quiet")
    return folder / CODE


@pytest.fixture(scope="module")
def dependencies(package: Path) -> Iterator[dict[str, Dependency]]:
    """Every path of code that a stage depends on, as DVC knows it after a run."""
    with Repo(package.parents[1]) as repo, repo.lock:
        code = {str(path): path for stage in repo.index.stages for path in stage.deps if str(path).startswith(CODE)}
        for path in code.values():
            path.save()
        yield code


@pytest.mark.long
def test_a_changed_line_runs_the_stages_that_it_decides_and_no_other(
    package: Path, dependencies: dict[str, Dependency], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_code, "PACKAGE", package)
    before, wrong = result_code.deciding_digest("train"), []
    for name in FILES:
        text = (package / name).read_bytes()
        (package / name).write_bytes(text + b"# edited\n")
        holding = [path for path in dependencies if f"{CODE}{name}/".startswith(f"{path}/")]
        changed = {path for path in holding if dependencies[path].status()}
        of_dvc = {stage for stage, block in STAGES.items() if changed & set(block["deps"])}
        of_fingerprint = result_code.deciding_digest("train") != before
        (package / name).write_bytes(text)
        of_table = {stage for stage, files in DECIDED_BY.items() if name in files}
        if of_dvc != of_table or of_fingerprint != ("train" in of_table):
            wrong.append((name, of_dvc, of_table, of_fingerprint))
    assert wrong == []
    assert result_code.deciding_digest("train") == before


def test_what_decides_nothing_is_declared_so() -> None:
    silent = [name for name in FILES if not any(name in files for files in DECIDED_BY.values())]
    wings = {Path(name).parts[0] for name in silent}
    assert wings == {*result_code.ACCOMPANYING_WINGS, *result_code.GROUND, *result_code.DOORS, "stages"}
    assert [name for name in silent if name.startswith("stages/")] == ["stages/__init__.py", "stages/code.py"]
