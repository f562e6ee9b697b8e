from bakeoff.learning.run_file.parse import ABSENT, Difference, differences, flat


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
