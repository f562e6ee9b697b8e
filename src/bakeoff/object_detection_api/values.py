"""Scalars of text format -> values of a field's type, under protobuf's rules."""

import math
import re
import struct

from bakeoff.errors import choices
from bakeoff.object_detection_api.schema import ENUMS
from bakeoff.object_detection_api.text_reader import Scalar
from bakeoff.object_detection_api.tokens import MAX_SHOWN, Kind

Value = bool | int | float | str
TRUE, FALSE = {"true", "True", "t", "1"}, {"false", "False", "f", "0"}
LIMITS = {"int32": (-(2**31), 2**31 - 1), "uint32": (0, 2**32 - 1)}
NOT_FINITE = {"inf", "infinity", "nan"}
LONGEST = 24  # digits of an integer
FLOAT_DIGITS = 9  # significant digits from which a text may be a float32 written out in full


class WrongValue(Exception):
    """Says what the value must be and what it is."""


def value_of(scalar: Scalar, kind: str) -> Value:
    """As a value of the scalar type or enum `kind`."""
    if kind == "string":
        return _text(scalar)
    if kind == "bool":
        return _flag(scalar)
    if kind == "float":
        return _number(scalar)
    return _whole(scalar, kind) if kind in LIMITS else _enum(scalar, ENUMS[kind])


def default_of(text: str | None, kind: str) -> Value:
    """The schema's default, or protobuf's own: zero, false, nothing, the first name."""
    if kind == "string":
        return text or ""
    if kind == "bool":
        return text == "true"
    if kind == "float":
        return float(text or 0)
    if kind in LIMITS:
        return int(text or 0)
    return text or next(iter(ENUMS[kind]))


def _text(scalar: Scalar) -> str:
    if scalar.kind is not Kind.TEXT:
        raise WrongValue(f"must be a text in quotes, got {_shown(scalar)}")
    return scalar.text


def _flag(scalar: Scalar) -> bool:
    if scalar.kind is not Kind.TEXT and scalar.text in TRUE | FALSE:
        return scalar.text in TRUE
    raise WrongValue(f"must be true or false, got {_shown(scalar)}")


def _whole(scalar: Scalar, kind: str) -> int:
    low, high = LIMITS[kind]
    number = _integer(scalar.text) if scalar.kind is Kind.NUMBER else None
    if number is None or not low <= number <= high:
        rule = "a whole number, 0 or more" if low == 0 else "a whole number"
        raise WrongValue(f"must be {rule}, at most {high}, got {_shown(scalar)}")
    return number


def _integer(text: str) -> int | None:
    """Decimal, hexadecimal `0x1F` or octal `017`; None also for one that is longer than any that fits."""
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    for pattern, base in ((r"0[xX][0-9a-fA-F]+", 16), (r"0[0-7]+", 8), (r"0|[1-9]\d*", 10)):
        if len(digits) <= LONGEST and re.fullmatch(pattern, digits):
            return sign * int(digits, base)
    return None


def _number(scalar: Scalar) -> float:
    """Always decimal."""
    text = scalar.text.lower()
    named = scalar.kind is Kind.WORD and text.lstrip("-") in NOT_FINITE
    if not named and (scalar.kind is not Kind.NUMBER or "x" in text):
        raise WrongValue(f"must be a number, got {_shown(scalar)}")
    number = float(text if named else text.rstrip("f"))
    if not math.isfinite(number):
        raise WrongValue(f"must be a finite number, got {_shown(scalar)}")
    return shortest(number, text)


def shortest(number: float, text: str) -> float:
    """`0.800000011920929`, which is how protobuf writes the float32 nearest to 0.8, read as 0.8 again.

    A number that merely has many digits stays what it is.
    """
    digits = len(re.sub(r"e.*|[-+.]", "", text).lstrip("0"))
    if digits < FLOAT_DIGITS:
        return number
    try:
        in_float32 = struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return number
    if f"{in_float32:.{digits}g}" != f"{number:.{digits}g}":
        return number
    for precision in range(6, FLOAT_DIGITS):
        short = float(f"{in_float32:.{precision}g}")
        if struct.unpack("f", struct.pack("f", short))[0] == in_float32:
            return short
    return number


def _enum(scalar: Scalar, names: dict[str, int]) -> str:
    by_number = {str(number): name for name, number in names.items()}
    if scalar.kind is Kind.WORD and scalar.text in names:
        return scalar.text
    if scalar.kind is Kind.NUMBER and scalar.text in by_number:
        return by_number[scalar.text]
    raise WrongValue(f"no such choice {_shown(scalar)}; {choices(_shown(scalar), names)}")


def _shown(scalar: Scalar) -> str:
    text = scalar.text if len(scalar.text) <= MAX_SHOWN else f"{scalar.text[:MAX_SHOWN]}…"
    return repr(text) if scalar.kind is Kind.TEXT else text
