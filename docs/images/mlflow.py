"""Draws mlflow.jpg: MLflow's table of three variants, and below it their chart of a validation metric.

It trains the three in a clone of this repository, starts `bakeoff ui` there, and goes the way of a user: columns,
three ticks, Compare, the metric. What the pages must show is asserted on the way. It takes a few minutes, and Chromium.
Run it from the repository's root: `python docs/images/mlflow.py [PICTURE]`.
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

from browser import Page, chromium
from clone import edit, run, ui
from PIL import Image

LOOKS = 12  # at validation, one every 40 of 480 steps
SCHEDULES = ("cosine", "exponential", "constant")
LINES = {
    "data": "data: {use: digits_single, train_examples: 1200, validation_examples: 400}",
    "model": "model: {use: cnn_small}",
    "train": "train: {use: smoke, steps: 480, batch_size: 16, log_every_steps: 20, validate_every_steps: 40}",
}
COLUMNS = ("lr.kind", "lr.peak", "train/loss", "evaluation/accuracy")
HIDDEN = ("Dataset", "Source", "Models")  # to make room
METRIC = "validation/accuracy"
SHOWN = quote("evaluation/accuracy", safe="")
LEADS_TO_A_METRIC = f"link => link.includes('/#/metric?') && link.includes('{SHOWN}')"
WIDTH, TABLE, CHART = 1300, 330, 385
MENU = 48  # at the left, with nothing but icons
BUTTON = "[...document.querySelectorAll('button')].find(button => button.innerText.trim() === '{}')"


def main() -> None:
    picture = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".jpg")
    with tempfile.TemporaryDirectory(prefix="bakeoff-") as folder:
        clone = Path(folder) / "clone"
        run(Path.cwd(), "git", "clone", "--quiet", ".", str(clone))
        for schedule in SCHEDULES:
            edit(clone / "params.yaml", LINES | {"lr": f"lr: {{use: {schedule}}}"})
            run(clone, sys.executable, "-m", "dvc", "repro", "--quiet", "evaluate")
        run(clone, sys.executable, "-m", "bakeoff", "track", "sync")
        with ui(clone) as address:
            asyncio.run(_draw(address, picture))
    print(f"{picture}: {picture.stat().st_size:,} bytes")


async def _draw(address: str, picture: Path) -> None:
    async with chromium(WIDTH, 900) as page:
        await page.call("Page.navigate", url=f"{address}/#/experiments/1/runs")
        await page.wait_for("document.body.innerText.includes('3 matching runs')")
        await page.click("document.querySelector('button[aria-label=\"Toggle sidebar\"]')")
        table = await _table(page)
        chart = await _chart(page)
    sheet = Image.new("RGB", (table.width, table.height + chart.height), "white")
    sheet.paste(table, (0, 0))
    sheet.paste(chart, (0, table.height))
    sheet.save(picture, quality=82, optimize=True)


async def _table(page: Page) -> Image.Image:
    """Of all three, with the params and metrics that were chosen."""
    await page.click(BUTTON.format("Columns"))
    for column in (*HIDDEN, *COLUMNS):
        await page.type_into("document.querySelector('input[placeholder=\"Search columns\"]')", column)
        found = f"[...document.querySelectorAll('[class*=tree-treenode]')].find(n => n.innerText.trim() === '{column}')"
        await page.click(f"{found}.querySelector('[class*=tree-checkbox]')")
    await page.escape()
    for row in range(len(SCHEDULES)):
        await page.click(f"document.querySelectorAll('.ag-row .ag-checkbox-input')[{row}]")
    names = await page.see("[...document.querySelectorAll('.ag-row')].map(row => row.innerText).join(' ')")
    assert all(f"cnn_small · {schedule} · medium" in names for schedule in SCHEDULES), names
    for column in COLUMNS:
        cells = f"""[...document.querySelectorAll('[role=gridcell][col-id*="{column}"]')].map(cell => cell.innerText)"""
        values = await page.wait_for(f"({cells}).length === 3 && ({cells})")
        assert "-" not in values, (column, values)
        if column == "lr.kind":
            assert sorted(values) == sorted(SCHEDULES), values
        elif column != "lr.peak":
            assert all(0 <= float(value) < 10 for value in values), (column, values)
    return await page.picture(x=MENU, y=0, width=WIDTH - MENU, height=TABLE)


async def _chart(page: Page) -> Image.Image:
    """From the table to the comparison, and from there to the metric over steps."""
    await page.click(BUTTON.format("Compare"))
    await page.wait_for("document.body.innerText.includes('Comparing 3 Runs from 1 Experiment')")
    # The list of metrics holds but those in sight; each leads to a page of which the address names the metric.
    link = await page.wait_for(f"[...document.querySelectorAll('a')].map(link => link.href).find({LEADS_TO_A_METRIC})")
    await page.call("Page.navigate", url=link.replace(SHOWN, quote(METRIC, safe="")))
    lines = "[...new Set([...document.querySelectorAll('.scatterlayer path.js-line')].map(l => l.getAttribute('d')))]"
    await page.wait_for(f"{lines}.length === 3")  # each is drawn twice, as it is and smooth
    points = await page.see(f"{lines}.map(line => line.split('L').length)")
    assert points == [LOOKS] * 3, points
    await asyncio.sleep(2)  # the chart settles
    top = await page.see("document.querySelector('.js-plotly-plot').getBoundingClientRect().y")
    return await page.picture(x=MENU, y=max(0, int(top) - 60), width=WIDTH - MENU, height=CHART)


if __name__ == "__main__":
    main()
