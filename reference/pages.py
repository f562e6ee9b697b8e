"""All pages of docs/reference/, by their names."""

from pathlib import Path

from bakeoff.config.compose.variant import KINDS
from reference.commands import make_command_page
from reference.examples import make_record_page
from reference.metrics import make_metric_page
from reference.python_api import make_python_page
from reference.settings import make_derived_page, make_group_page, make_preset_page
from reference.stage_files import make_file_page
from reference.texts import read_texts

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
HEAD = "<!-- `make reference` writes this page from the code and from reference/texts/. -->\n\n"


def make_pages() -> dict[str, str]:
    pages = {
        "index.md": read_texts("index")["page"],
        "settings.md": read_texts("settings")["page"],
        "presets.md": make_preset_page(),
        **{f"{group}.md": make_group_page(group) for group in KINDS},
        "derived.md": make_derived_page(),
        "commands.md": make_command_page(),
        "files.md": make_file_page(),
        "python.md": make_python_page(),
        "records.md": make_record_page(),
        "metrics.md": make_metric_page(),
    }
    return {name: f"{HEAD}{text.strip()}\n" for name, text in pages.items()}
