"""A checkpoint taken apart into a Keras archive and the rest, and joined to the same bytes."""

import zipfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.learning.checkpoints import checkpoint
from bakeoff.tracking.journal.keras_archive import ArchiveLayout, Weight, join, take_apart
from support.messages import missing_in

KERNEL, BIAS = np.arange(6, dtype="<f4").reshape(2, 3), np.array([7], "<f4")
LAYOUT = ArchiveLayout(
    config="{}",
    metadata="{}",
    weights=(
        Weight("dense/kernel", "layers/dense/vars/0", "<f4", (2, 3)),
        Weight("dense/bias", "layers/dense/vars/1", "<f4", (1,)),
    ),
    groups={"": {}, "layers/dense/vars": {"name": "dense"}},
    states={"layers/dropout/seed/vars/0": ("<u4", [3, 4])},
)
PATHS = {"network/00000": "dense/kernel", "network/00002": "dense_17/bias"}  # Keras made up another number


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A checkpoint whose weights stand between other arrays."""
    arrays: dict[str, Any] = {
        "network/00000": KERNEL,
        "network/00001": np.array([3, 4], "<u4"),
        "network/00002": BIAS,
        "optimizer/00000": np.full((2, 3), 0.5, "<f4"),
        "random/python": np.array(5.0),
    }
    checkpoint.write(tmp_path / "00000010", {"seconds": 0.1, "paths": PATHS}, arrays)
    return tmp_path / "00000010"


def parts(saved: Path) -> tuple[Path, Path, dict[str, str]]:
    archive, rest = saved.with_name("model.keras"), saved.with_name("rest")
    return archive, rest, take_apart(saved, LAYOUT, archive, rest)


def test_both_parts_give_the_checkpoint_back_to_the_bit_and_no_weight_is_in_both(saved: Path) -> None:
    archive, rest, places = parts(saved)
    assert places == {"network/00000": "layers/dense/vars/0", "network/00002": "layers/dense/vars/1"}
    whole, content = saved.read_bytes(), rest.read_bytes()
    assert len(content) == len(whole) - KERNEL.nbytes - BIAS.nbytes
    for size in (1, 7, len(content)):  # parts of any size
        pieces = [content[start : start + size] for start in range(0, len(content), size)]
        assert b"".join(join(pieces, archive, places)) == whole


def test_the_archive_is_what_keras_writes_and_equal_weights_are_equal_bytes(saved: Path) -> None:
    import h5py

    archive, *_ = parts(saved)
    first = archive.read_bytes()
    with zipfile.ZipFile(archive) as packed:
        assert [entry.compress_type for entry in packed.infolist()] == [zipfile.ZIP_STORED] * 3
        weights = packed.extract("model.weights.h5", saved.parent)
    with h5py.File(weights) as stored:
        assert stored["layers/dense/vars/0"][()].tolist() == KERNEL.tolist()
        assert stored["layers/dense/vars"].attrs["name"] == "dense"
        assert stored["layers/dropout/seed/vars/0"][()].tolist() == [3, 4]
    parts(saved)
    assert archive.read_bytes() == first


@pytest.mark.parametrize(
    ("weights", "named"),
    [
        (LAYOUT.weights[:1], ("2 weights", "network has 1")),
        ((LAYOUT.weights[0], replace(LAYOUT.weights[1], shape=(2,))), ("dense_17/bias", "(1,)", "(2,)")),
        ((LAYOUT.weights[0], replace(LAYOUT.weights[1], path="dense/scale")), ("dense_17/bias",)),
    ],
)
def test_a_checkpoint_of_another_network_is_refused(weights: Any, named: tuple[str, ...], saved: Path) -> None:
    with pytest.raises(ValueError, match=".") as caught:
        take_apart(saved, replace(LAYOUT, weights=weights), saved.with_name("a"), saved.with_name("b"))
    assert missing_in(str(caught.value), *named) == []


def test_a_checkpoint_of_an_earlier_version_names_no_weights(tmp_path: Path) -> None:
    checkpoint.write(tmp_path / "00000010", {"seconds": 0.1}, {"network/00000": KERNEL})
    with pytest.raises(ValueError, match="0 weights"):
        take_apart(tmp_path / "00000010", LAYOUT, tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize(
    "damage", [lambda content: b"", lambda content: content[:90], lambda content: content[:-90]], ids=["gone", "a", "b"]
)
@pytest.mark.parametrize("which", ["model.keras", "rest"])
def test_a_part_that_is_damaged_is_refused(which: str, damage: Callable[[bytes], bytes], saved: Path) -> None:
    archive, rest, places = parts(saved)
    file = saved.with_name(which)
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(ValueError, match="."):
        list(join([rest.read_bytes()], archive, places))


def test_a_layout_is_read_as_it_was_written(tmp_path: Path) -> None:
    import json

    (tmp_path / "layout.json").write_text(json.dumps(asdict(LAYOUT)))
    assert ArchiveLayout.read(tmp_path / "layout.json").weights == LAYOUT.weights
