"""Which numbers a search may be for: those that a stage writes for the variant's task."""

from bakeoff.errors import ConfigError, choices
from bakeoff.metrics.catalogue import BY_HEADLINE
from bakeoff.sweep.search.settings import VALIDATION


def require_metric(name: str, headline: str) -> None:
    """Of a task with that headline."""
    written = BY_HEADLINE[headline].numbers
    looked_at = [f"{VALIDATION}{one}" for one in written if is_looked_at(one, headline)]
    if name not in (*written, *looked_at):
        allowed = looked_at if name.startswith(VALIDATION) else written
        raise ConfigError(f"--metric: no stage writes {name!r}; {choices(name, allowed)}")


def is_looked_at(name: str, headline: str) -> bool:
    """By training, on its way; not only once it is over."""
    return name not in BY_HEADLINE[headline].only_evaluated
