"""docs/notebooks/ run from their first cell to their last, one after the other, in a workspace of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.extra_packages import extra_packages, python_path
from support.imports import ROOT
from support.workspace_copy import environment

FOLDER = ROOT / "docs/notebooks"
ORDER = ("photographs", "sweep", "errors")  # the first makes the folder of the others
PACKAGES = ("ipykernel", "nbclient", "nbconvert")
RUN = """
import sys, nbclient, nbformat
book = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(book, timeout=800, kernel_name="python3").execute()
nbformat.write(book, sys.argv[2])
"""


def read(file: Path) -> dict[str, Any]:
    book: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return book


def outputs(book: dict[str, Any]) -> str:
    """Return all that the cells show, in the richest form that each has."""
    shown = [output for cell in book["cells"] for output in cell.get("outputs", [])]
    return json.dumps([output.get("data", output.get("text", "")) for output in shown])


@pytest.mark.parametrize("name", ORDER)
def test_a_notebook_in_git_has_no_outputs_and_names_the_next_step(name: str) -> None:
    book = read(FOLDER / f"{name}.ipynb")
    assert book["cells"][0]["cell_type"] == "markdown" and book["cells"][0]["source"][0].startswith("# ")
    assert [cell for cell in book["cells"] if cell.get("outputs")] == []
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {*ORDER}


@pytest.mark.slow
def test_the_notebooks_run_and_show_tables_curves_and_pictures(tmp_path: Path) -> None:
    variables = environment() | {
        "BAKEOFF_NOTEBOOK": str(tmp_path / "workspace"), "PYTHONPATH": python_path(extra_packages(*PACKAGES)),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"), "IPYTHONDIR": str(tmp_path / "ipython"),
    }  # fmt: skip
    done = Path(os.environ.get("BAKEOFF_NOTEBOOKS_OUT") or tmp_path)
    for name in ORDER:
        command = [sys.executable, "-c", RUN, str(FOLDER / f"{name}.ipynb"), str(done / f"{name}.ipynb")]
        ran = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr[-3000:]
    shown = {name: outputs(read(done / f"{name}.ipynb")) for name in ORDER}
    assert shown["photographs"].count("<svg") >= 2 and shown["photographs"].count("data:image/jpeg") >= 4
    assert "<table>" in shown["sweep"] and "image/svg+xml" in shown["sweep"] and "B less A" in shown["sweep"]
    assert any(error in shown["errors"] for error in ("missed", "background", "badly_placed"))
    for name in ORDER:
        assert (done / f"{name}.ipynb").stat().st_size < 1_000_000
