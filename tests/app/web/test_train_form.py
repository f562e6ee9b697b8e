"""The form as arguments of the command line, and its mistakes at their fields."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from bakeoff.app.web import train_form
from bakeoff.app.web.datasets import chosen_data, write_choice
from bakeoff.app.web.train_form import prepare
from bakeoff.app.web.train_request import Mistakes, read_form, sort_mistakes
from bakeoff.experiments.runs.run_status import State
from bakeoff.experiments.sweep.sweep_queue import add_sweep
from bakeoff.foundation.errors import ConfigError
from bakeoff.foundation.workspace import CODE
from support.asking import Page
from support.imports import ROOT
from support.made_runs import made
from support.made_sweeps import sweep, sweep_job
from support.messages import missing_in
from support.workspace_copy import tiny_workspace


@pytest.fixture
def workspace(folder: Path) -> Path:
    shutil.copytree(ROOT / "conf", folder / "conf", dirs_exist_ok=True)
    shutil.copy(ROOT / "params.yaml", folder)
    return folder


def test_the_form_is_changes_of_the_command_line(workspace: Path) -> None:
    form = {"model": "ssd_tiny", "steps": "200", "batch": "4", "minutes": "1.5", "weights": "data/weights/my net",
            "others": "lr.peak=0.01 seed=2", "note": " the\n new  film ", "data": "digits"}  # fmt: skip
    wanted = read_form(form)
    assert wanted.overrides == [
        "model=ssd_tiny", "train.steps=200", "train.batch_size=4", "train.max_minutes=1.5",
        'train.init.weights="data/weights/my net"', "lr.peak=0.01", "seed=2",
    ]  # fmt: skip
    assert (wanted.note, wanted.data) == ("the new film", "digits")


@pytest.mark.parametrize(
    ("form", "field", "parts"),
    [
        ({"steps": "-5"}, "steps", ("above 0", "'-5'")),
        ({"batch": "eight"}, "batch", ("above 0", "'eight'")),
        ({"steps": "5", "epochs": "1"}, "epochs", ("either steps or epochs",)),
        ({"model": "../../etc"}, "model", ("no such option", "'../../etc'", "conf/model/")),
        ({"data": "nothing"}, "data", ("no such option",)),
        ({"others": "--yes"}, "others", ("lr.peak=0.01", "'--yes'")),
        ({"others": "lr.peak='0"}, "others", ("close the quote",)),
        ({"others": "data=coco"}, "others", ("not change the data",)),
        ({"others": "data@x=coco"}, "others", ("data@x",)),
        ({"others": "track.uri=http://169.254.169.254/"}, "others", ("track.uri", "params.yaml")),
        ({"others": "+hydra.run.dir=/"}, "others", ("hydra.run.dir",)),
        ({"others": "lr.peak=${lr.floor}"}, "others", ("${…}", "params.yaml")),
        ({"weights": "${oc.env:HOME}"}, "weights", ("${…}",)),
    ],
)
def test_a_mistake_is_at_its_field(workspace: Path, form: dict[str, str], field: str, parts: tuple[str, ...]) -> None:
    with pytest.raises(Mistakes) as mistakes:
        read_form(form)
    assert missing_in(mistakes.value.by_field[field], *parts) == []


def test_what_the_plan_refuses_is_at_the_field_of_its_key() -> None:
    error = ConfigError(
        "command line: train.steps: must be at most 100, got 200\n"
        "conf/train/demo.yaml:3: train.batch_size: must be 1 or more, got 0\n"
        "command line: lr.peak: must be above 0, got -1\n"
        "params.yaml:7: memory.budget: is too small"
    )
    assert sort_mistakes(error, "lr.peak=-1") == {
        "steps": "train.steps: must be at most 100, got 200",
        "batch": "train.batch_size: must be 1 or more, got 0",
        "others": "lr.peak: must be above 0, got -1",
        "": "params.yaml:7: memory.budget: is too small",
    }


def test_the_page_tells_mistakes_without_starting_anything(page: Page, workspace: Path) -> None:
    answer = page.send("/train/start", steps="-5", key="123456")
    assert (answer.code, [*answer.tree["problems"]]) == (400, ["steps"])
    assert not (workspace / ".bakeoff/web/errands").exists()


def test_params_yaml_chooses_the_data_and_keeps_the_rest(workspace: Path) -> None:
    before = (workspace / "params.yaml").read_text(encoding="utf-8")
    assert chosen_data() == "digits" and write_choice("digits") == []
    assert write_choice("field") == ["params.yaml: data: {use: field}"]
    after = (workspace / "params.yaml").read_text(encoding="utf-8")
    assert after == before.replace("data: {use: digits}", "data: {use: field}")
    long = "experiment: demo\ndata:\n  use: coco\n\n  path: data/raw/x\nseed: 0\n"
    (workspace / "params.yaml").write_text(long, encoding="utf-8")
    write_choice("field")
    text = (workspace / "params.yaml").read_text(encoding="utf-8")
    assert text == "experiment: demo\ndata: {use: field}\nseed: 0\n"


def run_git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def test_data_that_jobs_would_lack_are_handed_to_dvc_and_git(workspace: Path) -> None:
    run_git("init", "--quiet")
    run_git("add", "conf")
    run_git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "Begin")
    option = workspace / "conf/data/field.yaml"
    option.write_text("kind: pascal_voc\npath: data/raw/field\n", encoding="utf-8")
    built = ["dvc", "repro", "build_records"]
    added = ["data/raw/field.dvc", "data/raw/.gitignore", "conf/data/field.yaml"]
    new = ["git", "add", "dvc.lock"]
    assert prepare("field") == [["dvc", "add", "data/raw/field"], ["git", "add", *added], built, new]
    (workspace / "data/raw/field.dvc").touch()
    assert prepare("field") == [["git", "add", "conf/data/field.yaml"], built, new]
    (workspace / "conf/data/other.yaml").touch()
    made = f"stages:\n  code:\n    outs: [{CODE.as_posix()}]\n"
    (workspace / "dvc.yaml").write_text(made, encoding="utf-8")
    new[2:] = ["dvc.lock", "models/code.yaml"]
    assert prepare("field") == [["git", "add", "conf/data/field.yaml", "conf/data/other.yaml"], built, new]
    (workspace / "models").mkdir()
    for file in new[2:]:
        (workspace / file).touch()
    run_git("add", "--all")
    assert prepare("field") == [["git", "add", "conf/data/field.yaml"], built]


@pytest.mark.parametrize("is_known", [True, False], ids=["user", "nobody"])
def test_a_workspace_without_a_commit_gets_one_with_all_but_the_photos(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    """As `bakeoff init` leaves it."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    run_git("init", "--quiet")
    run_git("config", "user.useConfigOnly", "true")
    if is_known:
        run_git("config", "user.name", "Ann")
        run_git("config", "user.email", "ann@example.org")
    (workspace / "conf/data/field.yaml").write_text("kind: pascal_voc\npath: data/raw/field\n", encoding="utf-8")
    (workspace / "data/raw/other").mkdir()
    (workspace / "data/raw/other/1.jpg").touch()
    for command in prepare("field")[-2:]:
        run_git(*command[1:])
    names = run_git("ls-tree", "-r", "--name-only", "HEAD").splitlines()
    assert "params.yaml" in names and "conf/data/field.yaml" in names
    assert not [name for name in names if name.startswith("data/raw")]
    assert run_git("log", "--format=%an").strip() == ("Ann" if is_known else "bakeoff")


def test_the_form_reserves_minutes_and_says_what_is_left(page: Page, workspace: Path) -> None:
    assert "minutes" not in page.get("/models").text and "f-person" not in page.get("/train").text
    (workspace / "conf/team.yaml").write_text("minutes: 60\npeople: {ann: 20}\n", encoding="utf-8")
    run = workspace / ".bakeoff/runs"
    made(run, "a" * 16, State.RUNNING, training_seconds=360.0, spent_seconds=360.0, longest_seconds=1200.0)
    assert "<strong>40.0 of 60 minutes</strong>" in page.get("/models").text
    form = page.get("/train").text
    assert '<option value="ann">ann, 20.0 left</option>' in form and "honest counter between friends" in form
    for more, field, parts in (
        ({"minutes": "41"}, "minutes", ("train.max_minutes: ", "40", "41", "60")),
        ({"minutes": "21", "person": "ann"}, "minutes", ("20", "21")),
        ({"minutes": "1", "person": "bob"}, "person", ("no such person", "'bob'", "conf/team.yaml")),
    ):
        for path in ("/train/plan", "/train/start"):
            answer = page.send(path, steps="200", key="123456", **more)
            assert missing_in(answer.tree["problems"][field], *parts) == []
            assert [*answer.tree["problems"]] == [field]
    assert not (workspace / ".bakeoff/web/errands").exists()


def test_minutes_are_counted_where_the_plan_says_that_it_trains(
    page: Page, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tiny_workspace(folder / "clone")
    workspace.prepare()
    (workspace.folder / "conf/team.yaml").write_text("minutes: 60\n", encoding="utf-8")
    monkeypatch.chdir(workspace.folder)
    monkeypatch.setattr(train_form, "PATIENCE_S", 60.0)
    few, many = (page.send("/train/plan", minutes=minutes).tree for minutes in ("59", "61"))
    assert few["problems"] == {} and "train" in few["html"]
    assert missing_in(many["problems"]["minutes"], "train.max_minutes: ", "61", "60") == []


def test_the_same_training_is_not_put_into_the_line_twice(page: Page, workspace: Path) -> None:
    manifest = sweep(sweep_job(1), overrides=("train.steps=200",), note="film")
    manifest.folder.mkdir(parents=True)
    manifest.write()
    add_sweep(manifest)
    answer = page.send("/train/start", steps="200", note="film", key="123456")
    assert answer.code == 400
    assert missing_in(answer.tree["problems"][""], manifest.id, "the same training", "note", "seed") == []
    assert not (workspace / ".bakeoff/web/errands").exists()


def test_without_records_the_form_says_that_start_builds_them(page: Page, workspace: Path) -> None:
    answer = page.send("/train/plan", steps="200")
    assert answer.tree["problems"] == {} and "Start builds them first" in answer.tree["html"]


def test_a_plan_that_takes_long_is_asked_for_again(
    page: Page, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "data/records").mkdir()
    shutil.copy(ROOT / "dvc.yaml", workspace)
    (workspace / "data/records/manifest.json").touch()
    monkeypatch.setattr(train_form, "PATIENCE_S", 0.0)
    monkeypatch.setattr(train_form, "MOST_PLANS", 1)
    forms = [{"others": f"lr.peak=-{number}", "key": "123456"} for number in (1, 2)]
    for form in forms:  # the second is not begun beside the first
        assert page.send("/train/plan", **form).tree["again"]
        assert page.send("/train/start", **form).tree == {"again": True}
    for form in forms:
        deadline = time.monotonic() + 60
        while (answer := page.send("/train/plan", **form).tree).get("again") and time.monotonic() < deadline:
            time.sleep(0.05)
        assert missing_in(answer["problems"]["others"], "lr.peak", form["others"].partition("=")[2]) == []
    assert not (workspace / ".bakeoff/web/errands").exists()


def test_the_form_proposes_the_set_of_photos_with_most_labels(page: Page, workspace: Path) -> None:
    assert "selected>digits" in page.get("/train").text
    for name, labels in (("few", 1), ("many", 2)):
        for number in range(labels):
            for inside, suffix in (("images", "jpg"), ("annotations", "xml")):
                file = workspace / f"data/raw/{name}/{inside}/{number}.{suffix}"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch()
        (workspace / f"conf/data/{name}.yaml").write_text(
            f"kind: pascal_voc\npath: data/raw/{name}\n", encoding="utf-8"
        )
    assert "selected>many" in page.get("/train").text
    assert "selected>few" in page.get("/train?data=few").text
    write_choice("few")
    assert "selected>few" in page.get("/train").text
