"""All pages of docs/reference/, by their names."""

from pathlib import Path

from bakeoff.config.variant import KINDS
from reference.settings import make_group_page, make_preset_page

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
HEAD = "<!-- `make reference` writes this page from the code and from reference/texts/. -->\n\n"


def make_pages() -> dict[str, str]:
    pages = {f"{group}.md": make_group_page(group) for group in KINDS}
    pages["presets.md"] = make_preset_page()
    return {name: f"{HEAD}{text.strip()}\n" for name, text in pages.items()}
