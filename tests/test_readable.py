"""The pages for people who come with a question can be read once: short sentences, plain words, links that lead on."""

from pathlib import Path

import pytest

from support.imports import ROOT
from support.readability import (
    cells_of,
    count_syllables,
    find_broken,
    flesch,
    links_of,
    longest_sentence,
    repeated_words,
    sentences_of,
)

DOCS = ROOT / "docs"
EASY = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
LINKED = [*EASY, ROOT / "SECURITY.md"]
ASKED = 150, 500  # words of a page that answers one question


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_easy_and_hard_text_are_told_apart() -> None:
    """The numbers of the two sentences were counted by hand: 7 words, 7 syllables; 8 words, 26 syllables."""
    assert flesch("The cat sat. It saw a dog.") == pytest.approx(206.835 - 1.015 * 7 / 2 - 84.6)
    hard = "Reproducible configurations necessitate deterministic serialisation of hierarchical parameterisation."
    assert flesch(hard) < 0


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (1, "box the train make trained named"),
        (2, "model table boxes image photo wanted needed robot metric"),
        (3, "GPU example computer memory however"),
        (4, "validation"),
    ],
)
def test_syllables_are_counted_as_they_are_spoken(count: int, words: str) -> None:
    assert {word: count_syllables(word) for word in words.split()} == dict.fromkeys(words.split(), count)


def test_code_tables_and_headings_are_no_sentences() -> None:
    page = "# Title\n\nOne. Two is `a.b: c`.\n\n| a | b |\n|---|---|\n| c. D | e |\n\n"
    page += "```text\nNo. No.\n```\n\n- Three [x](y.md). `Four` is.\n"
    assert sentences_of(page) == ["One.", "Two is name.", "Three x.", "name is."]
    assert cells_of(page) == ["a", "b", "---", "---", "c. D", "e"]


@pytest.mark.parametrize("path", EASY, ids=name_of)
def test_a_page_can_be_read_once(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    words, sentence = longest_sentence(page)
    assert words <= 30, sentence
    assert [cell for cell in cells_of(page) if len(cell) >= 120] == []
    assert flesch(page) > 60
    assert repeated_words(page) == []


@pytest.mark.parametrize("path", LINKED, ids=name_of)
def test_every_link_leads_somewhere(path: Path) -> None:
    assert find_broken(path) == []


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.md")), ids=name_of)
def test_the_site_has_every_page_and_no_page_leaves_it(path: Path) -> None:
    """A page of docs/ may link to what is in docs/: the site has nothing else."""
    outside = [link for link in find_links(path) if not (path.parent / link).resolve().is_relative_to(DOCS)]
    assert outside == []
    assert f" {path.relative_to(DOCS).as_posix()}\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def find_links(path: Path) -> list[str]:
    links = (link.partition("#")[0] for link in links_of(path.read_text(encoding="utf-8")))
    return [link for link in links if link and ":" not in link]


@pytest.mark.parametrize("path", sorted(DOCS.glob("howto/*.md")), ids=name_of)
def test_a_page_answers_one_question(path: Path) -> None:
    words = len(path.read_text(encoding="utf-8").split())
    assert ASKED[0] <= words <= ASKED[1] or path.name in ("index.md", "troubleshooting.md"), words
