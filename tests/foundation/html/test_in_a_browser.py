"""Every kind of page in Chromium, at three widths, light and dark: axe-core finds no fault, and nothing is cut off.

Where axe-core is has to be said, for it is no part of this repository:
npm install axe-core && AXE=node_modules/axe-core/axe.min.js python -m pytest -m slow tests/foundation/html
"""

import asyncio
import importlib.util
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from dvc_render import VegaRenderer
from dvc_render.html import render_html

from bakeoff.dataset.records.record import RecordSource
from bakeoff.dataset.sources.synthetic_digits import DigitScenes
from bakeoff.evaluation.evaluation_report import EvaluationReport
from bakeoff.evaluation.evaluation_report import write_page as write_evaluation
from bakeoff.evaluation.header import ReportHeader
from bakeoff.experiments.compare.comparison_report import write_page as write_comparison
from bakeoff.experiments.compare.comparison_table import make_table
from bakeoff.experiments.compare.run_row import Contender
from bakeoff.experiments.sweep.mlflow_parent import write_page as write_sweep
from bakeoff.experiments.sweep.sweep_manifest import JobState
from bakeoff.learning.metrics.detection import DetectionScore
from bakeoff.stages.build_records import build_records
from support.coco_sets import given, true
from support.imports import ROOT
from support.made_reports import BOX, FAR, answers, detections, labels, report_of
from support.made_sweeps import sweep, sweep_job

AXE = Path(os.environ.get("AXE", "")).resolve()
WIDTHS, HEIGHT = (400, 800, 1500), 900
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not shutil.which("chromium") or not AXE.is_file(), reason="needs chromium, and axe-core at $AXE"
    ),
]


def evaluation(report: EvaluationReport, folder: Path) -> Path:
    write_evaluation(folder, report)
    return folder / "report.html"


def stopped() -> EvaluationReport:
    about = ReportHeader("ssd · cosine · low", {"data": "digest 77ab"}, "This run was stopped.", {"lr.peak": "0.003"})
    return replace(report_of(detections(), "mAP_50", shown=2), about=about)


def weak() -> EvaluationReport:
    boxes = [([2.0 * at, 80.0, 2.0 * at + 9, 99.0], 2, 0.5 - at / 100) for at in range(30)]
    score = DetectionScore(("ant", "bee")).update(true((BOX, 1), (FAR, 2)), given(*boxes))
    return report_of(score, "mAP_50", shown=1)


def comparison(folder: Path) -> Path:
    """Of twelve runs, one of which failed."""
    runs = [
        Contender(
            f"{number:x}{number:x}aa1111", "ssd · cosine · low", "FAILED" if number == 11 else "SUCCEEDED",
            {"lr.use": ("cosine", "constant")[number % 2], "lr.peak": str(0.001 * (number + 1)), "model.width": "1.0"},
            {
                "evaluation/mAP_50": 0.5 + number / 50, "evaluation/mAP": 0.3 + number / 60,
                "evaluation/interval.mAP_50.low": 0.45 + number / 50,
                "evaluation/interval.mAP_50.high": 0.55 + number / 50,
            },
            note="with the new images", experiment=f"exp-{number}",
        )
        for number in range(12)
    ]  # fmt: skip
    write_comparison(folder / "compare.html", make_table(runs))
    return folder / "compare.html"


def search(folder: Path) -> Path:
    values = {("cosine", "0.1"): 0.25, ("cosine", "0.2"): 0.5, ("constant", "0.1"): 0.3}
    done = [
        sweep_job(number, configurations=((f"lr={lr}", f"+lr.peak={peak}"),), value=value, state=JobState.DONE)
        for number, ((lr, peak), value) in enumerate(values.items(), start=1)
    ]
    failed = (
        sweep_job(4, configurations=(("lr=constant", "+lr.peak=0.2"),)).begin(1.0).end(2.0, JobState.FAILED, "diverged")
    )
    write_sweep(sweep(*done, failed), folder / "sweep.html")
    return folder / "sweep.html"


def records(folder: Path) -> Path:
    source: RecordSource = DigitScenes(train_examples=12, validation_examples=6)
    build_records(source, folder / "records")
    return folder / "records/report.html"


def plots(folder: Path) -> Path:
    """As DVC fills the template: a line, dots, bars, and what was taken for what, of two revisions."""
    revisions = ("main", "workspace")
    confused = [{"actual": a, "predicted": b, "rev": rev} for rev in revisions for a, b in ("00", "01", "11")]
    curve = [{"x": str(at), "y": str(at * at), "rev": rev} for rev in revisions for at in range(5)]
    kinds = [{"kind": kind, "count": "3", "rev": rev} for rev in revisions for kind in ("missed", "background")]
    drawn = [
        VegaRenderer(confused, "confusion", template="confusion", x="predicted", y="actual"),
        VegaRenderer(curve, "loss", template="linear", x="x", y="y"),
        VegaRenderer(curve, "calibration", template="scatter", x="x", y="y"),
        VegaRenderer(kinds, "errors", template="bar_horizontal", x="count", y="kind"),
    ]
    render_html(drawn, folder / "plots.html", html_template=ROOT / ".dvc/plots.html")
    return folder / "plots.html"


PAGES: dict[str, Callable[[Path], Path]] = {
    "detection": lambda folder: evaluation(report_of(detections(), "mAP_50", shown=2), folder),
    "stopped": lambda folder: evaluation(stopped(), folder),
    "weak": lambda folder: evaluation(weak(), folder),
    "one label": lambda folder: evaluation(report_of(answers(), "accuracy", shown=2), folder),
    "several labels": lambda folder: evaluation(report_of(labels(), "mean_average_precision", shown=2), folder),
    "comparison": comparison,
    "sweep": search,
    "records": records,
    "plots": plots,
}


def driver() -> ModuleType:
    """What draws the pictures of the docs."""
    spec = importlib.util.spec_from_file_location("browser", ROOT / "docs/images/browser.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def view_page(file: Path, scheme: str) -> tuple[list[str], dict[int, int]]:
    """Faults that axe-core finds, by width; and how much wider than the screen the page is."""
    faults, beyond = [], {}
    async with driver().chromium(WIDTHS[0], HEIGHT) as page:
        await page.call("Page.setBypassCSP", enabled=True)
        await page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        await page.call("Page.navigate", url=file.as_uri())
        await page.wait_for("document.readyState === 'complete' && !!document.querySelector('h1')")
        await page.call("Runtime.evaluate", expression=AXE.read_text(encoding="utf-8"))
        for width in WIDTHS:
            size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
            await page.call("Emulation.setDeviceMetricsOverride", **size)
            root = "document.documentElement"
            beyond[width] = await page.see(f"{root}.scrollWidth - {root}.clientWidth")
            faults += [f"{width}: {fault}" for fault in await audit(page)]
    return faults, beyond


async def audit(page: Any) -> list[str]:
    script = "axe.run().then(found => found.violations.flatMap(v => v.nodes.map(n => `${v.id} ${n.target}`)))"
    answer = await page.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
    assert "exceptionDetails" not in answer, answer
    return answer["result"]["value"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", PAGES)
def test_axe_finds_no_fault_and_no_page_is_wider_than_the_screen(kind: str, scheme: str, tmp_path: Path) -> None:
    faults, beyond = asyncio.run(view_page(PAGES[kind](tmp_path), scheme))
    assert not faults
    assert set(beyond.values()) == {0}


def test_what_a_run_is_called_stays_in_sight_while_its_columns_move(tmp_path: Path) -> None:
    async def shift() -> list[float]:
        async with driver().chromium(WIDTHS[0], HEIGHT) as page:
            await page.call("Page.navigate", url=comparison(tmp_path).as_uri())
            await page.wait_for("!!document.querySelector('.runs')")
            await page.see("document.querySelector('.scroll').scrollLeft = 300")
            cells = ("tbody th", "tbody td")
            return [
                await page.see(f"document.querySelector('.runs {cell}').getBoundingClientRect().left") for cell in cells
            ]

    name, number = asyncio.run(shift())
    assert name >= 0 and number < name


def test_plots_of_dvc_are_drawn_without_a_network(tmp_path: Path) -> None:
    async def count() -> list[int]:
        async with driver().chromium(WIDTHS[-1], HEIGHT) as page:
            await page.call("Page.navigate", url=plots(tmp_path).as_uri())
            await page.wait_for("document.querySelectorAll('main h2').length === 4")
            selectors = ("polyline", "circle", "#confusion table", "#errors tbody tr")
            return [await page.see(f"document.querySelectorAll('{one}').length") for one in selectors]

    assert asyncio.run(count()) == [2, 10, 2, 2]  # of two revisions


def test_a_page_with_faults_has_faults(tmp_path: Path) -> None:
    (tmp_path / "bad.html").write_text(
        "<title>a</title><h1>a</h1><img src='x'><p style='color:#aaa'>too pale", encoding="utf-8"
    )
    faults, _ = asyncio.run(view_page(tmp_path / "bad.html", "light"))
    assert {fault.split()[1] for fault in faults} >= {"image-alt", "color-contrast", "landmark-one-main"}
