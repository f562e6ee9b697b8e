"""A page that needs nothing else: no network, and no script but its own."""

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html import escape
from pathlib import Path

from bakeoff.report.style import STYLE


def write_document(file: Path, title: str, style: str, script: str, parts: Iterable[str]) -> None:
    digest = b64encode(sha256(script.encode()).digest()).decode()  # browsers run this script and no other
    allowed = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    lines = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title>",
        f'<meta http-equiv=Content-Security-Policy content="{allowed}">',
        f"<meta name=viewport content='width=device-width'><style>{STYLE}{style}</style>",
        *parts,
        f"<script>{script}</script>",
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="backslashreplace")
