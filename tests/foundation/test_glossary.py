"""The glossary as pages read it."""

import re
from pathlib import Path

from bakeoff.foundation.glossary import FILE, read_glossary
from bakeoff.foundation.html.template import FOLDER

ROOT = Path(__file__).parents[2]


def test_each_entry_is_read_without_its_signs() -> None:
    words = read_glossary()
    assert len(words) == (ROOT / FILE).read_text("utf-8").count("\n**") > 100
    assert words["clip"] == "a short film with a label."
    assert words["option"] == (
        "a file in conf/, which a group can choose. conf/lr/cosine.yaml is the option cosine of the group lr."
    )
    assert not [word for word, meaning in words.items() if re.search(r"[*`\n]|\]\(", meaning)]


def test_each_word_that_a_page_explains_is_in_the_glossary() -> None:
    """Without it the page would be an error."""
    used = {word for file in FOLDER.glob("web*.jinja") for word in words_of(file)}
    assert len(used) > 12
    assert used <= set(read_glossary())


def words_of(file: Path) -> set[str]:
    text = file.read_text(encoding="utf-8")
    listed = re.search(r"set words = \{(.*?)\}", text)
    return {*re.findall(r'term\("([^"]+)"', text), *(re.findall(r': "([^"]+)"', listed[1]) if listed else ())}
