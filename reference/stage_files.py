"""dvc.yaml and texts/files.yaml -> a page: what each stage reads and writes, and every file in those folders."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from reference.texts import make_table, read_texts, require_text

ROOT = Path(__file__).resolve().parent.parent
CODE = "src/"


def make_file_page() -> str:
    texts = read_texts("files")
    page = f"# Files\n\n{texts['intro']}\n## Stages\n\n"
    page += make_table(("stage", "reads or writes", "file or folder", "meaning"), _stage_rows(texts))
    for folder, files in texts["folders"].items():
        rows = [(f"`{name}`", meaning) for name, meaning in files.items()]
        page += f"## `{folder}`\n\n{make_table(('file', 'meaning'), rows)}"
    return page + texts["notes"]


def _stage_rows(texts: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    for stage, block in stages.items():
        read = [*_names(block.get("params", [])), *(name for name in block["deps"] if not name.startswith(CODE))]
        written = [*_names(block["outs"]), *_names(block.get("metrics", []))]
        for verb, names in (("reads", read), ("writes", written)):
            for name in dict.fromkeys(names):
                meaning = require_text(
                    texts["paths"].get(name), name, "it into reference/texts/files.yaml, under paths"
                )
                yield f"`{stage}`", verb, f"`{name}`", meaning


def _names(entries: list[Any]) -> Iterator[str]:
    """Yield the files of a list in dvc.yaml; a name without a file is a key of params.yaml."""
    for entry in entries:
        name = next(iter(entry)) if isinstance(entry, dict) else entry
        yield name if "/" in name or "." in name else "params.yaml"


def is_listed(path: str) -> bool:
    """Whether the page has the file, by a name, or by a pattern in which * stays within a folder and ** does not."""
    return any(_pattern(name).fullmatch(path) for files in read_texts("files")["folders"].values() for name in files)


def _pattern(name: str) -> re.Pattern[str]:
    parts = (re.escape(part).replace(r"\*", "[^/]*") for part in name.split("**"))
    return re.compile(".*".join(parts))
