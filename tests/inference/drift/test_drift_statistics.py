"""New images beside those of a run: luck is no difference, darkness is one."""

import io
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bakeoff.config.compose.data_source import choose_source
from bakeoff.config.compose.whole_run import load
from bakeoff.dataset.records.record import Record
from bakeoff.inference.drift.drift_report import describe
from bakeoff.inference.drift.drift_statistics import ImageSample, compare_samples, compare_with_all, rank_foreign
from bakeoff.inference.drift.samples import choose_some
from bakeoff.stages.build_records import build_records
from bakeoff.stages.render_config import render_config
from support.commands import run_bakeoff
from support.imports import ROOT
from support.messages import missing_in
from support.page_reading import defects_of
from support.workspace_copy import TINY

PARAMS, RECORDS, RUN = Path("params.yaml"), Path("data/records"), Path("models/config/run.yaml")
DATA = "data: {use: digits_single, train_examples: 60, validation_examples: 60, side: 24, seed: 3}"
LINES = TINY | {"data": DATA, "model": "model: {use: cnn_small, input_size: 24, width: 0.25}"}
OF_CLIPS = LINES | {
    "data": "data: {use: digits_motion, train_examples: 4, validation_examples: 2, frames: 6, side: 32}",
    "model": "model: {use: clip_small, input_size: 32, frames: 4, width: 0.25}",
}


def world(draw: np.random.Generator, size: int, light: float = 25.0) -> ImageSample:
    """As of pictures: some aspects are skewed, and some of the features go with the light."""
    brightness = draw.gamma(4, light, (size, 1))
    features = np.concatenate([draw.normal(size=(size, 6)) + brightness / 50, draw.exponential(size=(size, 6))], axis=1)
    aspects = {
        "size": draw.choice([480.0, 640.0], (size, 1)), "shape": np.ones((size, 1)), "brightness": brightness,
        "sharpness": draw.lognormal(size=(size, 1)), "colours": draw.normal(0, 20, (size, 3)),
        "network features": features,
    }  # fmt: skip
    return ImageSample([f"{at}.png" for at in range(size)], aspects)


def test_two_draws_of_one_world_differ_in_five_of_a_hundred_at_most_and_darkened_images_are_found() -> None:
    """By a rule of 5 % more than 10 of 100 differ in one of a hundred such tests; the draws are always the same."""
    draw, different = np.random.default_rng(0), 0
    for _ in range(100):
        aspects = compare_samples(world(draw, 40), world(draw, 20))
        assert {aspect.name for aspect in aspects} == set(world(draw, 1).aspects) - {"shape"}  # which is always 1
        different += any(aspect.differs for aspect in aspects)
    assert different <= 5
    hits = 0
    for _ in range(10):
        aspects = compare_samples(world(draw, 60), world(draw, 30, light=12))
        hits += aspects[0].differs and {"brightness", "network features"} >= {aspects[0].name}
    assert hits == 10


def test_images_that_are_like_those_of_the_training_alone_are_no_others() -> None:
    draw = np.random.default_rng(2)
    trained, judged, new = world(draw, 60), world(draw, 60, light=60), world(draw, 30)
    assert any(aspect.differs for aspect in compare_samples(judged, new))
    assert not any(aspect.differs for aspect in compare_with_all([trained, judged], new))
    assert any(aspect.differs for aspect in compare_with_all([trained, judged], world(draw, 30, light=6)))


def test_the_most_foreign_come_first_with_the_aspect_in_which_they_are() -> None:
    draw = np.random.default_rng(1)
    own, new = world(draw, 60), world(draw, 12)
    new.aspects["colours"][7] = [200.0, -100.0, -100.0]
    first = rank_foreign(own, new)[0]
    assert (first.name, first.aspect, first.farther_than) == ("7.png", "colours", 1.0) and first.distance > 5


def test_images_that_are_all_the_same_differ_in_nothing() -> None:
    same = ImageSample(["a"] * 10, {"size": np.ones((10, 1)), "brightness": np.full((10, 1), 7.0)})
    [statement] = describe(compare_samples(same, same))
    assert statement.startswith("no difference: ")


def test_of_many_images_the_same_ones_are_looked_at_every_time() -> None:
    assert choose_some(3) == [0, 1, 2]
    some = choose_some(10_000)
    assert len(set(some)) == 300 and some == choose_some(10_000) and some[-1] > 9_000


def render(lines: dict[str, str]) -> None:
    """Records that are drawn, the variant, and weights as they are before a training."""
    PARAMS.write_text(
        "\n".join([*lines.values(), "memory: medium", "evaluate: standard", "track: none", "seed: 0"]), encoding="utf-8"
    )
    chosen = choose_source(PARAMS, Path("conf"))
    build_records(chosen.source, RECORDS, source_digest=chosen.digest)
    render_config(PARAMS, Path("conf"), RECORDS, RUN, facts=Path("networks"))
    run = load(RUN)
    Path("models/train").mkdir(exist_ok=True)
    run.model.build(run.derived.num_classes).save_weights("models/train/best.weights.h5")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    shutil.copytree(ROOT / "conf", "conf")
    shutil.copy(ROOT / "dvc.yaml", "dvc.yaml")
    return tmp_path


def draw_folder(folder: Path, records: list[Record], light: float = 1.0) -> None:
    folder.mkdir()
    for number, record in enumerate(records):
        pixels = np.asarray(Image.open(io.BytesIO(record.frames[0])).convert("RGB"))
        Image.fromarray((pixels * light).astype(np.uint8)).save(folder / f"{number:02d}.png")


def test_the_command_says_no_difference_of_its_own_world_and_finds_darkened_images(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    render(LINES)
    PARAMS.write_text(PARAMS.read_text(encoding="utf-8").replace("seed: 3", "seed: 4"), encoding="utf-8")
    source = choose_source(PARAMS, Path("conf")).source
    records = list(source.records("validation"))[:30]  # type: ignore[union-attr]
    draw_folder(workspace / "same", records)
    draw_folder(workspace / "dark", records, 0.3)
    (workspace / "dark/broken.jpg").write_bytes(b"no picture")
    draw_folder(workspace / "few", records[:3])
    (workspace / "empty").mkdir()

    def drift(*arguments: str) -> tuple[int, str, str]:
        return run_bakeoff(monkeypatch, capsys, "drift", *arguments)

    code, out, err = drift("same")
    assert code == 0 and err == "" and missing_in(out, "60 train", "60 validation", "this workspace's run") == []
    assert "no difference shown" in out
    code, out, err = drift("dark", "--html", "page.html")
    assert code == 0 and missing_in(err, f"{workspace}/dark/broken.jpg: ", "passed over", "b'no pictu'") == []
    assert "30 images of" in out and "; 1 could not be read" in out
    assert "by more than chance explains:" in out and "  brightness " in out
    page = (workspace / "page.html").read_text(encoding="utf-8")
    assert page.count("<figure>") == 24 and "network features" in page and defects_of(page) == []
    assert "drift: no statement: 3 images in" in drift("few")[1]
    code, _, err = drift("empty")
    assert code == 2 and err.startswith(f"{workspace}/empty: no image")
    assert missing_in(drift("nowhere")[2], f"{workspace}/nowhere: no such folder") == []
    Path("models/train/best.weights.h5").unlink()
    assert missing_in(drift("same")[2], "models/train: nothing", "`dvc repro`", "name a run") == []


def test_a_run_of_clips_is_refused(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    render(OF_CLIPS)
    (workspace / "new").mkdir()
    Image.new("RGB", (9, 9)).save(workspace / "new/a.png")
    message = run_bakeoff(monkeypatch, capsys, "drift", "new")[2]
    assert missing_in(message, "this workspace's run: ", "clips", "images") == []
