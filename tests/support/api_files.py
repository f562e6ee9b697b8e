"""Two files of the Object Detection API, imported with some of their text replaced."""

from pathlib import Path

from bakeoff.importing.api_config.options import Imported, import_pipeline
from support.imports import ROOT

FILES = ROOT / "tests/importing/api_config/files"
TF1, TF2 = (FILES / name for name in ("tf1.config", "tf2.config"))


def import_changed(path: Path, *changes: tuple[str, str], takes_nearest: bool = False) -> Imported:
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return import_pipeline(text.encode(), path.name, takes_nearest=takes_nearest)


def line_of(path: Path, text: str, *, last: bool = False) -> int:
    lines = [number for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if text in line]
    return lines[-1 if last else 0]
