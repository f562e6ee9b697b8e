import pytest

from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.run_file.parse import (
    ABSENT,
    MOST_KEYS,
    MOST_LINES,
    Difference,
    Problems,
    differences,
    flat,
    parse_kind,
)
from bakeoff.learning.run_file.settings import LEARNING_GROUPS
from support.messages import missing_in


def test_a_tree_is_flat_with_full_keys_and_lists_of_trees_by_number() -> None:
    tree = {"a": {"b": 1, "c": {}}, "d": [1, 2], "e": [{"f": 3}, {"f": [4]}], "g": []}
    assert flat(tree) == {"a.b": 1, "a.c": {}, "d": [1, 2], "e[0].f": 3, "e[1].f": [4], "g": []}


def test_only_what_differs_is_told_in_the_order_of_the_first() -> None:
    one = {"z": 1, "same": 0, "gone": 2, "list": [1, 2]}
    other = {"new": 3, "list": [2, 1], "same": 0, "z": 4}
    assert differences(one, other) == [
        Difference("z", 1, 4),
        Difference("gone", 2, ABSENT),
        Difference("list", [1, 2], [2, 1]),
        Difference("new", ABSENT, 3),
    ]


def test_a_number_and_a_truth_value_differ_though_python_takes_them_for_equal() -> None:
    assert differences({"a": 1}, {"a": True}) == [Difference("a", 1, True)]
    assert differences({"a": 1}, {"a": 1}) == []


def test_of_thousands_of_unknown_keys_the_first_are_named_and_the_others_counted() -> None:
    problems = Problems(lambda key: "params.yaml:3")
    assert (
        parse_kind(LEARNING_GROUPS["train"], {f"key{number}": 1 for number in range(15_000)}, "train", problems) is None
    )
    unknown = [line for line in problems.lines if "no such key" in line]
    assert len(unknown) == MOST_KEYS + 1 and missing_in(unknown[0], "params.yaml:3: train.key0", "steps") == []
    assert missing_in(unknown[-1], f"train.key{MOST_KEYS}", f"{15_000 - MOST_KEYS:,}") == []


def test_of_thousands_of_mistakes_the_first_are_printed_and_the_others_counted() -> None:
    problems = Problems(lambda key: "params.yaml")
    for number in range(15_000):
        problems.add(f"train.phases[{number}].name", "is missing")
    with pytest.raises(ConfigError) as error:
        problems.raise_any()
    lines = str(error.value).splitlines()
    assert len(lines) == MOST_LINES + 1 and missing_in(lines[-1], "params.yaml", f"{15_000 - MOST_LINES:,} more") == []


def test_of_a_long_mistake_place_and_remedy_are_printed() -> None:
    problems = Problems(lambda key: "params.yaml:7")
    problems.add("train.init.weights", f"no such file data/weights/{'x' * 100_000}; write another")
    [line] = problems.lines
    assert (
        len(line) < 2000 and line.startswith("params.yaml:7: train.init.weights: ") and line.endswith("write another")
    )
