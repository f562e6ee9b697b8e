"""The stage `train`, with a callback that says when the first call of steps is over.

python begin_training.py file        # gets the processor's seconds of the process, all of its threads
"""

import sys
import time
from pathlib import Path

from bakeoff.learning.training import callbacks


class FirstStep(callbacks.Callback):
    def __init__(self, file: Path) -> None:
        self._file = file

    def on_steps(self, count: int) -> None:
        if not self._file.exists():
            self._file.write_text(str(time.process_time()), encoding="utf-8")


if __name__ == "__main__":
    file = Path(sys.argv.pop())
    callbacks.CALLBACKS.built_in |= {"first_step": lambda _: FirstStep(file)}
    from bakeoff.stages.train import main

    main()
