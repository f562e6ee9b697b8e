"""bakeoff better, with examples wherever they can be."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from bakeoff.tracking.journal.journal import Journal
from support.commands import Bakeoff
from support.judged_runs import evaluated, with_examples
from support.messages import missing_in
from support.repository import git
from support.run_journals import write_run


@pytest.fixture
def two(here: Path) -> None:
    with_examples("aaaa1111", evaluated(here / "a", 40))
    with_examples("bbbb2222", evaluated(here / "b", 52), lr__peak="0.01")


def test_the_better_one_is_said_with_its_interval_and_by_class(two: None, bakeoff: Bakeoff) -> None:
    output = bakeoff("better", "aaaa", "bbbb")
    assert output.code == 0 and output.err == ""
    assert output.rows[0] == ["A", "aaaa1111 (ssd_small · cosine · low): lr.peak 0.003"]
    # 12 of 60 more: 95 % of Binomial(60, 0.2) are 6 or 7 to 18.
    expected = r"B is better: accuracy 0\.667 and 0\.867, 95 % .*\+0\.1(00|17) to \+0\.300"
    assert re.fullmatch(expected, output.out.splitlines()[2])
    assert missing_in(output.rows[3][0], "60 examples", "2,000 times", "another seed") == []
    assert output.rows[5][:4] == ["accuracy", "0.667", "0.867", "+0.200"] and output.rows[5][-2:] == [
        "over 99.9 %",
        "B",
    ]
    assert output.rows[-2][:4] == ["cat", "0.667", "0.867", "+0.200"]
    assert "A is better" in bakeoff("better", "bbbb", "aaaa").out


def test_a_run_is_no_better_than_itself(two: None, bakeoff: Bakeoff) -> None:
    output = bakeoff("better", "aaaa", "aaaa")
    parts = "no difference shown", "accuracy 0.667 and 0.667", "95 %", "+0.000 to +0.000"
    assert missing_in(output.out.splitlines()[2], *parts) == []
    assert output.rows[5][-2:] == ["50.0 %", "not shown"]


def test_the_same_for_scripts(two: None, bakeoff: Bakeoff) -> None:
    tree = json.loads(bakeoff("better", "aaaa", "bbbb", "--json", "--metric", "loss", "--samples", "100").out)
    assert (tree["better"], tree["metric"], tree["samples"], tree["groups"]) == ("bbbb2222", "loss", 100, 60)
    assert tree["numbers"]["loss"]["difference"] == pytest.approx(-0.2 * (np.log(0.9) - np.log(0.1)))  # 12 of 60 less


def test_examples_are_found_in_dvcs_cache_and_of_a_reused_result_with_its_maker(
    two: None, bakeoff: Bakeoff, here: Path
) -> None:
    write_run("cccc3333", {"evaluation/accuracy": 0.9}, {"bakeoff.reused": "true", "bakeoff.made_by": "bbbb2222"})
    assert "B is better" in bakeoff("better", "aaaa", "cccc").out
    file = evaluated(here / "c", 60)
    cache = here / ".dvc/cache/files/md5/5d"
    cache.mkdir(parents=True)
    shutil.move(file, cache / "1c")
    (here / "dvc.lock").write_text(
        "stages: {evaluate: {outs: [{path: models/evaluation/examples.parquet, md5: 5d1c}]}}"
    )
    for command in ("init -q", "add dvc.lock", "commit -qm done", "tag tall-kite"):
        git(*command.split())
    write_run("dddd4444", {"evaluation/accuracy": 1.0}, {"DVC_EXP_NAME": "tall-kite"})
    output = bakeoff("better", "bbbb", "tall-kite")
    assert "B is better: accuracy 0.867 and 1.000" in output.out, output.err


def test_what_cannot_be_judged_is_said(two: None, bakeoff: Bakeoff, here: Path) -> None:
    write_run("cccc3333", {"evaluation/accuracy": 0.9})
    output = bakeoff("better", "aaaa", "cccc")
    parts = "cccc3333 (ssd_small · cosine · low):", "evaluation/examples.parquet", "MLflow", "DVC's cache"
    assert (output.code, output.out, missing_in(output.err, *parts)) == (2, "", [])
    with_examples("dddd4444", evaluated(here / "d", 20, examples=30))
    output = bakeoff("better", "aaaa", "dddd")
    assert missing_in(output.err, "30 only in A (30.jpg, 31.jpg, 32.jpg, …)", "30") == []
    write_run("eeee1", {}, sweep="sweep-20260101-000000")
    write_run("eeee2", {}, sweep="sweep-20260101-000000")
    output = bakeoff("better", "aaaa", "sweep-20260101-000000")
    assert missing_in(output.err, "sweep-20260101-000000:", "one run", "2") == []
    assert (
        bakeoff("better", "aaaa", "bbbb", "--samples", "5").err == "--samples: must be between 100 and 100,000, got 5\n"
    )
    assert "did you mean 'bbbb2222'" in bakeoff("better", "aaaa", "bbbc2222").err


def judged_on_the_test(run_id: str, file: Path) -> None:
    """As `bakeoff evaluate` leaves it in the workspace."""
    numbers = {"evaluation/accuracy": 0.5, "evaluation_test/accuracy": 0.5}
    write_run(run_id, numbers, {"bakeoff.judged_on.test": "77ab" * 16})
    shelf = Path("models/judged/test-77ab77ab77ab", run_id)
    shelf.mkdir(parents=True)
    shutil.move(file, shelf / file.name)


def test_two_runs_are_compared_on_the_test(two: None, bakeoff: Bakeoff, here: Path) -> None:
    judged_on_the_test("cccc3333", evaluated(here / "c", 50))
    judged_on_the_test("dddd4444", evaluated(here / "d", 20))
    output = bakeoff("better", "cccc", "dddd", "--on", "test")
    assert (output.code, output.err) == (0, "")
    assert output.out.splitlines()[2].startswith("A is better: accuracy 0.833 and 0.333, ")
    assert output.rows[3][0].startswith("60 examples of test, drawn 2,000 times; ")
    journal = Journal("dddd4444")  # what the tracker keeps counts before what is in the workspace
    journal.file(evaluated(here / "e", 60), "evaluation_test/examples.parquet")
    journal.close()
    assert "B is better: accuracy 0.833 and 1.000" in bakeoff("better", "cccc", "dddd", "--on", "test").out
    assert "has no evaluation/examples.parquet" in bakeoff("better", "cccc", "dddd").err
    parts = "--on: aaaa1111 (ssd_small · cosine · low)", "'test'", "(none)", "`bakeoff evaluate aaaa1111`"
    assert missing_in(bakeoff("better", "aaaa", "dddd", "--on", "test").err, *parts) == []
    shutil.rmtree("models/judged")
    output = bakeoff("better", "cccc", "dddd", "--on", "test")
    parts = "cccc3333 (ssd_small · cosine · low):", "evaluation_test/examples.parquet", "`bakeoff evaluate cccc3333`"
    assert missing_in(output.err, *parts) == []


def test_labels_that_differ_are_named(two: None, bakeoff: Bakeoff, here: Path) -> None:
    with_examples("cccc3333", evaluated(here / "c", 50, classes=("cat", "wolf")))
    output = bakeoff("better", "aaaa", "cccc")
    assert (output.code, output.out) == (2, "")
    parts = "30 with another truth (1.jpg, 3.jpg, 5.jpg, …)", "30", "A", "'dog'", "B", "'wolf'"
    assert missing_in(output.err, *parts) == []
