"""A field of a settings object -> the rules for it, in the words of its own check.

Each wrong value is tried, and the refusal says the rule: "must be between 0 and 1, got -1" -> "0 to 1".
"""

import dataclasses
import re
from typing import Any, Literal, get_args, get_origin

from bakeoff.foundation.errors import OutOfRange, show
from bakeoff.learning.run_file.parse import MOST

WRONG: dict[Any, tuple[Any, ...]] = {
    int: (-MOST, -1, 0, 1, 33, MOST),
    float: (float(-MOST), -0.5, 0.0, 1.5, float(MOST)),
    str: ("", "no such/'name'!"),
}
# What a message says of one object alone: "between min_area (0.05) and 1" -> "between min_area and 1".
OF_ONE_OBJECT = re.compile(r" \([\d.]+\)|(?<=[a-z])=[\d.]+\b")
BETWEEN = re.compile(r"(?:a share )?between (\S+) and (\S+?)(?=,|$| or)")
MORE_TO_MOST = re.compile(r"\b(\d\S*) or more, at most (\S+)")
LARGE = re.compile(r"(?<![\d.,])\d{5,}\b")


def wrong_values(hint: Any) -> tuple[Any, ...]:
    """Return values of the type, many of which a field of it refuses."""
    origin = get_origin(hint)
    if hint in WRONG:
        return WRONG[hint]
    if origin is tuple:
        return ((), *((value,) for value in wrong_values(get_args(hint)[0])))
    if origin is None or origin is Literal:
        return ()
    return tuple(value for part in get_args(hint) for value in wrong_values(part))


def find_rules(settings: Any, name: str, values: tuple[Any, ...]) -> str:
    """Return the rules that refuse some of the values; empty: there is none."""
    rules: list[str] = []
    for value in values:
        try:
            dataclasses.replace(settings, **{name: value})
        except OutOfRange as error:
            if error.key == name:
                given = show(list(value) if isinstance(value, tuple) else value)
                rule = error.reason.removeprefix("must be ").partition(f", got {given}")[0]
                rules += [rule] if rule not in rules else []
    return join_rules(rules)


def join_rules(rules: list[str]) -> str:
    """Return them as one: ["1 or more", "at most 100"] -> "1 to 100"."""
    text = ", ".join(rule.removesuffix(" or null").rstrip(",") for rule in rules)
    text = BETWEEN.sub(r"\1 to \2", OF_ONE_OBJECT.sub("", text))
    text = MORE_TO_MOST.sub(r"\1 to \2", text)
    return LARGE.sub(lambda number: f"{int(number[0]):,}", text)
