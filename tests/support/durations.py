"""How long each test file takes: measured, kept in durations.json, and used to run the longest first."""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.imports import ROOT

TABLE = Path(__file__).with_name("durations.json")


def load_durations(table: Path = TABLE) -> dict[str, float]:
    """Seconds by file, as `tests/learning/lr/test_decays.py`."""
    return json.loads(table.read_text(encoding="utf-8")) if table.is_file() else {}


def sort_longest_first(items: list[pytest.Item], seconds: Mapping[str, float]) -> None:
    """Sort whole files; of a file that nobody measured nothing is known, so it comes before all others."""
    items.sort(key=lambda item: (-seconds.get(file := name_of(item.nodeid), float("inf")), file))


def name_of(nodeid: str) -> str:
    return nodeid.split("::", 1)[0]


class Recorder:
    """Measures the files of a session, and writes them into the table at its end."""

    def __init__(self, table: Path = TABLE, root: Path = ROOT) -> None:
        self._table, self._root = table, root
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[name_of(report.nodeid)] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Keep what was measured before of files that are still there and did not run now."""
        all_known = load_durations(self._table) | self._seconds
        kept = {file: round(all_known[file], 1) for file in sorted(all_known) if (self._root / file).is_file()}
        self._table.write_text(json.dumps(kept, indent=0) + "\n", encoding="utf-8")
