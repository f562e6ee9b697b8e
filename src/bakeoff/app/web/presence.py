"""Which photos are open in which tabs, so that two people do not label the same one. Nothing of it is kept."""

import time
from collections import defaultdict
from pathlib import Path
from threading import Lock

SECONDS_OPEN = 15.0  # without a word from a tab; it speaks every five
MOST_TABS = 200  # of a folder; older ones are forgotten

_open: dict[Path, dict[str, tuple[str, float]]] = defaultdict(dict)  # by folder and tab: the photo, and when
_lock = Lock()


def note_open(folder: Path, tab: str, photo: str) -> list[str]:
    """Note what a tab shows, and return what the others show."""
    now = time.monotonic()
    with _lock:
        tabs = _open[folder.absolute()]
        tabs.pop(tab, None)
        tabs[tab] = (photo, now)
        for other, (_, said) in [*tabs.items()]:
            if now - said > SECONDS_OPEN or len(tabs) > MOST_TABS:
                del tabs[other]
        return sorted({shown for other, (shown, _) in tabs.items() if other != tab})
