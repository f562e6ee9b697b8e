"""bakeoff gate, on runs whose answers are known: what it prints, writes, and ends with."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bakeoff.app.cli.gate import UNDECIDED, WORSE
from bakeoff.experiments.gate.gate_text import MARKER
from bakeoff.foundation import git as own_git
from bakeoff.foundation import workspace
from support.commands import Bakeoff
from support.drawing import write
from support.judged_runs import evaluated, with_examples
from support.messages import missing_in
from support.repository import git
from support.run_journals import write_run


@pytest.fixture(autouse=True)
def three(here: Path) -> None:
    with_examples("aaaa1111", evaluated(here / "a", 240, examples=300))
    with_examples("bbbb2222", evaluated(here / "b", 285, examples=300), lr__peak="0.01")
    with_examples("cccc3333", evaluated(here / "c", 233, examples=300), lr__peak="|`<x>`|\n# 1")


def write_rules(here: Path, text: str) -> None:
    (here / "conf").mkdir(exist_ok=True)
    (here / "conf/gate.yaml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("b", "a", "code", "verdict"),
    [
        ("bbbb", "aaaa", 0, "not worse"),
        ("aaaa", "bbbb", WORSE, "worse"),
        ("cccc", "aaaa", UNDECIDED, "cannot tell"),
        ("aaaa", "aaaa", 0, "not worse"),
    ],
)
def test_each_verdict_has_a_code_of_its_own(bakeoff: Bakeoff, b: str, a: str, code: int, verdict: str) -> None:
    output = bakeoff("gate", b, "--against", a)
    assert (output.code, output.err) == (code, "")
    assert output.rows[4][-1] == verdict and output.rows[4][0] == "accuracy"
    tree = json.loads(bakeoff("gate", b, "--against", a, "--json").out)
    assert (tree["verdict"], tree["examples"], tree["version"]) == (verdict, 300, 1)


def test_what_it_takes_to_tell_is_named(bakeoff: Bakeoff, here: Path) -> None:
    tree = json.loads(bakeoff("gate", "cccc", "--against", "aaaa", "--json").out)
    # 7 of 300 are lost and none gained: the deviation is sqrt(p (1 - p) / 299), what is left of 0.02 is p - 0.02.
    share = 7 / 300
    deviation, margin = (share * (1 - share) / 299) ** 0.5, share - 0.02
    blocking = 1.959964 + 0.841621  # half of 5 % is for the slices
    expected = 300 * ((blocking * deviation / margin) ** 2 - 1)
    assert tree["checks"][0]["more_examples"] == pytest.approx(expected, rel=0.1)
    write_rules(here, "undecided: pass\n")
    output = bakeoff("gate", "cccc", "--against", "aaaa")
    assert output.code == 0 and f"about {tree['checks'][0]['more_examples']:,} more validation examples" in output.out


def test_the_rules_of_a_repository(bakeoff: Bakeoff, here: Path) -> None:
    write_rules(here, "against: bbbb2222\nworse_by: 0.3\nmetrics: [{name: loss, worse_by: 0.1}]\nslices: null\n")
    tree = json.loads(bakeoff("gate", "aaaa", "--json").out)
    assert [(one["name"], one["outcome"]) for one in tree["checks"]] == [("accuracy", "not worse"), ("loss", "worse")]
    assert bakeoff("gate", "aaaa", "--against", "aaaa").code == 0  # the command line counts before the file
    write_rules(here, "against: bbbb2222\nworse_by: 2\n\nslice: 0.1\n")
    message = bakeoff("gate", "aaaa").err
    assert missing_in(message, "conf/gate.yaml:4: slice:", "did you mean 'slices'") == []
    write_rules(here, "metrics: [{name: acuracy, worse_by: 0.1}]\n")
    message = bakeoff("gate", "aaaa", "--against", "bbbb").err
    assert missing_in(message, "conf/gate.yaml: metrics:", "'acuracy'", "did you mean 'accuracy'") == []


def test_files_that_grow(bakeoff: Bakeoff, here: Path) -> None:
    write_rules(here, "size: 0.1\n")
    for run_id, grown in (("dddd4444", 100), ("eeee5555", 120)):
        with_examples(run_id, evaluated(here / "d", 240, examples=300))
        write_run(run_id, {"evaluation/accuracy": 0.5, "export/dynamic.bytes": grown * 1000})
    output = bakeoff("gate", "eeee", "--against", "dddd")
    assert (output.code, output.rows[5][0], output.rows[5][-1]) == (WORSE, "size of dynamic", "worse")
    assert output.rows[5][3:6] == ["+20.0 %", "exact", "10.0 %"]
    assert bakeoff("gate", "dddd", "--against", "eeee").code == 0
    assert bakeoff("gate", "bbbb", "--against", "aaaa").code == UNDECIDED  # nothing is known of their files


def test_a_comment_is_found_again_and_holds_no_more_than_text(bakeoff: Bakeoff, tmp_path: Path) -> None:
    comment, suite = tmp_path / "comment.md", tmp_path / "suite.xml"
    assert bakeoff("gate", "cccc", "--against", "bbbb", "--md", str(comment), "--junit", str(suite)).code == WORSE
    text = comment.read_text(encoding="utf-8")
    assert text.startswith(f"{MARKER}\n### bakeoff gate: worse than the rules allow: accuracy")
    assert "| accuracy | 0.950 | 0.777 |" in text and "`lr.peak` " in text
    [changes] = [line for line in text.splitlines() if "it changes" in line]
    assert changes.endswith("it changes `lr.peak` `0.01` → `<x> # 1`.")
    cases = ElementTree.parse(suite).getroot().findall("testsuite/testcase")
    assert [case.get("name") for case in cases] == ["accuracy"]
    [failure] = cases[0].findall("failure")
    assert failure.get("type") == "worse"


def test_bad_input_is_one_line(bakeoff: Bakeoff, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_examples("dddd4444", evaluated(here / "d", 20, examples=40))
    output = bakeoff("gate", "dddd", "--against", "aaaa")
    assert (output.code, output.out) == (2, "")
    assert missing_in(output.err, "260 only in A", "`bakeoff evaluate aaaa1111 dddd4444`", "`--on test`") == []
    write_run("eeee5555", {"evaluation/accuracy": 0.5})
    assert "evaluation/examples.parquet" in bakeoff("gate", "eeee", "--against", "aaaa").err
    assert (
        missing_in(bakeoff("gate", "aaaa", "--against", "bbbb", "--picture", "x.svg").err, "--picture:", ".png") == []
    )
    for command in ("init -q", "add .", "commit -qm done"):
        git(*command.split())
    assert "no run is known by this name" in bakeoff("gate", "aaaa", "--against", "main7").err
    monkeypatch.setattr(own_git, "is_shallow", lambda: True)
    assert (
        missing_in(bakeoff("gate", "aaaa", "--against", "main7").err, "--against:", "'main7'", "fetch-depth: 0") == []
    )


def dvc(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "dvc", *words, "--quiet"], check=True)


def test_a_change_that_nobody_ran_is_refused(bakeoff: Bakeoff, here: Path) -> None:
    """Else a pull request would be judged by the result that it found."""

    def refuse() -> str:
        output = bakeoff("gate", "--against", "aaaa")
        assert (output.code, output.out, len(output.err.splitlines())) == (2, "", 1), output
        return output.err

    git("init", "--quiet")
    dvc("init")
    command = f'{sys.executable} -c ""'
    stage = {"cmd": command, "params": ["seed"], "deps": ["conf", "data/raw", "models/config"]}
    write(here / "dvc.yaml", json.dumps({"stages": {"render_config": stage}}))
    for name in ("params.yaml", "conf/lr.yaml", "data/raw/1.jpg", "models/config/run.yaml"):
        write(here / name, "seed: 0\n")
    dvc("repro")
    write(here / "data/raw/1.jpg", "of which a clone has others")
    shutil.rmtree("models/config")
    assert "dvc.lock" not in refuse()
    write(here / "params.yaml", "seed: 1\n")
    assert missing_in(refuse(), "dvc.lock: render_config", "the seed of params.yaml", "`bakeoff repro`") == []
    write(here / "params.yaml", "seed: 0\n")
    write(here / "conf/lr.yaml", "seed: 1\n")
    assert "the conf that is here" in refuse()
    assert bakeoff("gate", "aaaa", "--against", "aaaa").code == 0


def test_a_result_that_is_only_in_the_remote(bakeoff: Bakeoff, here: Path, tmp_path: Path) -> None:
    outs = [{"path": "models/evaluation/examples.parquet", "md5": "0f"}]
    write(here / "dvc.lock", json.dumps({"stages": {"train": {"cmd": "train"}, "evaluate": {"outs": outs}}}))
    write(here / "models/evaluation/metrics.json", json.dumps({"accuracy": 0.8}))
    for command in (
        "init -q -b change",
        "add dvc.lock models",
        "commit -qm done",
        "update-ref refs/remotes/origin/main HEAD",
    ):
        git(*command.split())
    dvc("init")
    assert missing_in(bakeoff("gate", "aaaa", "--against", "origin/main").err, "origin/main: ", "no result") == []
    write(here / workspace.RUN, "seed: 0\n")
    for command in ("add models", "commit -qm rendered", "update-ref refs/remotes/origin/main HEAD"):
        git(*command.split())
    message = bakeoff("gate", "aaaa", "--against", "main").err
    assert missing_in(message, "--against: ", "'main'", "`--against origin/main`") == []

    def refuse() -> str:
        """In a process of its own: DVC prints where it was first loaded."""
        command = [sys.executable, "-m", "bakeoff", "gate", "aaaa", "--against", "origin/main"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done
        return done.stderr

    assert missing_in(refuse(), "origin/main (", "no remote", "`dvc pull evaluate`", "`dvc push`") == []
    dvc("remote", "add", "--default", "shelf", str(tmp_path / "gone"))
    assert "no remote" not in refuse()
