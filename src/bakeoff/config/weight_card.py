"""`about.yaml` beside weights that others have published: whose they are, and what their licence forbids."""

from pathlib import Path
from typing import Any

import yaml

from bakeoff.foundation.errors import ConfigError, choices
from bakeoff.foundation.files import require_all_whole

CARD = "about.yaml"
TEXTS = ("name", "source", "came_from", "page", "licence", "forbids", "data", "sha256")
FILES = "files"  # the SHA-256 of each file, by its name in the folder
KNOWN = (*TEXTS, "accepted", "classes", "verified", FILES)


def read_card(path: Path) -> dict[str, Any]:
    """Return what is said of a file or a checkpoint, in its folder or, of `checkpoint/ckpt-0`, in the folder around."""
    file = _folder_of(path) / CARD
    if not file.is_file():
        return {}
    try:
        facts = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file.as_posix()}: cannot be read ({' '.join(str(error).split())[:200]})") from None
    if not isinstance(facts, dict):
        raise ConfigError(f"{file.as_posix()}: must be lines of `key: value`, got {facts!r}")
    for key, value in facts.items():
        if key not in KNOWN:
            raise ConfigError(f"{file.as_posix()}: no such key {key!r}; {choices(str(key), KNOWN)}")
        if key in TEXTS and not isinstance(value, str | None):
            raise ConfigError(f"{file.as_posix()}: {key}: must be a text or null, got {value!r}")
    return facts


def require_whole_files(path: Path) -> None:
    """Compare a file, or those of a checkpoint's prefix, with the digests that are on the card. Raises DataError."""
    digests = read_card(path).get(FILES)
    if digests is not None and not isinstance(digests, dict):
        raise ConfigError(f"{(_folder_of(path) / CARD).as_posix()}: {FILES}: must be lines of `name: SHA-256`")
    files = {_folder_of(path) / str(name): str(digest) for name, digest in (digests or {}).items()}

    def belongs(file: Path) -> bool:
        return file == path or (file.parent == path.parent and file.name.startswith(f"{path.name}."))

    require_all_whole({file: digest for file, digest in files.items() if belongs(file)}, "zoo")


def _folder_of(path: Path) -> Path:
    return path.parent.parent if path.parent.name == "checkpoint" else path.parent


def require_licence(path: Path, key: str) -> None:
    """Refuse weights that may not be used, unless whoever fetched them has said that this use is none of those."""
    card = read_card(path)
    if card.get("forbids") and card.get("accepted") is not True:
        raise ConfigError(
            f"{key}: the licence of {path.as_posix()}, {card.get('licence')}, forbids {card['forbids']}; if that is no "
            f"use of yours, write `accepted: true` into the {CARD} beside it"
        )
