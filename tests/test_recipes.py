"""docs/guide.md's recipes for parts of one's own: a workspace of `bakeoff init` gets all of them, and trains."""

import json
import random
import re
import sqlite3
from contextlib import chdir, closing
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
import yaml
from PIL import Image, ImageDraw

from bakeoff.foundation.shipped import code_lines
from support.imports import ROOT
from support.messages import missing_in
from support.workspace_copy import Workspace, made_workspace

pytestmark = pytest.mark.long

RECIPES = ("a network", "a learning-rate schedule", "a source of data", "a metric", "a change to examples")
CALLBACK = "a callback"
BLOCK = re.compile(r"^```(?:python|yaml)\n# (\S+\.\w+)\n(.*?)^```$", re.M | re.S)
TABLES = {
    "a network": "NETWORKS", "a learning-rate schedule": "SCHEDULES", "a source of data": "SOURCES",
    "a metric": "METRICS", "a change to examples": "CHANGES", CALLBACK: "CALLBACKS",
}  # fmt: skip
VARIANT = {
    "data": "data: {use: json_lines}",
    "model": "model: {use: one_map, input_size: 64, anchors: {scale: 1.25}}",
    "lr": "lr: {use: halving, every_steps: 1}",
    "train": "train: {use: demo_blackout, steps: 2, batch_size: 4, log_every_steps: 1, validate_every_steps: 1, "
    "augment: {zoom: {smallest: 1, largest: 1, stretch: 1}, "
    "colour: {brightness: 0, contrast: 0, saturation: 0, hue: 0}}, best_by: count_error}",
    "track": "track: {use: mlflow, wait_s: 120}",
}
TRAIN, VALIDATION = 12, 6
LABELS = {"nut": "crimson", "screw": "steelblue"}
KNOWN = "model: {use: ssd_tiny, input_size: 64}"
OWN = "tests/test_own.py"
# Asked of the workspace's own code: the first two batches of training as the network gets them, and a known detector.
QUESTIONS = f"""
from pathlib import Path

from bakeoff.foundation import workspace
from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.config.compose.whole_run import load
from bakeoff.stages.render_config import render_config
from bakeoff.learning.training.setup import Setup
from bakeoff.learning.plan.phases import plan_phases


def test_batches():
    run = load(workspace.RUN)
    setup = Setup.of(run, read_manifest(workspace.RECORDS), workspace.RECORDS)
    [phase] = plan_phases(run)
    images = [image.numpy() for batch in setup.feed().batches(phase, range(2)) for image in batch["image"]]
    assert [(image == 127.5).all(axis=-1).sum() for image in images] == [16 * 16] * 8


def test_known_detector():
    params = Path("known.yaml")
    params.write_text(workspace.PARAMS.read_text().replace({VARIANT["model"]!r}, {KNOWN!r}))
    render_config(params, workspace.CONF, workspace.RECORDS, Path("known/run.yaml"), facts=workspace.facts())
"""


def read_blocks(recipe: str) -> list[tuple[str, str]]:
    """Return file and text of each block of a recipe."""
    guide = (ROOT / "docs/guide.md").read_text(encoding="utf-8")
    [section] = re.findall(rf"^## Add {recipe}\n(.*?)(?=^## )", guide, re.M | re.S)
    return BLOCK.findall(section)


def follow(recipe: str, folder: Path) -> list[str]:
    """Do what a recipe says; return its tests."""
    for name, text in (blocks := read_blocks(recipe)):
        file = folder / name
        assert not file.exists(), f"{name}: is there already"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return [name for name, _ in blocks if name.startswith("tests/")]


def draw_dataset(folder: Path) -> dict[str, int]:
    """Draw images with one to three rectangles each; return how many of each label the validation images have."""
    folder.mkdir(parents=True)
    draw, lines, counts = random.Random(5), [], dict.fromkeys(LABELS, 0)
    for number in range(TRAIN + VALIDATION):
        side = "train" if number < TRAIN else "validation"
        image, boxes = Image.new("RGB", (64, 64), "linen"), []
        for place in range(1 + number % 3):
            label, (x, y) = draw.choice(sorted(LABELS)), (draw.randrange(40), draw.randrange(40))
            ImageDraw.Draw(image).rectangle((x, y, x + 15 + place, y + 19), fill=LABELS[label])
            boxes.append([x, y, x + 16 + place, y + 20, label])
            counts[label] += side == "validation"
        image.save(folder / f"{number}.png")
        lines.append(json.dumps({"image": f"{number}.png", "side": side, "boxes": boxes}))
    (folder / "boxes.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return counts


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, list[str], dict[str, int]]:
    """A workspace after all recipes and `dvc repro evaluate`, the recipes' tests, and what the dataset holds."""
    workspace = made_workspace(tmp_path_factory.mktemp("recipes") / "own", VARIANT)
    tests = [test for recipe in (*RECIPES, CALLBACK) for test in follow(recipe, workspace.folder)]
    counts = draw_dataset(workspace.folder / "data/raw/json_lines")
    assert workspace.repro("evaluate") == {"code", "build_records", "render_config", "train", "evaluate"}
    return workspace, tests, counts


@pytest.fixture(scope="module")
def passed(followed: tuple[Workspace, list[str], dict[str, int]]) -> set[str]:
    """The recipes' own tests and our questions: all that passed, run by one process."""
    workspace, tests, _ = followed
    (workspace.folder / OWN).write_text(QUESTIONS, encoding="utf-8")
    done = workspace.run("python", "-m", "pytest", "-p", "no:cacheprovider", "-rA", *tests, OWN)
    return set(re.findall(r"^PASSED (\S+)", done.stdout, re.M))


@pytest.fixture
def workspace(followed: tuple[Workspace, list[str], dict[str, int]]) -> Workspace:
    return followed[0]


@pytest.fixture
def run(workspace: Workspace) -> dict[str, Any]:
    return yaml.safe_load((workspace.folder / "models/config/run.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("recipe", "table"), TABLES.items())
def test_a_recipe_is_a_file_with_a_table_an_option_and_a_test(recipe: str, table: str) -> None:
    names, texts = zip(*read_blocks(recipe), strict=True)
    places = [name.partition("/")[0] for name in names]
    assert places == ["parts", *([] if recipe in ("a metric", CALLBACK) else ["conf"]), "tests"]
    assert re.search(rf"^{table} = {{", texts[0], re.M) and len(texts[0].splitlines()) <= 62


def test_the_sources_records_are_those_that_were_drawn(
    followed: tuple[Workspace, list[str], dict[str, int]], run: dict[str, Any]
) -> None:
    workspace, _, counts = followed
    manifest = json.loads((workspace.folder / "data/records/manifest.json").read_text(encoding="utf-8"))
    assert manifest["classes"] == sorted(LABELS)
    assert manifest["splits"]["validation"]["counts"] == counts
    assert [manifest["splits"][side]["examples"] for side in ("train", "validation")] == [TRAIN, VALIDATION]
    assert run["data"]["annotations"] == "boxes.jsonl"


def test_the_network_is_the_one_that_was_trained(workspace: Workspace, run: dict[str, Any]) -> None:
    """3x3 convolutions of 3 to 16 to 32 channels, four numbers of batch norm a channel, two heads of two anchors."""
    convolutions = 9 * (3 * 16 + 16 * 32) + 4 * (16 + 32)
    heads = sum(9 * 32 * outputs + outputs for outputs in (2 * 4, 2 * 2))
    assert workspace.state()["parameters"] == convolutions + heads == run["derived"]["parameters"]
    config = (workspace.folder / "models/config/pipeline.config").read_text(encoding="utf-8")
    assert "no detector like OneMap (parts.one_map)" in config.replace("\n# ", " ")


def test_the_schedule_gave_each_step_its_rate(workspace: Workspace) -> None:
    history = _read_history(workspace)
    rates = [row["learning_rate"] for row in history if "learning_rate" in row]
    assert rates == [0.004, 0.002]


def test_the_metric_is_the_mean_of_what_the_table_of_examples_shows(workspace: Workspace) -> None:
    evaluation = workspace.folder / "models/evaluation"
    rows = pyarrow.parquet.read_table(evaluation / "examples.parquet").to_pylist()
    off = [abs(sum(box["error"] != "" for box in row["prediction"]) - len(row["truth"])) for row in rows]
    metrics = json.loads((evaluation / "metrics.json").read_text(encoding="utf-8"))
    assert len(off) == VALIDATION and metrics["count_error"] == pytest.approx(sum(off) / VALIDATION) and sum(off) > 0
    interval = metrics["interval"]["count_error"]
    assert interval["low"] <= metrics["count_error"] <= interval["high"]
    page = (evaluation / "report.html").read_text(encoding="utf-8")
    assert f"<b>count error</b><strong>{metrics['count_error']:.3f}</strong>" in page
    assert missing_in(page, "number of true boxes", "Lower is better.") == []


def test_the_metric_says_which_weights_are_best_and_goes_where_the_others_go(workspace: Workspace) -> None:
    state, metrics = workspace.state(), json.loads((workspace.folder / "models/evaluation/metrics.json").read_text())
    seen = {
        row["step"]: row["validation/count_error"] for row in _read_history(workspace) if "learning_rate" not in row
    }
    assert list(seen) == [1, 2]
    assert state["best_metric"] == "count_error" and state["best_value"] == pytest.approx(min(seen.values()), 1e-4)
    assert state["best_step"] == min(seen, key=lambda step: seen[step])
    assert metrics["count_error"] == pytest.approx(state["best_value"])
    with closing(sqlite3.connect(workspace.folder / "mlflow.db")) as store:
        query = "SELECT value FROM latest_metrics WHERE key = 'within_evaluation/more/count_error'"
        assert store.execute(query).fetchall() == [(metrics["count_error"],)]
    compared = workspace.run("python", "-m", "bakeoff", "compare", "--md").stdout
    assert "count_error" in compared and f"{metrics['count_error']:.3f}" in compared


def test_the_change_is_done_to_every_example_of_training(passed: set[str], run: dict[str, Any]) -> None:
    assert run["train"]["augment"]["parts"] == {"blackout": {"side": 0.25}}
    assert f"{OWN}::test_batches" in passed


def test_pipeline_config_says_what_it_cannot_say_of_a_known_detector(passed: set[str], workspace: Workspace) -> None:
    assert f"{OWN}::test_known_detector" in passed
    words = re.sub(r"\s*\n\s*# ", " ", (workspace.folder / "known/pipeline.config").read_text(encoding="utf-8"))
    assert "no step like blackout (Blackout)" in words
    assert "no such one (Halving)" in words


def test_the_recipes_own_tests_pass_and_their_files_are_in_order(
    passed: set[str], followed: tuple[Workspace, list[str], dict[str, int]]
) -> None:
    workspace, tests, _ = followed
    files = {test.partition("::")[0] for test in passed}
    assert len(tests) == len((*RECIPES, CALLBACK)) and files == {*tests, OWN}
    new = [file for recipe in (*RECIPES, CALLBACK) for file, _ in read_blocks(recipe) if file.endswith(".py")]
    workspace.run("ruff", "check", "--line-length", "120", "--ignore", "I001", *new)  # sorted as in this repository
    workspace.run("ruff", "format", "--check", "--line-length", "120", *new)


def test_a_changed_part_runs_the_stages_that_it_decides_and_no_others(workspace: Workspace) -> None:
    """Which these are is asked of DVC; what runs of them is the last test's."""
    lines = {
        "parts/halving.py": {"render_config", "train"}, "parts/json_lines.py": {"build_records", "render_config"},
        "parts/count_error.py": {"render_config", "train", "evaluate"}, "parts/validation_clock.py": set(),
    }  # fmt: skip
    with chdir(workspace.folder):
        before = code_lines()
        for name, stages in lines.items():
            text = Path(name).read_text(encoding="utf-8")
            Path(name).write_text(f"{text}# changed\n", encoding="utf-8")
            after = code_lines()
            assert {stage for stage in before if before[stage] != after[stage]} == stages
            Path(name).write_text(text, encoding="utf-8")
    assert workspace.repro("evaluate") == {"code"}


def _read_history(workspace: Workspace) -> list[dict[str, Any]]:
    lines = (workspace.folder / "models/train/history.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_callback_of_ones_own_sees_every_validation_pass(workspace: Workspace) -> None:
    [seen] = workspace.folder.glob(".bakeoff/runs/*/passes")
    history = (workspace.folder / "models/train/history.jsonl").read_text(encoding="utf-8").splitlines()
    steps = [line["step"] for line in map(json.loads, history) if "train/loss" not in line]
    assert [int(line.split()[0]) for line in seen.read_text(encoding="utf-8").splitlines()] == steps
