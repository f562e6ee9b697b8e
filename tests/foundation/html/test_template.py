"""Templates: nothing is forgotten, nothing is markup by accident, nothing is loaded from anywhere."""

import configparser
import re
import shutil
import subprocess
import sys
import tomllib
from base64 import b64encode
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from bakeoff.foundation.html.svg import draw
from bakeoff.foundation.html.template import FOLDER, render, write_page
from support.imports import ROOT, SRC

SWEEP = {"began": "now", "best": None, "metric": "mAP", "jobs": [], "effects": ""}
HEAVY = "{'jinja2', 'scipy', 'tensorflow'} & set(sys.modules)"


class Manifest:
    id, overrides, jobs, counts, note = "<b>sweep</b>", ("lr=a,'b'",), (), "none", ""


def test_values_are_text_and_markup_stays_markup() -> None:
    page = render("sweep.html.jinja", title="&", manifest=Manifest, **SWEEP | {"metric": "<i>"})
    assert "<title>&amp;</title>" in page and "<h1>&lt;b&gt;sweep&lt;/b&gt;</h1>" in page and "&lt;i&gt;" in page
    assert "<svg/>" in render("sweep.html.jinja", title="", manifest=Manifest, **SWEEP | {"effects": draw("svg")})


def test_a_value_that_a_template_wants_and_nobody_gives_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'began' is undefined"):
        render("sweep.html.jinja", title="", manifest=Manifest, **{key: SWEEP[key] for key in SWEEP if key != "began"})


def test_browsers_run_the_one_script_and_load_nothing() -> None:
    page = render("sweep.html.jinja", title="", manifest=Manifest, **SWEEP)
    [script] = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in page
    assert not re.search(r"https?:|url\(|@import|<link", page)


def test_the_plots_of_dvc_are_drawn_by_a_page_that_may_load_nothing() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / ".dvc/config", encoding="utf-8")
    page = (ROOT / ".dvc" / config["plots"]["html_template"]).read_text(encoding="utf-8")
    assert page.count("{plot_divs}") == 1 and "{scripts}" not in page and "content=\"default-src 'none';" in page
    assert set(re.findall(r"https?://[^'\"<> ]+", page)) == {"http://www.w3.org/2000/svg"}  # a name, no address


def test_what_no_encoding_has_is_written_in_letters(tmp_path: Path) -> None:
    write_page(tmp_path / "a/b.html", "sweep.html.jinja", title="caf\udce9", manifest=Manifest, **SWEEP)
    assert r"<title>caf\udce9</title>" in (tmp_path / "a/b.html").read_text(encoding="utf-8")


def test_a_built_package_holds_every_template() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    patterns = settings["package-data"]["bakeoff.foundation.html"]
    files = [file.relative_to(SRC / "foundation/html").as_posix() for file in FOLDER.rglob("*")]
    assert len(files) > 5 and all(any(fnmatch(file, pattern) for pattern in patterns) for file in files)


def test_templates_are_loaded_in_a_clone_that_was_moved(tmp_path: Path) -> None:
    moved = tmp_path / "moved/bakeoff"
    shutil.copytree(SRC / "foundation/html", moved / "foundation/html")
    for file in ("__init__.py", "foundation/__init__.py"):
        shutil.copy(SRC / file, moved / file)
    lines = [
        "from bakeoff.foundation.html import template",
        "print(template.FOLDER, len(template.render('macros.html.jinja')))",
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "moved")},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.startswith(str(tmp_path / "moved")), done.stderr


@pytest.mark.parametrize(
    "modules",
    [
        "bakeoff.app.cli.compare, bakeoff.experiments.compare.text_json, bakeoff.experiments.compare.select_runs",
        "bakeoff.experiments.compare.comparison_verdict",
        "bakeoff.experiments.sweep.mlflow_parent", "bakeoff.dataset.building.report_data, bakeoff.stages.build_records",
        "bakeoff.config.compose.lr_plot", "bakeoff.evaluation.evaluation_report",
    ],
)  # fmt: skip
def test_who_draws_no_page_loads_no_template_engine(modules: str) -> None:
    """Nor the library of the F distribution, which only a page with effects asks."""
    script = f"import sys, {modules}; print({HEAVY} or 'light')"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "light", done.stderr
