"""What a variant with tiles is told before it runs: mistakes, what tiles cost, and where they bring nothing."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bakeoff.config.compose.tile_cost import TilePrice, enlarge_boxes, read_sizes
from bakeoff.config.compose.variant import ResolvedVariant, read_variant
from bakeoff.dataset.building.write_shards import make_records
from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.dataset.sources.synthetic_digits import DigitScenes
from bakeoff.learning.networks.tiles import Tiles
from support.imports import ROOT

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
    ("model", "expected"),
    [
        ("{use: ssd_tiny, tiles: {size: 96, grid: [2, 2]}}", "model.tiles.size: must be set, or grid instead of it"),
        ("{use: ssd_tiny, tiles: {size: 96, overlap: 0.9}}", "model.tiles.overlap: must be between 0 and 0.8, got 0.9"),
        (
            "{use: ssd_tiny, tiles: {size: 96, pverlap: 0.3}}",
            "model.tiles.pverlap: no such key; did you mean 'overlap'?",
        ),
        ("{use: ssd_tiny, tiles: 96}", "model.tiles: must be a mapping, got 96"),
        ("{use: cnn_small, tiles: {size: 96}}", "model.tiles: no such key; "),
        ("{use: clip_small, tiles: {size: 96}}", "model.tiles: no such key; "),
    ],
)
def test_a_mistake_is_one_line(read: Read, model: str, expected: str) -> None:
    lines = [line for line in read(model).problems.lines if "tiles" in line]
    assert len(lines) == 1 and expected in lines[0], lines


def test_tiles_larger_than_every_picture_are_warned_of_and_tiles_that_fit_are_not(read: Read) -> None:
    [warning] = read("{use: ssd_tiny, tiles: {size: 320}}").problems.warnings
    assert "model.tiles.size: 320 pixels show all of every picture as it is stored, the largest is 1" in warning
    assert "choose a smaller size, or build records of larger pictures (data.max_side)" in warning
    [warning] = read("{use: point_nano_128, tiles: {size: 16}}").problems.warnings
    assert "model.tiles: makes 2" in warning and "views of a picture; choose larger tiles or less overlap" in warning
    variant = read("{use: point_nano_128, tiles: {size: 96}}")
    assert variant.problems.warnings == [] and variant.whole().model.tiles == Tiles(size=96)


def test_records_without_their_shards_are_said_plainly(workspace: Path, read: Read, tmp_path: Path) -> None:
    moved = shutil.copytree(workspace / "records", tmp_path / "records")
    for index in moved.glob("validation-*"):
        index.unlink()
    read("{use: ssd_tiny, tiles: {size: 96}}")
    variant = read_variant(workspace / "params.yaml", workspace / "conf", moved, facts=workspace / "facts")
    assert any("the sizes of pictures cannot be read" in line for line in variant.problems.lines)


def test_the_price_is_counted_on_the_pictures_as_they_are_stored(workspace: Path) -> None:
    sizes = read_sizes(workspace / "records", read_manifest(workspace / "records"))
    assert sizes.shape == (5, 2) and 160 <= sizes.min() <= sizes.max() <= 192
    price = TilePrice.of(Tiles(size=100), np.array([[720, 960], [90, 100], [100, 180]]))
    assert (price.views, price.most_tiles, price.largest) == (3, 9 * 12 + 1, (720, 960))
    assert str(price).startswith(
        "3 views of a picture, up to 109: validation, evaluation and prediction call the network"
    )


def test_anchors_are_held_against_boxes_as_a_tile_shows_them() -> None:
    boxes = np.array([[0.5, 0.5, 0.51, 0.52], [0.0, 0.0, 0.5, 0.5]], np.float32)
    enlarged = enlarge_boxes(boxes, Tiles(size=100), np.array([[1000, 500]]))
    np.testing.assert_allclose(enlarged[:, 2:] - enlarged[:, :2], [[0.1, 0.1]], rtol=1e-4)  # the second fits in no tile
