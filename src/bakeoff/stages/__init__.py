"""One module per stage of dvc.yaml, each a straight function from paths to files. `python -m bakeoff.stages.<verb>`."""

import sys

from bakeoff.errors import hide_interrupt_traceback

sys.excepthook = hide_interrupt_traceback  # imports take the first second, before `main` can catch Ctrl-C
