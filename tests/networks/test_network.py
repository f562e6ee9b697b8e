"""What every network promises the rest of the house; each option of conf/model/ is built and asked."""

import shutil
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from bakeoff.config.compose import compose
from bakeoff.networks import NETWORKS
from bakeoff.networks.applications import EfficientNetV2B0, InceptionV3, MobileNetV2, MobileNetV3
from bakeoff.networks.network import Network, select, unmatched
from bakeoff.networks.s3dg import S3dG
from bakeoff.run.parse import parse_kind
from imports import ROOT

OPTIONS = sorted(path.stem for path in (ROOT / "conf/model").glob("*.yaml"))
CLASSES = 3
every_option = pytest.mark.parametrize("option", OPTIONS)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workspace")
    shutil.copytree(ROOT / "conf", folder / "conf")
    return folder


@cache
def settings_of(option: str, workspace: Path) -> Network:
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    path = workspace / f"{option}.yaml"
    path.write_text(yaml.safe_dump(params | {"model": option}), encoding="utf-8")
    composed = compose(path, workspace / "conf")
    settings = parse_kind(NETWORKS, composed.tree["model"], "model", composed.problems)
    assert composed.problems.lines == []
    return settings


@cache
def built(option: str, workspace: Path) -> tuple[list[str], tuple[int | None, ...]]:
    """Paths of the variables, and the input's shape."""
    network = settings_of(option, workspace).build(CLASSES)
    return [weight.path for weight in network.weights if "seed_generator" not in weight.path], network.input_shape


def test_every_kind_has_an_option(workspace: Path) -> None:
    assert {type(settings_of(option, workspace)) for option in OPTIONS} == set(NETWORKS.values())


@every_option
def test_every_variable_is_in_one_of_the_coarse_groups(option: str, workspace: Path) -> None:
    parts = settings_of(option, workspace).parts
    every, _ = built(option, workspace)
    coarse = [name for name in parts if "." not in name]
    assert [path for path in every if not select([path], coarse, parts)] == []


@every_option
def test_every_pattern_of_a_group_names_something(option: str, workspace: Path) -> None:
    every, _ = built(option, workspace)
    patterns = {pattern for group in settings_of(option, workspace).parts.values() for pattern in group}
    assert [pattern for pattern in patterns if not select(every, [pattern], {})] == []


@every_option
def test_names_of_variables_are_unique(option: str, workspace: Path) -> None:
    every, _ = built(option, workspace)
    assert len(every) == len(set(every)) > 0


@every_option
def test_images_go_in_at_the_size_of_the_settings(option: str, workspace: Path) -> None:
    settings = settings_of(option, workspace)
    frames = (settings.frames,) if settings.frames > 1 else ()
    size = settings.input_size
    _, shape = built(option, workspace)
    assert shape == (None, *frames, size, size, 3)
    assert settings.smallest_input <= size


PATHS = ["backbone.stem/kernel", "backbone.stem/bias", "block_1/kernel", "block_10/kernel", "head.boxes/kernel"]
PARTS = {"backbone": ("backbone.*", "block_*"), "head": ("head.*",)}


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        (["head"], [4]),
        (["backbone"], [0, 1, 2, 3]),
        (["block_1"], [2]),  # a layer, not what its name begins with
        (["block_1*"], [2, 3]),
        (["*/kernel"], [0, 2, 3, 4]),
        (["head.boxes/kernel", "backbone.stem/bias"], [1, 4]),
        (["block_1/ker"], []),
        ([], []),
    ],
)
def test_patterns_name_parts_layers_and_globs_over_paths(patterns: list[str], chosen: list[int]) -> None:
    assert select(PATHS, patterns, PARTS) == [PATHS[number] for number in chosen]


def test_a_pattern_that_names_nothing_comes_with_the_nearest_names() -> None:
    assert unmatched(PATHS, ["hed", "backbone", "blok_1*"], PARTS) == {
        "hed": ["head", "head.boxes"], "blok_1*": ["block_1", "block_10"],
    }  # fmt: skip


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
