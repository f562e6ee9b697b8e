"""What every network promises the rest of the house; each option of conf/model/ is built and asked."""

from functools import cache

import pytest

from bakeoff.config.compose.compose import compose
from bakeoff.learning.networks import NETWORKS
from bakeoff.learning.networks.applications import InceptionV3
from bakeoff.learning.networks.network import Network, select, unmatched
from bakeoff.learning.run_file.parse import parse_kind
from support.imports import ROOT
from support.unfilled import unfilled

OPTIONS = sorted(path.stem for path in (ROOT / "conf/model").glob("*.yaml"))
ONE_HEAD = "inception_v3 of one head"  # no option of its own, but its parts are others
COARSE = ("backbone", "neck", "head")
CLASSES = 3
every_option = pytest.mark.parametrize("option", [*OPTIONS, ONE_HEAD])


@cache
def settings_of(option: str) -> Network:
    if option == ONE_HEAD:
        return InceptionV3(input_size=75, auxiliary_weight=0.0)
    composed = compose(ROOT / "params.yaml", ROOT / "conf", groups=["model"], instead={"model": option})
    settings = parse_kind(NETWORKS, composed.tree["model"], "model", composed.problems)
    assert composed.problems.lines == []
    return settings


@cache
def built(option: str) -> tuple[list[str], tuple[int | None, ...]]:
    """Paths of the variables, and the input's shape."""
    network = unfilled(lambda: settings_of(option).build(CLASSES))
    return [weight.path for weight in network.weights if "seed_generator" not in weight.path], network.input_shape


def named(option: str, part: str) -> set[str]:
    return set(select(built(option)[0], [part], settings_of(option).parts))


def test_every_kind_has_an_option() -> None:
    assert {type(settings_of(option)) for option in OPTIONS} == set(NETWORKS.values())


@pytest.mark.long
@every_option
def test_every_variable_is_in_one_of_the_coarse_groups(option: str) -> None:
    coarse = [part for part in COARSE if part in settings_of(option).parts]
    inside = [path for part in coarse for path in named(option, part)]
    assert sorted(inside) == sorted(built(option)[0])


@every_option
def test_every_pattern_of_a_group_names_something(option: str) -> None:
    every, _ = built(option)
    patterns = {pattern for group in settings_of(option).parts.values() for pattern in group}
    assert [pattern for pattern in patterns if not select(every, [pattern], {})] == []


@every_option
def test_names_of_variables_are_unique(option: str) -> None:
    every, _ = built(option)
    assert len(every) == len(set(every)) > 0


@every_option
def test_images_go_in_at_the_size_of_the_settings(option: str) -> None:
    settings = settings_of(option)
    frames = (settings.frames,) if settings.frames > 1 else ()
    size = settings.input_size
    _, shape = built(option)
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


@pytest.mark.parametrize("option", ["mobilenet_v2", "mobilenet_v3_small", "efficientnet_v2_b0", ONE_HEAD])
def test_logits_are_the_last_layer_alone(option: str) -> None:
    assert named(option, "logits") == {"logits/kernel", "logits/bias"}


def test_blocks_of_s3dg_can_be_set_free_from_the_top_down() -> None:
    every, _ = built("s3dg")
    steps = ("logits", "mixed_5", "mixed_4", "mixed_3", "conv2d_2c", "conv2d_2b", "conv2d_1a")
    paths_by_step = {step: named("s3dg", step) for step in steps}
    assert sorted(path for paths in paths_by_step.values() for path in paths) == sorted(every)
    assert paths_by_step["mixed_5"] == {path for path in every if path.startswith(("mixed_5b", "mixed_5c"))}


def test_gates_of_s3dg_are_a_part() -> None:
    """One after conv2d_2c and one for each of four branches of nine blocks."""
    gates = named("s3dg", "gating")
    assert len(gates) == 37 and all(path.endswith(".gate/kernel") for path in gates)
    assert "gating" not in settings_of("s3d").parts
