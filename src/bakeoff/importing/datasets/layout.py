"""What a recogniser finds in a folder: whose layout it is, and the settings by which a source reads it."""

from dataclasses import dataclass, field
from typing import Any

FILM = r"([^/]+)_\d+ms[._]"  # the names that `bakeoff frames` gives, also as exporters change them
DAY = "^([^/]+)/"


@dataclass(frozen=True)
class Layout:
    kind: str  # of the source
    name: str  # for people
    settings: dict[str, Any] = field(default_factory=dict)  # that differ from the kind's defaults
    lacks: str | None = None  # why it cannot be read, though it is there
