"""Each script shows a defect of DVC that the docs describe; and the guide's way to share experiments works."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.imports import ROOT
from support.workspace_copy import environment

PAGE = (ROOT / "docs/dvc-defects.md").read_text(encoding="utf-8")
HEAD, *SECTIONS = PAGE.split("\n## ")
[FIRST] = re.findall(r"```sh\n(.*?)```", HEAD, re.DOTALL)
SHARE = (ROOT / "docs/guide.md").read_text(encoding="utf-8").partition("\n## Share\n")[2].partition("\n## ")[0]

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="scripts of a POSIX shell")]


def run_script(text: str, folder: Path) -> str:
    """Return all that the script printed; `dvc` is DVC by itself."""
    plain = f'dvc() {{ {sys.executable} -m dvc "$@"; }}\n'
    done = subprocess.run(
        [shutil.which("bash") or "sh", "-c", plain + text], cwd=folder, env=environment() | {"TMPDIR": str(folder)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.partition("\n")[0])
def test_a_defect_shows_itself(section: str, tmp_path: Path) -> None:
    [script], [expected] = (re.findall(rf"```{kind}\n(.*?)```", section, re.DOTALL) for kind in ("sh", "text"))
    output = run_script(FIRST + script, tmp_path)
    assert [line for line in expected.splitlines() if line not in output] == [], output


def test_experiments_travel_in_the_order_of_the_guide_and_older_ones_with_its_remedy(tmp_path: Path) -> None:
    store, git = tmp_path / "store", f"git init --quiet --bare --initial-branch=main {tmp_path}/there.git\n"
    in_order, remedy = (
        [line[2:].partition("  ")[0] for line in block.replace("/path/to/a/folder", str(store)).splitlines()]
        for block in re.findall(r"```console\n(.*?)```", SHARE, re.DOTALL)
    )
    _, name, commit, push, push_git, push_experiment = in_order  # the first names a repository of the team's
    make = (
        "git add . && git commit --quiet -m base && git remote add origin ../there.git && git push -q origin HEAD:main"
    )
    early, late = (
        f"echo {one} > given && dvc exp run --quiet --name {one} && git checkout -q ." for one in ("early", "late")
    )
    first = FIRST.replace('"$(mktemp -d)"', str(tmp_path / "here"))
    (tmp_path / "here").mkdir()
    lines = [git, first, make, early, name, commit, late, push, push_git.replace("HEAD", "HEAD:main")]
    output = run_script(
        "\n".join([*lines, *(push_experiment.replace("NAME", one) for one in ("late", "early"))]), tmp_path
    )
    assert output.count("Pushed experiment") == 2, output
    clone = "git clone --quiet --branch main there.git there\ncd there\ndvc pull"
    apply = "\n".join(f"dvc exp pull origin {one}\ndvc exp apply {one}\ncat made" for one in ("late", "early"))
    output = run_script(f"{clone}\ncat made\n{apply}\ngit checkout .\ndvc checkout\ncat made", tmp_path)
    assert "\nlate\n" in output and "Checkout failed" in output, output
    assert "\nearly\n" not in output and output.endswith("\n1\n"), output
    run_script("\n".join(["cd here", remedy[0], remedy[1].replace("NAME", "early")]), tmp_path)
    there = ["cd there", remedy[0], "dvc exp pull origin early", "dvc exp apply early", "cat made"]
    assert run_script("\n".join(there), tmp_path).endswith("\nearly\n")
