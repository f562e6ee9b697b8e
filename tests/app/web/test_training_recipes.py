"""A robot, some data and a time -> a training that fits them; what it costs, and how good earlier ones were."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.app.web import train_form
from bakeoff.app.web.robots import ROBOTS
from bakeoff.app.web.train_costs import word_warnings
from bakeoff.app.web.train_request import read_form
from bakeoff.app.web.training_recipes import (
    BEST,
    GOOD,
    QUICK,
    RECIPES,
    TrainingData,
    choose,
    describe_data,
    find_earlier_result,
    find_pace,
)
from bakeoff.config.compose.compose import compose
from bakeoff.config.compose.variant import parse_variant
from bakeoff.experiments.runs.list_runs import known_runs
from bakeoff.experiments.runs.run_status import State
from bakeoff.foundation import machine
from bakeoff.learning.networks.letterbox import fit_of
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.target import Target
from support.asking import Page
from support.imports import ROOT
from support.made_runs import NOBODY, made
from support.made_sweeps import sweep, sweep_job
from support.messages import missing_in

PHOTOS = TrainingData("field", "detection", 160, 40)
XML = (
    "<annotation><size><width>640</width><height>480</height></size><object><name>ball</name><bndbox><xmin>0</xmin>"
    "<ymin>0</ymin><xmax>{side}</xmax><ymax>{side}</ymax></bndbox></object></annotation>"
)


@pytest.fixture
def workspace(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "conf", folder / "conf", dirs_exist_ok=True)
    shutil.copy(ROOT / "params.yaml", folder)
    monkeypatch.setattr("bakeoff.app.web.training_recipes._machine_factor", lambda: 1.0)
    return folder


def label(folder: Path, photos: int, side: int) -> None:
    for number in range(photos):
        for inside, suffix, text in (("images", "jpg", ""), ("annotations", "xml", XML.format(side=side))):
            file = folder / f"data/raw/field/{inside}/{number}.{suffix}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    (folder / "conf/data/field.yaml").write_text("kind: pascal_voc\npath: data/raw/field\n", encoding="utf-8")


def finish_run(folder: Path, fingerprint: str, run_id: str, network: str, **params: str) -> None:
    made(folder / ".bakeoff/runs", fingerprint, State.SUCCEEDED, run_id=run_id, process=NOBODY, steps=400,
         steps_done=400, training_seconds=100.0, metrics={"validation/mAP_50": 0.8})  # fmt: skip
    journal = Journal(run_id)
    Target("local", "bakeoff").write(journal.folder)
    journal.params({"variant.data": "field", "variant.model": network, "train.batch_size": "8",
                    "model.input_size": "128", "derived.validation_examples": "40", **params})  # fmt: skip
    journal.metrics(400, {"validation/mAP_50": 0.8, "evaluation/mAP_50": 0.81,
                          "evaluation/interval.mAP_50.low": 0.7, "evaluation/interval.mAP_50.high": 0.9})  # fmt: skip
    journal.close()


@pytest.mark.parametrize("robot", ["", *ROBOTS])
def test_each_recipe_is_a_variant_that_the_robot_takes(workspace: Path, robot: str) -> None:
    for recipe in RECIPES.values():
        choice = choose(recipe, robot, PHOTOS, ())
        assert choice is not None and choice.seconds <= recipe.budget_s
    overrides = [f"{key}={value}" for key, value in choice.overrides if key != "model.input_size"]
    composed = compose(Path("params.yaml"), Path("conf"), overrides=["data=pascal_voc", *overrides])
    draft = parse_variant(composed.tree, composed.problems)
    assert composed.problems.lines == [] and draft.train and draft.export
    assert (draft.train.steps, draft.train.epochs, draft.export.device) == (choice.steps, None, robot or None)
    assert not robot or ROBOTS[robot].find_obstacle(draft.model) == ""
    assert ("point_nano" == choice.network) == robot.startswith("photonvision")
    assert fit_of(draft.model) == (ROBOTS[robot].fit if robot and ROBOTS[robot].fit else "stretch")


def test_steps_follow_the_photos_and_end_with_the_time(workspace: Path) -> None:
    few, many, most = (choose(GOOD, "", replace(PHOTOS, train=count), ()) for count in (32, 160, 200_000))
    assert few and many and most
    assert (few.steps, many.steps) == (GOOD.least_steps, 150 * 160 // 8)
    assert most.steps < 150 * 200_000 / 8 and most.seconds == pytest.approx(GOOD.budget_s, abs=1)
    assert choose(GOOD, "", replace(PHOTOS, train=0), ()) is None
    images = choose(QUICK, "", replace(PHOTOS, task="classification"), ())
    assert images and (images.network, dict(images.overrides)["experiment"]) == ("cnn_small", "demo_images")
    drawn = choose(QUICK, "", replace(PHOTOS, is_drawn=True), ())
    assert drawn and "experiment" not in dict(drawn.overrides)


def test_the_picture_is_as_large_as_the_objects_ask_for(workspace: Path) -> None:
    sides = {}
    for side in (24, 48, 240):
        label(workspace, 50, side)
        data = describe_data("field")
        assert (data.train, data.validation, data.small_side) == (40, 10, side / 640)
        choice = choose(BEST, "", data, ())
        assert choice is not None
        sides[side] = choice.side
    assert sides == {24: 320, 48: 256, 240: 128}


def test_weights_that_are_here_are_started_from_and_others_are_made_if_there_is_time(workspace: Path) -> None:
    quick, good = choose(QUICK, "", PHOTOS, ()), choose(GOOD, "", PHOTOS, ())
    assert quick and good and (quick.start, quick.makes_start) == ("", False)
    assert (good.start, good.makes_start) == ("drawn_ssd_small", True)
    assert ("lr.peak", "0.003") in quick.start_overrides  # the rate of random weights
    points = choose(QUICK, "photonvision_rubik", PHOTOS, ())
    assert points and ("lr.peak", "0.008") in points.start_overrides
    label(workspace, 50, 100)
    wanted = read_form({"data": "field", "length": "good"})
    assert "train.init.weights=zoo/drawn_ssd_small" in wanted.overrides
    assert not any("init" in override for override in wanted.planned)
    zoo = "data/weights/zoo/drawn_ssd_small"
    tracked = [["dvc", "add", zoo], ["git", "add", f"{zoo}.dvc", "data/weights/zoo/.gitignore"]]
    assert train_form.fetch_start("drawn_ssd_small", is_made=True) == [
        ["bakeoff", "weights", "get", "drawn_ssd_small"], *tracked
    ]  # fmt: skip
    (workspace / zoo).mkdir(parents=True)
    (workspace / f"{zoo}.dvc").touch()
    assert train_form.fetch_start("drawn_ssd_small", is_made=False) == []
    quick = choose(QUICK, "", PHOTOS, ())
    assert quick and (quick.start, quick.makes_start) == ("drawn_ssd_small", False)
    coco = workspace / "data/weights/zoo/ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8"
    coco.mkdir()
    good = choose(GOOD, "limelight_coral", PHOTOS, ())
    assert good and (good.network, good.start) == ("ssd_mobilenet_v2_fpnlite_320", coco.name)


def test_what_is_set_by_hand_wins_over_the_recipe(workspace: Path) -> None:
    label(workspace, 50, 100)
    form = {"data": "field", "length": "quick", "robot": "oak"}
    plain = read_form(form).overrides
    assert {"experiment=photographs", "export=oak", "train.steps=300"} <= {*plain}
    by_hand = read_form({**form, "epochs": "3", "batch": "4", "others": "lr.peak=0.02 export=tflite"}).overrides
    assert {"train.epochs=3", "train.batch_size=4", "lr.peak=0.02", "export=tflite"} <= {*by_hand}
    keys = [override.partition("=")[0] for override in by_hand]
    assert len(keys) == len({*keys}) and "train.steps" not in keys
    assert read_form({**form, "recipe": "demo_points"}).overrides == ["export=oak", "experiment=demo_points"]
    assert read_form({**form, "more": "a" * 16}).choice is None
    network = read_form({**form, "model": "point_nano_128"}).choice
    assert network is not None and network.network == "point_nano_128"


@pytest.mark.parametrize("field", ["length", "robot"])
def test_a_name_that_the_form_does_not_have_is_refused(workspace: Path, field: str) -> None:
    with pytest.raises(train_form.BakeoffError) as error:
        read_form({field: "../x"})
    assert missing_in(str(error.value), "'../x'") == []


def test_the_pace_is_that_of_earlier_runs_here(workspace: Path) -> None:
    assert find_pace("ssd_small", 128, ()) == (169.0, "by rule of thumb")
    assert find_pace("ssd_small", 256, ())[0] == 169.0 / 4
    finish_run(workspace, "a" * 16, "1" * 32, "ssd_small")
    assert find_pace("ssd_small", 128, known_runs()) == (400 * 8 / 100, "as earlier runs here")
    assert find_pace("ssd_tiny", 128, known_runs())[1] == "by rule of thumb"


def test_how_good_it_will_be_is_told_by_earlier_runs_on_the_same_data(page: Page, workspace: Path) -> None:
    label(workspace, 50, 100)
    text = page.get("/train?data=field").text
    assert "reached" not in text and "by rule of thumb" not in text
    assert "not known yet" in page.send("/train/plan", data="field", length="quick").tree["html"]
    finish_run(workspace, "a" * 16, "1" * 32, "ssd_tiny", **{"export.device": "oak"})
    other = find_earlier_result("field", "ssd_small", known_runs())
    assert other and not other.same_network and find_earlier_result("else", "ssd_small", known_runs()) is None
    finish_run(workspace, "b" * 16, "2" * 32, "ssd_small")
    same = find_earlier_result("field", "ssd_small", known_runs())
    assert same and same.same_network and same.run.fingerprint == "b" * 16
    answer = page.send("/train/plan", data="field", length="good").tree
    for html in (answer["html"], answer["recipes"]):
        assert missing_in(html, "This network", "mAP_50 0.81", "0.70 to 0.90") == []
    assert f'href="/runs/{"b" * 16}"' in answer["html"]
    form = page.get("/train?data=field").text
    assert 'value="good" checked' in form and 'value="oak" checked' in form  # as the last run was


def test_the_form_offers_what_fits_the_task_and_the_robot(page: Page, workspace: Path) -> None:
    label(workspace, 50, 100)
    text = page.get("/train?data=field").text
    assert "<option>field" in text.replace(" selected", "") and "<option>coco" not in text  # which has no files
    assert "cnn_small" not in text and "ssd_small: 128 pixels, 169 photos a second" in text
    answer = page.send("/train/plan", data="field", length="quick", robot="photonvision_rk3588").tree
    assert [name for name, _ in answer["models"]] == ["point_nano", "point_small"]
    assert missing_in(answer["recipes"], 'value="quick" checked', "point_nano at 640 pixels") == []
    figures = ("time", "steps", "batch size", "8 photos a step", "steps of an epoch", "5", "epochs", "to learn from")
    assert missing_in(answer["html"], *figures) == []


def test_a_run_is_continued_with_its_own_settings_and_no_recipe(page: Page, workspace: Path) -> None:
    finish_run(workspace, "a" * 16, "1" * 32, "ssd_small")
    text = page.get(f"/train?more={'a' * 16}").text
    assert missing_in(text, f'name="more" value="{"a" * 16}"', "<details open>", 'name="steps" value="800"') == []
    assert 'name="length"' not in text and 'name="robot"' not in text


def test_a_run_is_changed_and_trained_again_with_its_own_settings(page: Page, workspace: Path) -> None:
    label(workspace, 50, 100)
    asked = ("data=field", "model=ssd_tiny", "train.steps=70", "lr.peak=1e12")
    manifest = sweep(sweep_job(1, configurations=(asked,)))
    manifest.folder.mkdir(parents=True)
    manifest.write()
    experiment = manifest.jobs[0].experiment
    made(workspace / ".bakeoff/runs", "a" * 16, State.FAILED, experiment=experiment, run_id="1" * 32, process=NOBODY)
    assert f'href="/train?like={"a" * 16}"' in page.get(f"/runs/{'a' * 16}").text
    text = page.get(f"/train?like={'a' * 16}").text
    shown = (
        "selected>field",
        "<details open>",
        '"ssd_tiny" selected',
        'name="steps" value="70"',
        'value="lr.peak=1e12"',
    )
    assert missing_in(text, *shown) == []
    assert f'value="{"a" * 16}"' not in text  # it begins anew


def test_warnings_are_in_words() -> None:
    raw = [
        "conf/model/ssd_small.yaml: model.anchors: 13% of the training boxes overlap no anchor by 0.5; with …",
        "conf/train/photographs.yaml:8: train.init.weights: is none, so the network starts from random weights",
        "conf/train/photographs.yaml:8: train.batch_size: is 8, more than the 6 training examples; cut to 4 by halves",
        "data/records: is not what the variant asks for, and the numbers are its; run `dvc repro build_records` first",
        "params.yaml:3: memory.budget: is 4.0 GB, but only 1.0 GB are free now",
    ]
    worded = [*word_warnings([*raw, raw[0]], None)]
    assert len(worded) == 5 and missing_in(worded[0], "13%", "boxes", "network") == []
    for words, key in zip(worded, ("anchors", "init", "batch_size", "data/records", "memory"), strict=True):
        assert key not in words and ".yaml" not in words and words.endswith(".")


def test_a_machine_with_more_cores_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    from bakeoff.app.web.training_recipes import _machine_factor

    monkeypatch.setattr(machine, "list_gpus", list)
    monkeypatch.setattr(machine, "cores", lambda: 16)
    _machine_factor.cache_clear()
    assert _machine_factor() == 4.0
    _machine_factor.cache_clear()
