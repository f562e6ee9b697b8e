"""`lr.use=cosine`, `validation/mAP_50>0.5` -> which runs are meant; and the order that `--sort` asks for."""

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.compare.contender import Contender
from bakeoff.compare.metric import names_in
from bakeoff.errors import WorkspaceError, choices
from bakeoff.metrics.catalogue import is_higher_better

FORM = re.compile(r"\s*([^=<>!\s]+)\s*(!=|>=|<=|=|>|<)\s*(.*?)\s*")
ORDERED: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt,
}  # fmt: skip


@dataclass(frozen=True)
class Condition:
    key: str
    sign: str
    value: str

    @classmethod
    def parsed(cls, text: str) -> "Condition":
        match = FORM.fullmatch(text)
        if not match or not match[3]:
            raise WorkspaceError(
                f"--filter: must be a key, one of = != > >= < <= and a value, such as lr.use=cosine or mAP_50>0.5, "
                f"got {text!r}"
            )
        condition = cls(*match.groups())
        if condition.sign in ORDERED and _number(condition.value) is None:
            raise WorkspaceError(f"--filter: must compare with a number after {condition.sign}, got {text!r}")
        return condition

    def holds(self, contender: Contender) -> bool:
        """Never of one that has no such value."""
        value = contender.value(self.key)
        if value is None:
            return False
        one, other = _number(value), _number(self.value)
        if self.sign in ORDERED:
            return one is not None and other is not None and ORDERED[self.sign](one, other)
        same = one == other if one is not None and other is not None else str(value) == self.value
        return same == (self.sign == "=")


def require_known(option: str, key: str, contenders: Sequence[Contender]) -> None:
    """A key that no run has is a slip."""
    if not any(contender.value(key) is not None for contender in contenders):
        known = {name for one in contenders for name in (*one.facts(), *one.params, *names_in(one.metrics))}
        near = choices(key, known)
        raise WorkspaceError(f"{option}: no run has {key!r}; {near}")


def in_order(contenders: Sequence[Contender], key: str) -> list[Contender]:
    """The best first, of what is neither good nor bad the highest; those without a value last."""
    values = [contender.value(key) for contender in contenders]
    numbers = [_number(value) for value in values]
    if all(number is not None for number, value in zip(numbers, values, strict=True) if value is not None):
        upward = is_higher_better(key) is False
        ranked = [(number is None, number if number is None or upward else -number) for number in numbers]
        order = sorted(range(len(values)), key=lambda at: (ranked[at][0], ranked[at][1] or 0.0))
    else:
        order = sorted(range(len(values)), key=lambda at: (values[at] is None, str(values[at])))
    return [contenders[at] for at in order]


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
