import pytest

from bakeoff.networks.selection import select, unmatched

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
