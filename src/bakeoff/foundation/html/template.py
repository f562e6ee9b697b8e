"""Templates -> pages that need nothing else: no network, no script but the one of the project, no other file.

write_page(Path("out.html"), "records.html.jinja", title="Records", warnings=[])
"""

import io
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup
    from PIL import Image

FOLDER = Path(__file__).parent / "templates"
MARK = "<!-- here a copy says more -->"  # a copy of a page gets more facts here
STYLE, SCRIPT, NOTEBOOK_STYLE = "page.css", "page.js", "notebook.css"


def write_page(file: Path, template: str, **values: Any) -> None:
    """What no encoding has, such as half of a pair of surrogates in a file's name, is written as `\\udc80`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(render(template, **values) + "\n", encoding="utf-8", errors="backslashreplace")


def load(template: str) -> None:
    """Compile a template before it is filled in."""
    _environment().get_template(template)


def render(template: str, **values: Any) -> "Markup":
    """Fill the values in, escaped unless they are markup already; one that the template wants must be there."""
    from markupsafe import Markup

    return Markup(_environment().get_template(template).render(values))


def add_facts(page: str, facts: Mapping[str, str]) -> str:
    """Return a copy of a page that says more of what it is about, such as the run, where an output of DVC must not."""
    rows = [f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in facts.items()]
    return page.replace(MARK, "\n".join(rows), 1)


def embed_jpeg(image: "Image.Image") -> str:
    """Return the picture as a data: address."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=80)
    return "data:image/jpeg;base64," + b64encode(buffer.getvalue()).decode()


@cache
def _environment() -> "Environment":
    """Only who draws a page waits for Jinja2 to load."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    style, script, notebook_style = (
        Markup((FOLDER / name).read_text(encoding="utf-8")) for name in (STYLE, SCRIPT, NOTEBOOK_STYLE)
    )
    digest = b64encode(sha256(script.encode()).digest()).decode()  # browsers run this script and no other
    environment.globals |= {"style": style, "script": script, "script_digest": digest, "mark": Markup(MARK)}
    environment.globals["notebook_style"] = notebook_style
    environment.globals["meaning_of"] = _find_meaning
    environment.filters |= {"fixed": "{:.{}f}".format, "count": "{:,}".format}
    return environment


def _find_meaning(word: str) -> str:
    from bakeoff.foundation.glossary import read_glossary  # which no page of a stage needs

    return read_glossary()[word]
