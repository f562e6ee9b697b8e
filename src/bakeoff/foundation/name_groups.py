"""What a user's regular expression finds in names of files: `(match_\\d+)` and ["match_1_7.jpg"] -> ["match_1"]."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence

from bakeoff.foundation.errors import ConfigError, require, show

MOST_LETTERS = 1000
LONGEST_S, NAMES_PER_S = 5.0, 20_000  # beyond the first seconds; Python finds hundreds of thousands
SEARCH = """
import json, re, sys
pattern, names = json.load(sys.stdin)
print(json.dumps([match[1] if (match := re.search(pattern, name)) else None for name in names]))
"""


def require_one_group(key: str, pattern: str) -> None:
    """Refuse a pattern that finds no group, or several."""
    require(len(pattern) <= MOST_LETTERS, key, pattern, f"at most {MOST_LETTERS:,} letters")
    try:
        count = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError):
        count = 0
    require(count == 1, key, pattern, "a regular expression with one (group)")


def find_groups(key: str, pattern: str, names: Sequence[str]) -> list[str | None]:
    """Return for each name what the pattern's (group) finds in it. Raises ConfigError if that takes too long.

    `(a+)+$` takes years on some names, and a search cannot be stopped from within, so it has a process of its own.
    """
    if not names:
        return []
    words = [sys.executable, "-I", "-S", "-c", SEARCH]
    try:
        done = subprocess.run(
            words, input=json.dumps([pattern, list(names)]), capture_output=True, text=True, check=True,
            timeout=LONGEST_S + len(names) / NAMES_PER_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise ConfigError(
            f"{key}: must end in {error.timeout:.0f} s on the {len(names):,} names, got {show(pattern)}; leave out "
            "repeats within repeats, such as (a+)+"
        ) from None
    found: list[str | None] = json.loads(done.stdout)
    return found
