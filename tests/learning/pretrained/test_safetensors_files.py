"""Files of safetensors: the same tensors, and what is none is refused in one line."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bakeoff.foundation.errors import DataError
from bakeoff.learning.networks.yolox import Yolox
from bakeoff.learning.plan.train_settings import Init
from bakeoff.learning.pretrained.load_report import load_first_weights
from bakeoff.learning.pretrained.safetensors_files import read_safetensors
from bakeoff.learning.pretrained.weight_files import open_weights
from bakeoff.learning.pretrained.weight_source import origin_of
from support.safetensors_archives import KINDS, entry, packed, write_safetensors

DRAW = np.random.default_rng(4)


def test_numbers_of_every_kind_are_read(tmp_path: Path) -> None:
    arrays = {name: (DRAW.uniform(0, 5, (2, 3)) > 1).astype(name) * np.array(3).astype(name) for name in KINDS}
    write_safetensors(
        tmp_path / "a.safetensors", arrays | {"none": np.zeros((0, 4), np.float32), "one": np.array(2.5, np.float32)}
    )
    read = read_safetensors(tmp_path / "a.safetensors")
    for name, array in arrays.items():
        shape, numbers = read[name]
        np.testing.assert_array_equal(numbers(), array)
        assert shape == (2, 3) and numbers().dtype == (np.float32 if "float" in name else array.dtype)
    assert read["none"][1]().shape == (0, 4) and read["one"][1]() == 2.5


def test_numbers_of_brain_floats_are_read(tmp_path: Path) -> None:
    numbers = np.array([1.5, -2.0, 384.0], np.float32)
    (tmp_path / "a.safetensors").write_bytes(
        packed({"w": entry(0, 6, [3], "BF16")}, (numbers.view(np.uint32) >> 16).astype("<u2").tobytes())
    )
    np.testing.assert_array_equal(read_safetensors(tmp_path / "a.safetensors")["w"][1](), numbers)


def test_layers_have_their_names_and_axes(tmp_path: Path) -> None:
    arrays = {
        "a.in_proj_weight": DRAW.normal(size=(6, 2)), "a.in_proj_bias": DRAW.normal(size=6),
        "norm.weight": DRAW.normal(size=2), "norm.bias": DRAW.normal(size=2), "lab.scale": DRAW.normal(size=1),
        "b.class_embed.weight": DRAW.normal(size=(4, 2)), "c.weight": DRAW.normal(size=(4, 2)),
    }  # fmt: skip
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    write_safetensors(tmp_path / "weights.safetensors", arrays)
    with open_weights(tmp_path / "weights.safetensors") as layers:
        read = {f"{layer}/{name}": one.read() for layer, inside in layers.items() for name, one in inside.items()}
    for number, part in enumerate("qkv"):
        rows = slice(2 * number, 2 * number + 2)
        np.testing.assert_array_equal(read[f"a.{part}_proj/kernel"], arrays["a.in_proj_weight"][rows].T)
        np.testing.assert_array_equal(read[f"a.{part}_proj/bias"], arrays["a.in_proj_bias"][rows])
    np.testing.assert_array_equal(read["norm/gamma"], arrays["norm.weight"])
    np.testing.assert_array_equal(read["norm/beta"], arrays["norm.bias"])
    np.testing.assert_array_equal(read["lab/scale"], arrays["lab.scale"])
    np.testing.assert_array_equal(read["b.class_embed/kernel"], arrays["b.class_embed.weight"])
    np.testing.assert_array_equal(read["c/kernel"], arrays["c.weight"].T)


GOOD = np.ones(2, np.float32).tobytes()
HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "0 bytes"),
    "a header that is said to be huge": (lambda: (2**62).to_bytes(8, "little") + b"{}", str(2**62)),
    "a header that ends too early": (lambda: packed({"w": entry(0, 8, [2])})[:20], "header"),
    "no JSON": (lambda: packed(b"{'w': 1}", GOOD), "no JSON"),
    "a list": (lambda: packed([1], GOOD), "no JSON object"),
    "deep lists": (lambda: packed(b"[" * 100_000, GOOD), "no JSON"),
    "no tensors": (lambda: packed({"__metadata__": {}}), "no tensors"),
    "a name twice": (lambda: packed(b'{"w": 1, "w": 2}', GOOD), "twice"),
    "an unknown kind": (lambda: packed({"w": entry(0, 8, [2], "F4")}, GOOD), "'F4'"),
    "a number for a tensor": (lambda: packed({"w": 3}, GOOD), "w has"),
    "a shape below 0": (lambda: packed({"w": entry(0, 8, [-2])}, GOOD), "whole numbers"),
    "a shape of truths": (lambda: packed({"w": entry(0, 4, [True])}, GOOD[:4]), "whole numbers"),
    "a shape of too many": (lambda: packed({"w": entry(0, 8, [2**40, 2**40])}, GOOD), "8 bytes"),
    "overlapping": (lambda: packed({"v": entry(0, 8, [2]), "w": entry(4, 12, [2])}, GOOD + GOOD[:4]), "overlap"),
    "a gap": (lambda: packed({"w": entry(4, 12, [2])}, GOOD + GOOD[:4]), "no tensor"),
    "outside": (lambda: packed({"w": entry(0, 80, [20])}, GOOD), "cut"),
    "bytes behind": (lambda: packed({"w": entry(0, 8, [2])}, GOOD + b"more"), "longer"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_such_file_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    make, reason = HOSTILE[name]
    path = tmp_path / "bad.safetensors"
    path.write_bytes(make())
    with pytest.raises(DataError) as refused, open_weights(path):
        pass
    assert path.name in str(refused.value) and reason in str(refused.value) and "\n" not in str(refused.value)


def test_the_index_of_several_files_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": {"w": "model-00001-of-00002.safetensors"}}), encoding="utf-8")
    with pytest.raises(DataError, match="index of several"), open_weights(path):
        pass


def test_a_part_of_several_and_numbers_that_are_none_are_refused(tmp_path: Path) -> None:
    model = Yolox(input_size=32, width=0.0625, depth=0.1)
    path, name = tmp_path / "model-00001-of-00002.safetensors", "backbone.backbone.stem.conv.bn"
    network = model.build(2)
    gamma = network.get_layer(name).gamma
    beside = {"bias": "beta", "running_mean": "moving_mean", "running_var": "moving_variance"}
    arrays = {f"{name}.{key}": np.ones(gamma.shape, np.float32) for key in ("weight", *beside)}
    write_safetensors(path, arrays)
    for warm, reason in ((), "fits 4 of"), (("*",), "holds no"):
        init = Init(str(path), warm_start=warm)
        with pytest.raises(DataError, match=reason):
            load_first_weights(network, model, init, origin_of(init, Path))
    write_safetensors(path, arrays | {f"{name}.weight": np.full(gamma.shape, np.nan, np.float32)})
    with pytest.raises(DataError, match=f"{name}/gamma.*not finite"):
        load_first_weights(network, model, Init(str(path)), origin_of(Init(str(path)), Path))
