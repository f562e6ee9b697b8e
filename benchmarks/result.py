"""What benchmarks print alike: which machine it was, and lines that `make bench` puts into one table.

print_result("records of 3,000 images", "1.2 s", "3.1 s", ratio=2.6, other="plain loop")
    result | records of 3,000 images | 1.2 s | 3.1 s (plain loop) | 2.60 | 0.4
"""

import os
from datetime import date

from bakeoff.tracking.sync.system_metrics import processor, versions

MARK = "result"


def describe_machine() -> str:
    """Return a line for a page. The instructions stand as code, for some processors name more than a sentence holds."""
    return f"{date.today().isoformat()}: `{processor()}`; {versions()}; load {os.getloadavg()[0]:.1f}"


def print_result(what: str, here: str, there: str = "", *, ratio: float | None = None, other: str = "") -> None:
    """Print both arms, the ratio as the benchmark counts it, and how busy the machine is."""
    arm = f"{there} ({other})" if other else there
    cells = (MARK, what, here, arm, "" if ratio is None else f"{ratio:.2f}", f"{os.getloadavg()[0]:.1f}")
    print(" | ".join(cells), flush=True)
