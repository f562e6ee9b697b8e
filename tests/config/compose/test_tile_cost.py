"""What a variant with tiles is told before it runs: mistakes, what tiles cost, and where they bring nothing."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bakeoff.config.compose.letterbox_cost import LetterboxCost, find_too_small, place_boxes
from bakeoff.config.compose.tile_cost import TilePrice, enlarge_boxes, read_sizes
from bakeoff.config.compose.variant import ResolvedVariant, read_variant
from bakeoff.dataset.building.write_shards import make_records
from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.dataset.sources.synthetic_digits import DigitScenes
from bakeoff.learning.networks.tiles import Tiles
from support.imports import ROOT
from support.messages import missing_in

PARAMS = """\
experiment: demo
data: {use: digits, train_examples: 8, validation_examples: 5}
model: MODEL
train: {use: smoke}
track: none
seed: 0
"""
Read = Callable[[str], ResolvedVariant]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of pictures of 160 to 192 pixels."""
    folder = tmp_path_factory.mktemp("workspace")
    shutil.copytree(ROOT / "conf", folder / "conf")
    make_records(DigitScenes(train_examples=8, validation_examples=5), folder / "records", "")
    return folder


@pytest.fixture
def read(workspace: Path) -> Read:
    def read(model: str) -> ResolvedVariant:
        params = workspace / "params.yaml"
        params.write_text(PARAMS.replace("MODEL", model), encoding="utf-8")
        return read_variant(params, workspace / "conf", workspace / "records", facts=workspace / "facts")

    return read


@pytest.mark.parametrize(
    ("model", "parts"),
    [
        ("{use: ssd_tiny, tiles: {size: 96, grid: [2, 2]}}", ("model.tiles.size", "must be set", "grid")),
        ("{use: ssd_tiny, tiles: {size: 96, overlap: 0.9}}", ("model.tiles.overlap", "0.8", "0.9")),
        (
            "{use: ssd_tiny, tiles: {size: 96, pverlap: 0.3}}",
            ("model.tiles.pverlap", "key", "'overlap'"),
        ),
        ("{use: ssd_tiny, tiles: 96}", ("model.tiles: ", "mapping", "96")),
        ("{use: cnn_small, tiles: {size: 96}}", ("model.tiles: ", "no such key")),
        ("{use: clip_small, tiles: {size: 96}}", ("model.tiles: ", "no such key")),
    ],
)
def test_a_mistake_is_one_line(read: Read, model: str, parts: tuple[str, ...]) -> None:
    lines = [line for line in read(model).problems.lines if "tiles" in line]
    assert len(lines) == 1 and missing_in(lines[0], *parts) == [], lines


def test_tiles_larger_than_every_picture_are_warned_of_and_tiles_that_fit_are_not(read: Read) -> None:
    [warning] = read("{use: ssd_tiny, tiles: {size: 320}}").problems.warnings
    assert missing_in(warning, "model.tiles.size: 320", "largest is 1", "smaller", "data.max_side") == []
    [warning] = read("{use: point_nano_128, tiles: {size: 16}}").problems.warnings
    assert missing_in(warning, "model.tiles: makes 2", "views", "larger tiles", "overlap") == []
    variant = read("{use: point_nano_128, tiles: {size: 96}}")
    assert variant.problems.warnings == [] and variant.whole().model.tiles == Tiles(size=96)


def test_records_without_their_shards_are_said_plainly(workspace: Path, read: Read, tmp_path: Path) -> None:
    moved = shutil.copytree(workspace / "records", tmp_path / "records")
    for index in moved.glob("validation-*"):
        index.unlink()
    read("{use: ssd_tiny, tiles: {size: 96}}")
    variant = read_variant(workspace / "params.yaml", workspace / "conf", moved, facts=workspace / "facts")
    assert any("sizes of pictures" in line for line in variant.problems.lines)


def test_the_price_is_counted_on_the_pictures_as_they_are_stored(workspace: Path) -> None:
    sizes = read_sizes(workspace / "records", read_manifest(workspace / "records"))
    assert sizes.shape == (5, 2) and 160 <= sizes.min() <= sizes.max() <= 192
    price = TilePrice.of(Tiles(size=100), np.array([[720, 960], [90, 100], [100, 180]]))
    assert (price.views, price.most_tiles, price.largest) == (3, 9 * 12 + 1, (720, 960))
    assert missing_in(str(price), "3 views", "109", "validation", "evaluation", "prediction") == []


def test_anchors_are_held_against_boxes_as_a_tile_shows_them() -> None:
    boxes = np.array([[0.5, 0.5, 0.51, 0.52], [0.0, 0.0, 0.5, 0.5]], np.float32)
    enlarged = enlarge_boxes(boxes, Tiles(size=100), np.array([[1000, 500]]))
    np.testing.assert_allclose(enlarged[:, 2:] - enlarged[:, :2], [[0.1, 0.1]], rtol=1e-4)  # the second fits in no tile


# `model.fit: letterbox`


def test_a_fit_of_another_word_is_one_line_that_names_the_two(read: Read) -> None:
    [line] = [line for line in read("{use: ssd_tiny, fit: pad}").problems.lines if "fit" in line]
    assert missing_in(line, "model.fit", "'pad'", "letterbox, stretch") == []
    [line] = [
        line for line in read("{use: cnn_small, fit: letterbox, central_crop: 0.8}").problems.lines if "crop" in line
    ]
    assert missing_in(line, "model.central_crop", "1 with fit: letterbox", "0.8") == []


def test_a_network_that_was_stretched_for_a_device_that_letterboxes_is_warned_of(read: Read) -> None:
    device = "point_nano, fit: FIT}\nexport: photonvision_rubik"
    [line] = read(f"{{use: {device.replace('FIT', 'stretch')}").problems.warnings
    assert missing_in(line, "model.fit", "photonvision_rubik", "model.fit: letterbox") == []
    assert read(f"{{use: {device.replace('FIT', 'letterbox')}").problems.warnings == []


def test_what_a_letterbox_wastes_is_counted_by_the_pictures_and_boxes_of_the_records() -> None:
    boxes = np.array([[0.0, 0.0, 0.05, 0.5], *[[0.25, 0.25, 0.75, 0.75]] * 9])
    cost = LetterboxCost.of(np.array([[720, 1280], [720, 1280], [100, 100]]), 640, boxes)
    assert (cost.height, cost.width) == (360, 640)
    assert cost.smallest == pytest.approx(18 + 0.9 * (180 - 18))
    wastes = "640 x 360", "640 x 640", "43.75%", "grey", f"{cost.smallest:.1f} pixels", "1.8 times"
    assert missing_in(str(cost), *wastes) == []
    square = str(LetterboxCost.of(np.array([[64, 64]]), 640, None))
    assert missing_in(square, "0%") == [] and "stretched" not in square
    np.testing.assert_allclose(
        place_boxes(boxes[1:2], np.array([[720, 1280]]), 640), [[0.359375, 0.25, 0.640625, 0.75]]
    )


def test_a_camera_so_wide_that_a_letterbox_makes_objects_too_small_is_warned_of(read: Read) -> None:
    sizes, boxes = np.array([[720, 1280]]), np.array([[0.0, 0.0, 0.02, 0.5]])
    warning = find_too_small(LetterboxCost.of(sizes, 640, boxes))
    assert warning and missing_in(warning, "7.2 pixels", "8", "model.input_size", "camera") == []
    assert find_too_small(LetterboxCost.of(sizes, 1280, boxes)) is None
    assert find_too_small(LetterboxCost.of(sizes, 320, boxes)) is None  # stretched, they would be too small as well
    assert find_too_small(LetterboxCost.of(sizes, 640, None)) is None
    lines = read("{use: ssd_tiny, input_size: 64, fit: letterbox}").problems.warnings
    assert not any("letterbox makes" in line for line in lines)  # the demo's pictures are nearly square


@pytest.mark.parametrize(("fit", "square"), [("letterbox", True), ("letterbox", False), ("stretch", True)])
def test_a_letterbox_is_refused_with_records_that_are_squares_already(workspace: Path, fit: str, square: bool) -> None:
    params = PARAMS.replace("MODEL", f"{{use: ssd_tiny, fit: {fit}}}")
    data = f"data: {{use: pascal_voc, max_side: 160, square: {str(square).lower()}}}"
    params = params.replace("data: {use: digits, train_examples: 8, validation_examples: 5}", data)
    (workspace / "params.yaml").write_text(params, encoding="utf-8")
    variant = read_variant(
        workspace / "params.yaml", workspace / "conf", workspace / "records", facts=workspace / "facts"
    )
    lines = [line for line in variant.problems.lines if "model.fit" in line]
    assert bool(lines) == (fit == "letterbox" and square), variant.problems.lines
    assert not lines or missing_in(lines[0], "model.fit", "stretch", "data.square: true", "letterbox") == []
