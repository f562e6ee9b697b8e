"""What a benchmark says of the machine it ran on: one line with the date, the processor, the versions and the load."""

import os
from datetime import date

from bakeoff.tracking.system import processor, versions


def describe_machine() -> str:
    return f"{date.today().isoformat()}: {processor()}; {versions()}; load {os.getloadavg()[0]:.1f}"
