"""Who judged on a split, and when: `models/judged/<split>-<digest>/looks.jsonl`, which git keeps.

{"at": "2026-11-22T20:01:07Z", "run": "0b9f...", "name": "0b9f (ssd · cosine · low)", "weights": "3a41...",
 "data": "data/records", "split": "test", "digest": "77ab...", "headline": "mAP_50", "value": 0.712, "overlap": 0}
"""

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bakeoff.foundation.files import append_line, read_json_lines
from bakeoff.foundation.formatting import format_count

FILE = "looks.jsonl"
SHOWN = 5  # runs in a sentence


@dataclass(frozen=True)
class SplitUse:
    run: str | None
    name: str
    weights: str  # their digest: what was judged, whatever it is called
    data: str
    split: str
    digest: str
    headline: str
    value: float | None
    overlap: int | None  # judged examples that were seen in training; None: nobody knows


def read_uses(folder: Path) -> list[dict[str, Any]]:
    """Return the uses of a split in their order, without lines that a crash or a merge of git's damaged."""
    return [row for row in read_json_lines(folder / FILE) if "weights" in row]


def note_use(folder: Path, use: SplitUse) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    append_line(folder / FILE, json.dumps({"at": now, **asdict(use)}, ensure_ascii=False))


def describe_uses(uses: list[dict[str, Any]]) -> str:
    """Say how often a split was looked at, and by how many models: by each further one it is less of a test."""
    models = {use["weights"]: use for use in uses}
    times = "once" if len(uses) == 1 else f"{len(uses):,} times"
    text = f"looked at {times}, by {format_count(len(models), 'model')}"
    if len(models) == 1:
        return text
    best = [f"{use['name']} {_number(use.get('value'))}" for use in list(models.values())[-SHOWN:]]
    more = f" and {len(models) - SHOWN:,} before" if len(models) > SHOWN else ""
    return f"{text}: {', '.join(best)}{more}; if it chose one of them, it is no test any more"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"
