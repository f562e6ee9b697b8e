"""The blocks of code on the pages of the documentation, and the commands in them.

blocks_of("README.md") -> [Block("README.md", 14, "console", "$ git clone …\n$ make repro …\n"), …]
"""

import re
import shlex
from dataclasses import dataclass
from functools import cache
from textwrap import dedent

from support.imports import ROOT

ON_SITE = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
PAGES = ("README.md", "CONTRIBUTING.md", *ON_SITE)
FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)  # in a list it is indented
RECIPE = re.compile(r"(?:#|<!--) \S+\.\w+(?:, in \w+)?(?: -->)?\n")  # the first line of a block that is a file
COMMANDS = ("console", "bash", "")


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_recipe(self) -> bool:
        """Whether it is one of the guide's parts of one's own, which tests/test_recipes.py puts together."""
        return (
            self.page == "docs/guide.md" and bool(RECIPE.match(self.text)) and "conf/model/ssd_large" not in self.text
        )

    @property
    def commands(self) -> list[list[str]]:
        """The words of each command; `a && b` are two."""
        if self.language not in COMMANDS:
            return []
        marked = "\n$ " in f"\n{self.text}"
        lines = self.text.splitlines()
        typed = [line[2:] for line in lines if line.startswith("$ ")] if marked else lines
        typed = typed if marked or self.language == "bash" else [line for line in lines if line.startswith("bakeoff ")]
        return [part for line in typed for part in _split(shlex.split(line, comments=True)) if part]


def _split(words: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "&&":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


@cache
def blocks_of(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(page, text[: match.start()].count("\n") + 1, match[2], dedent(match[3]))
        for match in FENCED.finditer(text)
    ]


BLOCKS = [block for page in PAGES for block in blocks_of(page)]
