"""Every network's parts name its variables, all of them and nothing else."""

from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import pytest

from bakeoff.networks.applications import EfficientNetV2B0, MobileNetV2, MobileNetV3
from bakeoff.networks.inception import InceptionV3
from bakeoff.networks.s3dg import S3dG

SMALL: dict[str, Any] = {
    "mobilenet_v2": MobileNetV2(input_size=32, width=0.35),
    "mobilenet_v3_small": MobileNetV3(input_size=32, width=0.5),
    "mobilenet_v3_large": MobileNetV3(size="large", input_size=32, width=0.35),
    "efficientnet_v2_b0": EfficientNetV2B0(input_size=32),
    "inception_v3": InceptionV3(input_size=75),
    "inception_v3_of_one_head": InceptionV3(input_size=75, auxiliary_weight=0.0),
    "s3dg": S3dG(input_size=32, frames=2, depth_multiplier=0.125),
    "s3d": S3dG(input_size=32, frames=2, depth_multiplier=0.125, gating=False),
}
COARSE = ("backbone", "head")


@cache
def paths_in(kind: str) -> list[str]:
    return [weight.path for weight in SMALL[kind].build(3).weights]


@pytest.mark.parametrize("kind", SMALL)
def test_every_variable_is_in_one_coarse_part_and_every_pattern_names_some(kind: str) -> None:
    settings, paths = SMALL[kind], paths_in(kind)
    for path in paths:
        inside = [part for part in COARSE if any(fnmatchcase(path, pattern) for pattern in settings.parts[part])]
        assert len(inside) == 1, path
    idle = [
        (part, pattern)
        for part, patterns in settings.parts.items()
        for pattern in patterns
        if not any(fnmatchcase(path, pattern) for path in paths)
    ]
    assert idle == []


def named(kind: str, part: str) -> set[str]:
    patterns = SMALL[kind].parts[part]
    return {path for path in paths_in(kind) if any(fnmatchcase(path, pattern) for pattern in patterns)}


@pytest.mark.parametrize(
    "kind", ["mobilenet_v2", "mobilenet_v3_small", "efficientnet_v2_b0", "inception_v3_of_one_head"]
)
def test_logits_are_the_last_layer_alone(kind: str) -> None:
    assert named(kind, "logits") == {"logits/kernel", "logits/bias"}


def test_blocks_of_s3dg_can_be_set_free_from_the_top_down() -> None:
    steps = ("logits", "mixed_5", "mixed_4", "mixed_3", "conv2d_2c", "conv2d_2b", "conv2d_1a")
    found = {step: named("s3dg", step) for step in steps}
    assert sorted(path for paths in found.values() for path in paths) == sorted(paths_in("s3dg"))
    assert found["mixed_5"] == {path for path in paths_in("s3dg") if path.startswith(("mixed_5b", "mixed_5c"))}


def test_gates_of_s3dg_are_a_part() -> None:
    """One after conv2d_2c and one for each of four branches of nine blocks."""
    gates = named("s3dg", "gating")
    assert len(gates) == 37 and all(path.endswith(".gate/kernel") for path in gates)
    assert "gating" not in SMALL["s3d"].parts
