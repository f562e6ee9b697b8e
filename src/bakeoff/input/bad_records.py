"""Damaged records that a run left out (`memory.on_bad_record: skip`): said once, and counted over interruptions.

Kept beside the run's checkpoints, a line each:  train<TAB>17<TAB>data/records/train-00000-of-00001: record 17, …
"""

import sys
from collections.abc import Callable
from pathlib import Path

FILE = "bad_records"


class BadRecords:
    def __init__(self) -> None:
        self._known: dict[tuple[str, int], str] = {}
        self._file: Path | None = None

    def of(self, split: str) -> Callable[[int, str], None]:
        """For a store of this split to call with an example and what is wrong with it."""

        def noticed(example: int, said: str) -> None:
            if (split, example) not in self._known:
                self._known[split, example] = said
                print(f"warning: {said}; it is left out", file=sys.stderr, flush=True)
                if self._file:
                    with self._file.open("a", encoding="utf-8") as lines:
                        lines.write(f"{split}\t{example}\t{said}\n")

        return noticed

    def keep_in(self, folder: Path) -> None:
        """From now on; what the same run left out before it was interrupted counts, too."""
        self._file = folder / FILE
        for line in self._file.read_text(encoding="utf-8").splitlines() if self._file.is_file() else ():
            split, example, said = line.split("\t", 2)
            self._known[split, int(example)] = said

    def counts(self) -> dict[str, int]:
        """By split; nothing where all records are whole."""
        splits = sorted({split for split, _ in self._known})
        return {split: sum(of == split for of, _ in self._known) for split in splits}
