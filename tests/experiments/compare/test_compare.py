"""bakeoff compare, on runs that are journals."""

import json
import re
import shutil
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote

import pytest

from bakeoff.experiments.compare.comparison_report import write_page
from bakeoff.experiments.compare.comparison_table import make_table
from bakeoff.experiments.compare.run_row import Contender
from bakeoff.experiments.runs.run_status import State
from bakeoff.foundation import workspace
from support.commands import Bakeoff
from support.made_runs import made
from support.messages import missing_in
from support.page_reading import defects_of
from support.repository import git
from support.run_journals import scores, write_run

SWEEP = "sweep-20261121-101500"

LOCK = """stages:
  train:
    params: {models/config/run.yaml: {lr: {kind: cosine}}}
    outs: [{path: models/train, md5: 5d.dir}]
  evaluate:
    deps: [{path: models/train, md5: 5d.dir}]
"""


def three() -> None:
    """Two options, one value and a seed apart."""
    write_run("aaaa1111", scores(0.80), {"bakeoff.peak_memory_bytes": "1.5e9", "bakeoff.seconds": "90"})
    write_run("bbbb2222", scores(0.85), variant__lr="exponential", lr__kind="exponential", lr__decay_steps="100")
    write_run("cccc3333", scores(0.70), lr__peak="0.01", seed="1")


def test_a_note_stands_beside_its_run(bakeoff: Bakeoff) -> None:
    write_run("aaaa1111", scores(0.80), {"mlflow.note.content": "with the new\nimages"})
    write_run("bbbb2222", scores(0.85), lr__peak="0.01")
    output = bakeoff("compare")
    assert "note" in output.rows[0]
    assert {row[0]: "with the new images" in row for row in output.rows[1:3]} == {"aaaa1111": True, "bbbb2222": False}


def test_each_machine_that_was_measured_has_a_column_and_the_fastest_run_is_marked() -> None:
    rates = {"a": {"device/pi5/model.tflite.frames_per_second": 31.06}, "b": {}, "c": {}}
    rates["c"] = {"device/pi5/model.tflite.frames_per_second": 12.5, "device/pi5/model.tflite.latency_ms_p50": 80.0}
    table = make_table([Contender(name, name, "SUCCEEDED", {}, metrics) for name, metrics in rates.items()])
    [column] = [column for column in table.columns if "pi5" in column.name]
    assert column.name == "frames a second on pi5 (model.tflite)"
    assert [(cell.text, cell.is_best) for cell in column.cells] == [("31.1", True), ("–", False), ("12.5", False)]


def test_only_the_keys_that_differ_are_shown_and_the_best_is_marked(bakeoff: Bakeoff) -> None:
    three()
    head, *rows = bakeoff("compare").rows
    # The numbers, what differs, what it cost.
    assert head[:8] == ["run", "mAP_50", "mAP", "lr.use", "seed", "lr.peak", "time", "memory"]
    assert head.index("state") > head.index("size")
    assert [row[:6] for row in rows[:3]] == [  # by mAP_50, the best first
        ["bbbb2222", "0.850* (0.820–0.880)", "0.425*", "exponential", "0", "0.003"],
        ["aaaa1111", "0.800", "(0.770–0.830)", "0.400", "cosine", "0"],
        ["cccc3333", "0.700", "(0.670–0.730)", "0.350", "cosine", "1"],
    ]
    assert rows[1][-4:-1] != rows[2][-4:-1]
    assert "1:30" in " ".join(rows[1]) and "1.50 GB" in " ".join(rows[1])
    assert "overlap; `bakeoff better aaaa1111 bbbb2222` tells" in rows[-2][0]
    assert missing_in(rows[-1][0], "2 more keys", "--all-keys") == []  # lr.kind, lr.decay_steps
    assert {"lr.kind", "lr.decay_steps"} < set(bakeoff("compare", "--all-keys").rows[0])


def test_runs_are_compared_by_another_evaluation(bakeoff: Bakeoff) -> None:
    """As `bakeoff evaluate --split test` tells of it."""
    on_test = {"evaluation_test/mAP_50": 0.6, "evaluation_test/interval.mAP_50.low": 0.5}
    on_test |= {"evaluation_test/interval.mAP_50.high": 0.7, "evaluation_test/AP_50.cat": 0.1}
    write_run("aaaa1111", scores(0.80) | on_test, {"bakeoff.judged_on.test": "77ab"})
    write_run("bbbb2222", scores(0.85) | {"evaluation_test/mAP_50": 0.55}, {"bakeoff.judged_on.test": "88cd"}, seed="1")
    write_run("cccc3333", scores(0.90), seed="2")
    assert [row[0] for row in bakeoff("compare", "--no-fold").rows[1:4]] == ["cccc3333", "bbbb2222", "aaaa1111"]
    rows = json.loads(bakeoff("compare", "--no-fold", "--on", "test", "--json").out)["runs"]
    assert [row["run"] for row in rows] == ["aaaa1111", "bbbb2222", "cccc3333"]
    first = bakeoff("compare", "--no-fold", "--on", "test").rows[1]
    assert "0.600* (0.500–0.700)" in first and "77ab" in first
    assert bakeoff("compare", "--no-fold", "--on", "test", "--filter", "mAP_50>0.57").rows[1][0] == "aaaa1111"
    output = bakeoff("compare", "--on", "tset")
    parts = "--on:", "'tset'", "'test'", "one of: test;", "`bakeoff evaluate RUN`"
    assert (output.code, missing_in(output.err, *parts)) == (2, [])


def test_the_lowest_loss_is_the_best(bakeoff: Bakeoff) -> None:
    three()
    rows = bakeoff("compare", "--metric", "loss").rows
    assert [row[1].rstrip() for row in rows[1:4]] == ["0.150*", "0.200", "0.300"]


def test_what_has_no_room_is_left_out_and_named(bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> None:
    three()
    for number in range(5):
        write_run(
            f"dddd{number}", scores(0.5 + number / 100), optimizer__weight_decay=str(number), train__batch_size="16"
        )
    monkeypatch.setenv("COLUMNS", "80")
    output = bakeoff("compare")
    assert max(map(len, output.out.splitlines())) <= 80
    assert "mAP_50" in output.rows[0] and "lr.use" in output.rows[0] and len(output.rows[0]) >= 5
    left = output.out.partition("no room for: ")[2]
    assert "MLflow" not in output.rows[0] and "train.batch_size" in left and "began" in left


def test_a_few_runs_that_are_too_wide_stand_side_by_side(bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> None:
    three()
    monkeypatch.setenv("COLUMNS", "80")
    rows = bakeoff("compare").rows
    assert rows[0] == ["run", "bbbb2222", "aaaa1111", "cccc3333"]
    assert ["lr.peak", "0.003", "0.003", "0.01"] in rows


def test_runs_that_differ_only_in_seed_are_one_with_mean_and_spread(bakeoff: Bakeoff) -> None:
    for seed, value in enumerate((0.80, 0.83, 0.86)):
        write_run(f"aaaa{seed}", scores(value), {"bakeoff.seconds": str(60 + 30 * seed)}, seed=str(seed))
    write_run("bbbb0", scores(0.70), lr__peak="0.01")
    write_run("cccc0", {"train/loss": 2.0}, {"bakeoff.state": "FAILED"}, state="FAILED", seed="3")
    output = bakeoff("compare")
    assert output.rows[0][:4] == ["run", "mAP_50", "mAP", "lr.peak"]
    assert [output.rows[1][at] for at in (0, 1, 3)] == [
        "aaaa2",
        "0.830* ± 0.030",
        "0.003",
    ]  # deviation of 0.80, 0.83, 0.86: 0.03
    assert "SUCCEEDED, 3 seeds" in output.rows[1] and "1:30*" not in output.rows[2]
    assert [row[0] for row in output.rows[1:4]] == ["aaaa2", "bbbb0", "cccc0"]
    single = bakeoff("compare", "--no-fold")
    assert [row[0][:4] for row in single.rows[1:6]] == ["aaaa"] * 3 + ["bbbb", "cccc"] and "seed" in single.rows[0]
    tree = json.loads(bakeoff("compare", "--json").out)
    assert [seed["params"]["seed"] for seed in tree["runs"][0]["seeds"]] == ["0", "1", "2"]
    assert tree["runs"][0]["cost"]["seconds"] == 90


def test_the_same_seed_twice_is_no_second_seed(bakeoff: Bakeoff) -> None:
    write_run("aaaa0", scores(0.80))
    write_run("aaaa1", scores(0.84))
    rows = bakeoff("compare").rows
    assert rows[1][0] == "aaaa1" and "0.840 (0.810–0.870)" in rows[1] and not any("seeds" in cell for cell in rows[1])


def test_other_records_are_no_other_seed(bakeoff: Bakeoff) -> None:
    write_run("aaaa0", scores(0.80), {"bakeoff.records_digest": "e2603131"})
    write_run("aaaa1", scores(0.84), {"bakeoff.records_digest": "99999999"}, seed="1")
    rows = bakeoff("compare").rows
    assert "records" in rows[0] and {"e2603131", "99999999"} < {cell for row in rows for cell in row}


def test_filter_sort_and_top(bakeoff: Bakeoff) -> None:
    three()

    def ids(*options: str) -> list[str]:
        return [run["run"] for run in json.loads(bakeoff("compare", "--json", *options).out)["runs"]]

    assert ids("--filter", "lr.use=cosine") == ["aaaa1111", "cccc3333"]
    assert ids("--filter", "mAP_50>0.75") == ["bbbb2222", "aaaa1111"]
    assert ids("--filter", "validation/mAP_50 <= 0.8", "--filter", "seed!=1") == ["aaaa1111"]
    assert ids("--filter", "lr.peak=1e-2") == ["cccc3333"]
    assert ids("--filter", "lr.decay_steps!=7") == ["bbbb2222"]  # the others have none
    assert ids("--filter", "AP_50.cat>=0.85") == ["bbbb2222"]
    assert ids("--filter", "state=SUCCEEDED", "--top", "1") == ["bbbb2222"]
    assert ids("--sort", "loss") == ["bbbb2222", "aaaa1111", "cccc3333"]
    assert ids("--sort", "lr.peak")[0] == "cccc3333"
    assert ids("--sort", "run") == ["aaaa1111", "bbbb2222", "cccc3333"]
    assert ids("--recent", "1") == ["cccc3333"]


def test_runs_are_named_by_id_experiment_or_sweep(bakeoff: Bakeoff) -> None:
    three()
    for number in (1, 2):
        tags = {"DVC_EXP_NAME": f"{SWEEP}-{number}"}
        write_run(
            f"eeee{number}",
            scores(0.5 + number / 10),
            tags,
            sweep=SWEEP if number == 1 else None,
            train__steps=str(number),
        )

    def ids(*names: str) -> set[str]:
        return {run["run"] for run in json.loads(bakeoff("compare", "--json", *names).out)["runs"]}

    write_run(SWEEP, {}, {"bakeoff.sweep": SWEEP})  # the sweep's own run, which is no point
    assert SWEEP not in ids()
    assert ids("aaaa", "bbbb2222") == {"aaaa1111", "bbbb2222"}
    assert ids("aaaa", f"{SWEEP}-2") == {"aaaa1111", "eeee2"}
    assert ids(SWEEP) == ids("--sweep", SWEEP) == {"eeee1", "eeee2"}  # the second was not told of its sweep


def test_a_workspace_and_what_git_has_can_be_named(bakeoff: Bakeoff, here: Path) -> None:
    other = here / "other"
    for folder in (workspace.RUN.parent, workspace.TRAINED, workspace.EVALUATION):
        (other / folder).mkdir(parents=True)
    (other / workspace.RUN).write_text("variant: {model: ssd_tiny, lr: cosine, memory: low}\nlr: {kind: cosine}\n")
    (other / "models/train/state.json").write_text('{"run_id": "ffff9999", "steps": 5, "step": 5, "seconds": 61}')
    (other / "models/train/history.jsonl").write_text('{"step": 5, "validation/mAP_50": 0.3}\n')
    (other / "models/evaluation/metrics.json").write_text(
        '{"mAP_50": 0.4, "interval": {"mAP_50": {"low": 0.1, "high": 0.6}}}'
    )
    write_run("aaaa1111", scores(0.80))
    rows = bakeoff("compare", "aaaa", "other/models/evaluation").rows
    assert (
        rows[2][0] == "ffff9999"
        and "ssd_tiny" in rows[2]
        and "(0.100–0.600)" in rows[2]
        and "1:01" in " ".join(rows[2])
    )
    (other / "dvc.lock").write_text(LOCK)
    for command in ("init -q", "add -f models dvc.lock", "commit -qm done", "tag v1"):
        git(*command.split(), folder=other)
    shutil.copytree(other / ".git", here / ".git")
    rows = bakeoff("compare", "aaaa", "v1").rows
    assert rows[2][0] == "v1" and "ssd_tiny" in rows[2] and "(0.100–0.600)" in rows[2]  # without DVC's cache


def test_what_a_process_says_of_a_run_is_its_state(bakeoff: Bakeoff, here: Path) -> None:
    write_run("aaaa1111", scores(0.8))
    write_run("bbbb2222", {"validation/mAP_50": 0.5}, state=None, lr__peak="0.1")
    made(here / ".bakeoff/runs", "5d1c9a3e77", State.RUNNING, run_id="bbbb2222", training_seconds=65)
    rows = bakeoff("compare").rows
    assert "RUNNING" in rows[2] and "1:05" in " ".join(rows[2])
    assert rows[0][1:4] == ["mAP_50", "mAP", "validation/mAP_50"]  # for the one that is not evaluated yet


def test_a_reused_result_is_not_shown_beside_the_run_that_made_it(bakeoff: Bakeoff) -> None:
    write_run("aaaa1111", scores(0.80))
    write_run("bbbb2222", scores(0.80), {"bakeoff.reused": "true", "bakeoff.made_by": "aaaa1111"})
    write_run("cccc3333", scores(0.60), {"bakeoff.reused": "true", "bakeoff.made_by": "gone"}, lr__peak="1")
    output = bakeoff("compare")
    assert [row[0] for row in output.rows[1:3]] == ["aaaa1111", "cccc3333"]
    assert "SUCCEEDED, reused" in output.rows[2]
    assert "bbbb2222" in bakeoff("compare", "bbbb").out


def test_a_param_that_changed_when_a_run_went_on_is_the_new_one(bakeoff: Bakeoff) -> None:
    write_run("aaaa1111", scores(0.80), {"changed.train.steps": "3000"})
    write_run("bbbb2222", scores(0.70))
    head, *rows = [line.split(" | ") for line in bakeoff("compare", "--md").out.splitlines()]
    at = head.index("train.steps")
    assert [row[at] for row in rows[1:3]] == ["3000", "2000"]


def test_what_the_worst_exported_file_lost_stands_beside_the_network_s_number(bakeoff: Bakeoff) -> None:
    write_run("aaaa1111", scores(0.58) | {"export/saved_model.drop": 0.0, "export/dynamic.drop": 0.141})
    write_run("bbbb2222", scores(0.50) | {"export/saved_model.drop": 0.0, "export/dynamic.drop": -0.002}, lr__peak="1")
    head, _, *rows = [line.split(" | ") for line in bakeoff("compare", "--md").out.splitlines()[:4]]
    assert [row[head.index("drop")] for row in rows] == ["0.141", "**0.000**"]
    assert [row[0] for row in bakeoff("compare", "--filter", "drop<0.05").rows[1:2]] == ["bbbb2222"]


def test_markdown_and_json(bakeoff: Bakeoff) -> None:
    three()
    write_run("dddd|4", scores(0.1), name="a | b", lr__peak="7")
    head, rule, best, *_ = bakeoff("compare", "--md").out.splitlines()
    assert head.startswith("| run | mAP_50 | mAP | lr.use | seed | lr.peak |") and rule.startswith(
        "|---|---:|---:|---|"
    )
    assert best.startswith("| bbbb2222 | **0.850 (0.820–0.880)** | **0.425** | exponential | 0 | 0.003 |")
    assert "dddd\\|4" in bakeoff("compare", "--md").out
    tree = json.loads(bakeoff("compare", "--json").out)
    assert (tree["version"], tree["keys"]) == (1, ["lr.use", "seed", "lr.peak"])
    assert tree["metrics"][0] == {"name": "mAP_50", "higher_is_better": True, "best": ["bbbb2222"]}
    first = tree["runs"][0]
    assert first["numbers"]["mAP_50"] == {"value": 0.85, "low": 0.82, "high": 0.88, "spread": None}
    assert first["params"]["derived.task"] == "detection" and first["cost"]["size_bytes"] == 3.6e6


def test_one_form_of_the_table_is_printed(bakeoff: Bakeoff) -> None:
    three()
    assert bakeoff("compare", "--csv").out.startswith("run,")
    assert bakeoff("compare", "--latex").out.rstrip().endswith("\\end{tabular}")
    refused = bakeoff("compare", "--csv", "--json")
    assert refused.code == 2 and missing_in(refused.err, "--json and --csv") == []


def test_the_page_needs_no_network_and_runs_its_own_script_only(bakeoff: Bakeoff, here: Path) -> None:
    three()
    write_run("dddd4444", scores(0.1), name="<b>bold</b>", lr__peak="<i>")
    assert bakeoff("compare", "--html", "out/page.html").out == "4 runs: out/page.html\n"
    page = (here / "out/page.html").read_text(encoding="utf-8")
    [script] = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in page
    assert not re.search(r"https?:|//\w|<b>bold|<i>", page.replace(script, ""))
    assert defects_of(page) == []
    assert page.count("<tr>") == 5 and 'data-value="0.85"' in page and "best mAP_50" in page


def test_links_to_reports_go_from_the_page_s_folder(tmp_path: Path) -> None:
    """So the page and the store can move together."""
    report = tmp_path / "mlartifacts/of the team/evaluation/report.html"
    report.parent.mkdir(parents=True)
    report.touch()
    run = Contender("aaaa1111", "run", "SUCCEEDED", {}, {}, artifacts=report.parents[1].as_uri())
    write_page(tmp_path / "out/page.html", make_table([run]))
    page = (tmp_path / "out/page.html").read_text(encoding="utf-8")
    [address] = re.findall(r'href="([^"]+)"', page)
    assert address == "../mlartifacts/of%20the%20team/evaluation/report.html"
    assert (tmp_path / "out" / unquote(address)).resolve() == report.resolve()


def with_interval(value: float, half: float) -> dict[str, float]:
    ends = {"evaluation/interval.mAP_50.low": value - half, "evaluation/interval.mAP_50.high": value + half}
    return {"evaluation/mAP_50": value, **ends}


@pytest.mark.parametrize(
    ("value", "half", "ends"),
    [(0.9, 0.1, ("0.790", "1.000")), (0.1, 0.1, ("0.000", "0.210")), (20, 2, ("17.800", "22.200"))],
)
def test_a_scale_stays_from_0_to_1_where_its_numbers_do(
    tmp_path: Path, value: float, half: float, ends: tuple[str, str]
) -> None:
    runs = [Contender(f"{number}aaa1111", "run", "SUCCEEDED", {}, with_interval(value, half)) for number in range(2)]
    write_page(tmp_path / "page.html", make_table(runs))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f'<span class="ends"><span>{ends[0]}</span><span>{ends[1]}</span></span>' in page


def test_a_run_that_was_cut_short_does_not_stretch_the_scale(tmp_path: Path) -> None:
    runs = [
        Contender(f"{number}aaa1111", "run", state, {}, with_interval(value, 0.01))
        for number, (state, value) in enumerate([("SUCCEEDED", 0.8), ("SUCCEEDED", 0.7), ("FAILED", 0.02)])
    ]
    write_page(tmp_path / "page.html", make_table(runs))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    # From 0.69 to 0.81, with a twentieth of that on both sides.
    assert '<span class="ends"><span>0.684</span><span>0.816</span></span>' in page
    middles = [float(left) for left in re.findall(r'class="point" style="left:([0-9.]+)%', page)]
    assert middles == [pytest.approx((0.8 - 0.684) / 0.132 * 100, abs=0.1), pytest.approx(12.1, abs=0.1), 0.0]
    assert page.count("FAILED</span>") == 2  # beside its name, which stays in sight, and as its state


def test_ids_of_a_store_on_a_server_lead_to_its_pages(tmp_path: Path) -> None:
    page = "http://server:5000/#/experiments/1/runs/5d1c"
    run = Contender("aaaa1111", "run", "SUCCEEDED", {}, {}, mlflow_id="5d1c", page=page)
    write_page(tmp_path / "page.html", make_table([run]))
    assert f'<a href="{page}"><code title="5d1c">5d1c</code></a>' in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["aaab"], "aaab: no run .*'aaaa1111'"),
        (["a"], "a: no run"),
        (["aaaa", "conf"], r"conf: .*models/config/run\.yaml"),
        (["dddd"], "dddd: .*'bakeoff'.*'other'.*--experiment other"),
        (["cccc"], r"cccc: .*\b2: cccc4444 \(.*\) SUCCEEDED, cccc3333 \("),
        (["--sweep", "sweep-1"], r"--sweep: .*'sweep-1'.*\(none\)"),
        (["--metric", "mAP50"], "--metric: .*'mAP50'.*'mAP_50'.* one of: "),
        (["--sort", "lr.peek"], r"--sort: .*'lr\.peek'.*'lr\.peak'"),
        (["--filter", "lr.usa=cosine"], r"--filter: .*'lr\.usa'.*'lr\.use'"),
        (["--filter", "cosine"], "--filter: .*key.* = != > >= < <= .*'cosine'"),
        (["--filter", "lr.use="], r"--filter: .*key.* = != > >= < <= .*'lr\.use='"),
        (["--filter", "mAP_50>high"], "--filter: .*number.* >, .*'mAP_50>high'"),
        (["--filter", "mAP_50>0.99"], "--filter: no run has mAP_50>0.99"),
        (["--top", "0"], r"--top: .*\b1\b.*\b0$"),
        (["--recent", "-1"], r"--recent: .*\b1\b.*-1$"),
        (["aaaa", "--recent", "3"], "compare: .*RUN and --recent$"),
        (["--uri", "sqlite:///gone.db"], r"sqlite:///gone\.db: .*no such file"),
    ],
)  # fmt: skip
def test_a_slip_is_reported_in_one_line(options: list[str], message: str, bakeoff: Bakeoff) -> None:
    three()
    write_run("cccc4444", scores(0.7))
    write_run("dddd4444", scores(0.7), project="other")
    output = bakeoff("compare", *options)
    assert (output.code, output.out) == (2, "") and re.match(message, output.err), output.err
    assert len(output.err.splitlines()) == 1


def test_before_any_run_compare_says_what_makes_one(bakeoff: Bakeoff) -> None:
    output = bakeoff("compare")
    assert (output.code, output.out, missing_in(output.err, "no run", "`dvc repro`")) == (2, "", [])


def test_runs_without_numbers_are_shown_without_them(bakeoff: Bakeoff) -> None:
    write_run("aaaa1111", {}, {"bakeoff.state": "FAILED"}, state="FAILED")
    output = bakeoff("compare")
    assert output.code == 0 and "FAILED" in output.rows[1] and "mAP_50" not in output.rows[0]
    output = bakeoff("compare", "--metric", "mAP_50")
    assert (output.code, output.err) == (2, "--metric: no run has 'mAP_50'; one of: (none)\n")
