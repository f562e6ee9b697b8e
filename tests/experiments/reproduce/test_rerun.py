"""Which stages are run again, what each is compared with, and where it ends. The stages themselves are played."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from bakeoff.app.cli import parse
from bakeoff.experiments.reproduce import rerun
from bakeoff.experiments.reproduce.recorded import Recorded
from bakeoff.experiments.reproduce.reproduction_verdict import MatchLevel
from bakeoff.experiments.reproduce.rerun import CannotBeTried, Reproduction, Wishes, make_again
from bakeoff.experiments.reproduce.what_is_missing import Here
from bakeoff.foundation.errors import ConfigError
from bakeoff.foundation.workspace import journals
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking import find_run
from bakeoff.tracking.find_run import TrackedRun
from bakeoff.tracking.journal.entries import TagsEntry
from bakeoff.tracking.journal.journal import Journal, entries, entries_of
from bakeoff.tracking.store.target import Target
from support.repository import FILES

RUN_YAML = {"variant": {"model": "a", "lr": "b", "memory": "c"}, "lr": {"peak": 0.1}, "track": {"kind": "mlflow"}}
STATE = {"weights_sha256": "5d" * 32, "step": 4, "steps": 4, "ended_by": "steps", "run_id": "0f" * 16}
MADE = {
    "data/records/manifest.json": {"digest": "9c" * 32},
    "models/config/run.yaml": RUN_YAML | {"track": {"kind": "none"}},
    "models/train/state.json": STATE,
    "models/train/history.jsonl": {"step": 4, "train/loss": 0.5},
    "models/evaluation/metrics.json": {"accuracy": 0.5},
}
FILES_OF = {
    "build_records": ["data/records/manifest.json"],
    "render_config": ["models/config/run.yaml"],
    "train": ["models/train/state.json", "models/train/history.jsonl"],
    "evaluate": ["models/evaluation/metrics.json"],
}
HERE = Here(True, "python 3", "x86_64")


class Oven:
    """Plays the stages; `made` is what they leave."""

    def __init__(self) -> None:
        self.made, self.ran, self.params = dict(MADE), [], ""

    def run_stage(self, stage: str, folder: Path, python: Path | None, say: object, threads: int | None) -> float:
        self.ran.append(stage)
        self.params = (folder / "params.yaml").read_text(encoding="utf-8")
        for name in FILES_OF[stage]:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(json.dumps(self.made[name]) + "\n", encoding="utf-8")
        return 1.0


@pytest.fixture
def oven(monkeypatch: pytest.MonkeyPatch) -> Oven:
    played = Oven()
    monkeypatch.setattr(rerun, "_run_stage", played.run_stage)
    monkeypatch.setattr(Here, "now", classmethod(lambda cls, commit: HERE))
    return played


@pytest.fixture
def first(commit: str) -> Recorded:
    return Recorded(
        "0f0f0", commit, None, "none", False, RUN_YAML, "9c" * 32, TrainedState.from_tree(STATE),
        (MADE["models/train/history.jsonl"],), {"accuracy": 0.5},
        {"bakeoff.versions": HERE.versions, "bakeoff.processor": HERE.processor},
    )  # fmt: skip


def made_again(first: Recorded, *, until: str = "evaluate", keep: bool = False) -> Reproduction:
    attempt = Reproduction(first)
    make_again(attempt, lambda line: None, Wishes(until, keep=keep))
    return attempt


def test_all_stages_that_come_out_the_same_are_identical_and_leave_nothing(first: Recorded, oven: Oven) -> None:
    attempt = made_again(first)
    assert (attempt.verdict.outcome, attempt.lacks) == (MatchLevel.IDENTICAL, [])
    assert oven.ran == ["build_records", "render_config", "train", "evaluate"]
    assert not Path(".bakeoff/reproduce").exists()


def test_the_proof_is_not_tracked_and_else_has_the_params_of_then(first: Recorded, oven: Oven) -> None:
    made_again(first)
    assert yaml.safe_load(oven.params) == {"lr": {"use": "cosine"}, "seed": 0, "track": {"use": "none"}}
    assert Path("params.yaml").read_text(encoding="utf-8") == FILES["params.yaml"]


@pytest.mark.parametrize("until", ["build_records", "train"])
def test_it_goes_no_further_than_it_is_told(until: str, first: Recorded, oven: Oven) -> None:
    assert made_again(first, until=until).verdict.outcome == MatchLevel.IDENTICAL
    assert oven.ran[-1] == until


@pytest.mark.parametrize(
    ("file", "content", "stage"),
    [
        ("data/records/manifest.json", {"digest": "7a" * 32}, "build_records"),
        ("models/config/run.yaml", RUN_YAML | {"lr": {"peak": 0.2}}, "render_config"),
    ],
)
def test_what_comes_after_other_records_or_another_config_is_not_run(
    file: str, content: dict, stage: str, first: Recorded, oven: Oven
) -> None:
    oven.made[file] = content
    verdict = made_again(first).verdict
    assert (verdict.outcome, verdict.stage, oven.ran[-1]) == (MatchLevel.DIFFERS, stage, stage)


def test_other_weights_are_evaluated_for_they_may_be_as_good(first: Recorded, oven: Oven) -> None:
    oven.made["models/train/state.json"] = STATE | {"weights_sha256": "6e" * 32}
    verdict = made_again(first).verdict
    assert (verdict.outcome, verdict.stage, oven.ran[-1]) == (MatchLevel.WITHIN, "train", "evaluate")


def test_weights_of_another_step_than_those_of_a_stopped_run_are_not_evaluated(first: Recorded, oven: Oven) -> None:
    oven.made["models/train/state.json"] = STATE | {"weights_sha256": "6e" * 32, "step": 6, "steps": 6}
    stopped = replace(first, state=replace(first.state, ended_by="stop", steps=6))
    assert made_again(stopped).verdict.outcome == MatchLevel.WITHIN
    assert oven.ran[-1] == "train"


def test_what_is_missing_is_said_before_anything_runs(first: Recorded, oven: Oven) -> None:
    gone = replace(first, run_yaml=RUN_YAML | {"data": {"path": "data/raw/gone"}})
    attempt = Reproduction(gone)
    with pytest.raises(CannotBeTried, match=r"^0f0f0: .*\bmissing: data/raw/gone: "):
        make_again(attempt, lambda line: None, Wishes())
    assert oven.ran == [] and [lack.is_fatal for lack in attempt.lacks] == [True]


def test_a_pipeline_without_the_stages_of_today_is_named(
    first: Recorded, oven: Oven, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerun, "STAGES", ("build_records", "bake", "train", "evaluate"))
    with pytest.raises(CannotBeTried, match=r"dvc\.yaml: had no stage bake then"):
        made_again(first)


@pytest.mark.parametrize(("said", "given"), [("3", {"TF_NUM_INTRAOP_THREADS": "3"}), ("many", None), (None, None)])
def test_stages_compute_with_as_many_threads_as_the_run(
    said: str | None, given: object, first: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Here, "now", classmethod(lambda cls, commit: HERE))
    seen: list[object] = []
    monkeypatch.setattr(rerun, "run_command", lambda *words: (seen.append(words[-1]), (1, [""]))[1])
    tags = {**first.tags, **({"bakeoff.threads": said} if said else {})}
    with pytest.raises(CannotBeTried, match="build_records"):
        made_again(replace(first, tags=tags))
    assert seen == [given]


def test_a_stage_that_fails_says_so_with_its_last_words(first: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Here, "now", classmethod(lambda cls, commit: HERE))
    monkeypatch.setattr(
        rerun, "run_command", lambda *given: (1, ["params.yaml: lr: no such option", "ERROR: failed to reproduce"])
    )
    with pytest.raises(CannotBeTried, match=r"^build_records: .*\bcode 1 \(params\.yaml: lr: no such option\)"):
        made_again(first)


# The command.


@pytest.fixture
def tracked(first: Recorded, oven: Oven, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Runs the command on a run that was told of here; nothing is sent."""
    target = Target("http://somewhere", "bakeoff")
    journal = Journal("0f" * 16)
    target.write(journal.folder)
    journal.run("a · b · c")
    journal.close()
    known = replace(first, tracked=TrackedRun("0f" * 16, first.tags, target))
    monkeypatch.setattr("bakeoff.experiments.reproduce.recorded.recorded", lambda name: known)
    monkeypatch.setattr("bakeoff.experiments.reproduce.rerun.send_beside", lambda: None)
    monkeypatch.setattr(find_run, "send_beside", lambda: None)
    monkeypatch.setattr(find_run, "_find_in_store", lambda target, name: (None, None))

    def run(*arguments: str) -> None:
        parse(["reproduce", "0f0f0", *arguments]).run()

    return run


def tags_of(run_id: str) -> dict[str, str]:
    tag_sets = [entry.values for entry in entries_of(journals() / run_id, TagsEntry)]
    return {key: value for values in tag_sets for key, value in values.items()}


def test_the_verdict_is_a_tag_of_the_run(tracked: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    tracked()
    assert tags_of("0f" * 16)["bakeoff.reproduced"] == "identical"
    assert "verdict: identical: the same weights, SHA-256 5d5d5d5d5d5d\n" in capsys.readouterr().out
    assert [path.parent.name for path in journals().glob("*/journal.jsonl")] == ["0f" * 16]


def test_with_track_the_proof_is_a_run_of_its_own(tracked: Callable[..., None]) -> None:
    tracked("--track")
    [new] = {path.parent.name for path in journals().glob("*/journal.jsonl")} - {"0f" * 16}
    assert tags_of(new)["bakeoff.reproduction_of"] == "0f" * 16
    journal_entries = [entry for entry, _ in entries(journals() / new) if entry]
    assert journal_entries[0].name == "a · b · c (reproduction)"
    assert {"train/loss": 0.5} in [entry.values for entry in journal_entries if entry.kind == "metrics"]
    assert journal_entries[-1].state == "FINISHED"


def test_a_difference_is_exit_code_1_and_json_says_where(
    tracked: Callable[..., None], oven: Oven, capsys: pytest.CaptureFixture[str]
) -> None:
    oven.made["data/records/manifest.json"] = {"digest": "7a" * 32}
    with pytest.raises(SystemExit) as ended:
        tracked("--json")
    assert ended.value.code == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["verdict"], report["stage"], report["run"]) == ("differs", "build_records", "0f" * 16)
    assert report["stages"] == [{"stage": "build_records", "same": False, "said": report["because"], "seconds": 1}]


def test_what_could_not_be_tried_is_json_too_and_exit_code_2(
    tracked: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Here, "now", classmethod(lambda cls, commit: replace(HERE, has_commit=False)))
    with pytest.raises(CannotBeTried) as error:
        tracked("--json")
    assert error.value.exit_code == 2
    report = json.loads(capsys.readouterr().out)
    assert (report["verdict"], report["stages"], [lack["fatal"] for lack in report["missing"]]) == (
        "not tried",
        [],
        [True],
    )
    assert "bakeoff.reproduced" not in tags_of("0f" * 16)


def test_with_keep_the_workspace_stays(tracked: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    tracked("--keep", "--json")
    kept = Path(json.loads(capsys.readouterr().out)["workspace"])
    assert (kept / "models/train/state.json").is_file()


def test_a_tolerance_below_zero_is_refused(tracked: Callable[..., None]) -> None:
    with pytest.raises(ConfigError, match=r"^--tolerance: must be 0 or more, got -0\.1$"):
        tracked("--tolerance=-0.1")
