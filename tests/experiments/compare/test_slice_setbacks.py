"""On which slices the better of two runs is worse: by `bakeoff better` and by `bakeoff compare`."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from bakeoff.evaluation.examples_parquet import add_facts, make_table, write_examples
from bakeoff.learning.metrics.classification import ClassificationScore, make_answers
from bakeoff.tracking.journal.journal import Journal
from support.commands import Bakeoff
from support.messages import missing_in
from support.run_journals import write_run

EXAMPLES = 200
DARK = np.arange(EXAMPLES) % 4 == 0


def evaluated(folder: Path, run_id: str, right: np.ndarray, *, with_facts: bool = True) -> None:
    """A run of two classes whose tracker keeps its examples."""
    folder.mkdir()
    truth = np.arange(EXAMPLES) % 2 + 1
    sure = np.where(right == (truth == 1), 0.9, 0.1)
    score = ClassificationScore(("cat", "dog")).update(make_answers(truth, np.stack([sure, 1 - sure], axis=1)))
    files = [f"{at}.jpg" for at in range(EXAMPLES)]
    table = make_table(score.columns(), range(EXAMPLES), files, "one label", ("cat", "dog"))
    facts = {"brightness": np.where(DARK, 20.0, 100.0), "place": np.array(["in", "out"] * (EXAMPLES // 2))}
    write_examples(folder, add_facts(table, facts) if with_facts else table)
    write_run(run_id, {"evaluation/accuracy": float(right.mean())}, lr__peak=run_id[-1])
    journal = Journal(run_id)
    journal.file(folder / "examples.parquet", "evaluation/examples.parquet")
    journal.close()


@pytest.fixture
def two(here: Path) -> None:
    evaluated(here / "a", "aaaa1111", np.arange(EXAMPLES) % 3 > 0)
    evaluated(here / "b", "bbbb2222", np.where(DARK, np.arange(EXAMPLES) % 20 == 0, True))


def test_the_better_run_is_worse_on_dark_pictures(two: None, bakeoff: Bakeoff, here: Path) -> None:
    """B has 160 of 200 right and of 50 dark ones 10, A 133 and of the dark ones 33."""
    output = bakeoff("compare", "aaaa", "bbbb")
    printed = output.out.splitlines()
    [at] = [at for at, line in enumerate(printed) if line.startswith("  brightness 20: ")]
    expected = printed[at - 1]
    assert output.err == "" and missing_in(expected, "bbbb2222 is better", "4 slices", "worse", "aaaa1111") == []
    assert missing_in(printed[at], "accuracy 0.20 to 0.66", "50 examples", "0.0010") == []
    assert bakeoff("compare", "bbbb", "aaaa", "--html", str(here / "page.html")).code == 0
    assert expected in (here / "page.html").read_text(encoding="utf-8")
    lines = json.loads(bakeoff("compare", "bbbb", "aaaa", "--json").out)["slices"]
    assert lines[0] == expected and len(lines) == 2
    output = bakeoff("better", "aaaa", "bbbb")
    assert re.search(r"^B is better .*\b4 slices worse than A:\n.*brightness 20\b", output.out, re.MULTILINE)
    tree = json.loads(bakeoff("better", "bbbb", "aaaa", "--json").out)["slices"]
    assert tree["comparisons"] == 4 and [row["slice"] for row in tree["worse"]] == ["20"]
    assert "better on the whole" not in bakeoff("compare").out  # no two were named


def test_runs_that_are_worse_nowhere_or_have_no_facts_are_reported(two: None, bakeoff: Bakeoff, here: Path) -> None:
    evaluated(here / "c", "cccc3333", np.ones(EXAMPLES, bool))
    lines = bakeoff("compare", "aaaa", "cccc").out.splitlines()
    assert any(missing_in(line, "cccc3333 is better", "none of 4", "worse", "aaaa1111") == [] for line in lines)
    evaluated(here / "d", "dddd4444", np.ones(EXAMPLES, bool), with_facts=False)
    evaluated(here / "e", "eeee5555", DARK, with_facts=False)
    output = bakeoff("compare", "dddd", "eeee").out
    assert "slices are not compared: " in output
    write_run("ffff6666", {"evaluation/accuracy": 0.9})
    assert "slices" not in bakeoff("compare", "aaaa", "ffff").out  # it has no examples
