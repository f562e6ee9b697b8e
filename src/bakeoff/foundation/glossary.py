"""The glossary of docs/ -> what each word means, for pages that explain a word where it stands."""

import re
from collections.abc import Mapping
from functools import cache

from bakeoff.foundation.files import read_text
from bakeoff.foundation.shipped import shipped_folder

FILE = "docs/glossary.md"
ENTRY = re.compile(r"^\*\*(.+?)\*\*: (.+?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
LINK, SIGNS = re.compile(r"\[([^\]]*)\]\([^)]*\)"), re.compile(r"[*`]")


@cache
def read_glossary() -> Mapping[str, str]:
    """Return the meaning of each word, as plain text."""
    text = read_text(shipped_folder() / FILE) or ""
    return {word: " ".join(SIGNS.sub("", LINK.sub(r"\1", meaning)).split()) for word, meaning in ENTRY.findall(text)}
