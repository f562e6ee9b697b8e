"""How hard a page is to read: its sentences, its tables, its links, and Flesch's reading ease.

flesch("The cat sat. It saw a dog.") -> 119.2, the higher the easier; a school child of 13 reads 60.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
ITEM = re.compile(r"^ *(?:[-*]|\d+\.) +")
ENDING = re.compile(r"(?<=[.!?:])[\"”)*]*\s+(?=[\"“(*]*[A-Z0-9])|(?<=[.!?])[\"”)*]*\s+(?=\**name\b)")
WORD = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*")


def sentences_of(page: str) -> list[str]:
    """Return the sentences of paragraphs and lists: without code, tables, headings and pictures."""
    return [sentence for block in _blocks(page) for sentence in ENDING.split(block) if WORD.search(sentence)]


def _blocks(page: str) -> Iterator[str]:
    """Give each paragraph and each item of a list; a name in code counts as one short word."""
    text = LINK.sub(lambda match: "" if match[1] else match[2], FENCED.sub("", page))
    text = re.sub(r"`[^`]*`", "name", re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL))
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        starts = not line.strip() or line.lstrip().startswith(("#", "|", "!!!")) or ITEM.match(line)
        if starts and block:
            yield " ".join(block)
            block = []
        if line.strip() and (not starts or ITEM.match(line)):
            block.append(ITEM.sub("", line).strip())


def cells_of(page: str) -> list[str]:
    """Return the cells of all tables, as they are shown."""
    rows = [line for line in FENCED.sub("", page).splitlines() if line.startswith("|")]
    shown = (LINK.sub(r"\2", row.replace("\\|", "/").replace("`", "")) for row in rows)
    return [cell.strip() for row in shown for cell in row.strip("| ").split("|")]


def flesch(text: str) -> float:
    """Return Flesch's reading ease: 206.835 - 1.015 words a sentence - 84.6 syllables a word."""
    sentences = [WORD.findall(sentence) for sentence in sentences_of(text)]
    words = [word for sentence in sentences for word in sentence]
    return 206.835 - 1.015 * len(words) / len(sentences) - 84.6 * sum(map(count_syllables, words)) / len(words)


def count_syllables(word: str) -> int:
    """Count groups of vowels, less the endings that are not spoken, more for vowels that are spoken apart."""
    letters = re.sub(r"[^a-z]", "", word.lower())
    if len(letters) <= 3:
        return len(letters) if word.isupper() and len(letters) > 1 else 1  # GPU is spelled
    groups = len(re.findall(r"[aeiouy]+", letters))
    if re.search(r"(?:[^aeiouylr]|[^aeioutdsbpgkfzc]l|[aeiou]r|r)es?$", letters) and not _sounds(letters):
        groups -= 1  # make, names, here; not: table, boxes
    if re.search(r"[^aeioutd]ed$", letters):
        groups -= 1  # trained; not: wanted, needed
    groups += len(re.findall(r"ia(?!l|n\b)|io(?!n|u)|[iu]um|creat|[^q]ua[lt]|eo|iu", letters))
    return max(groups, 1)


def _sounds(letters: str) -> bool:
    return bool(re.search(r"(?:[sxz]|ch|sh|[cg])es$", letters))


def links_of(page: str) -> list[str]:
    return [match[3] for match in LINK.finditer(FENCED.sub("", page))]


def find_broken(path: Path) -> list[str]:
    """Return the links of a page to files and headings that are not there; addresses elsewhere are not asked."""
    broken = []
    for link in links_of(path.read_text(encoding="utf-8")):
        place, _, heading = link.partition("#")
        target = (path.parent / place) if place else path
        if re.match(r"\w+:", link):
            continue
        if not target.exists() or (heading and heading not in anchors_of(target)):
            broken.append(link)
    return broken


@cache
def anchors_of(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and Python-Markdown make them."""
    titles = re.findall(r"^#+ +(.+?)\s*$", FENCED.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", LINK.sub(r"\2", title).replace("`", "")).strip().lower() for title in titles)
    return {re.sub(r"\s", "-", title) for title in plain}


def longest_sentence(page: str) -> tuple[int, str]:
    return max((len(sentence.split()), sentence) for sentence in sentences_of(page))


def repeated_words(page: str) -> list[str]:
    """Return words that stand twice in a row, as a hasty edit leaves them."""
    return [
        one
        for sentence in sentences_of(page)
        for one, two in pairwise(sentence.lower().split())
        if one == two and one.strip(",;") not in ("name", "that")
    ]
