"""The page that MLflow keeps of a sweep."""

from pathlib import Path

from bakeoff.experiments.sweep.best import rank_jobs
from bakeoff.experiments.sweep.mlflow_parent import list_trials, write_page
from bakeoff.experiments.sweep.search.search_settings import Search
from bakeoff.experiments.sweep.sweep_manifest import JobState
from support.made_sweeps import ID, sweep, sweep_job
from support.page_reading import defects_of


def job(number: int, lr: str, peak: str, value: float | None = None, **more: object) -> object:
    state = JobState.WAITING if value is None else JobState.DONE
    return sweep_job(
        number, configurations=((f"lr={lr}", f"+lr.peak={peak}"),), **({"state": state, "value": value} | more)
    )


MANIFEST = sweep(
    job(1, "cosine", "0.1", 0.25),
    job(2, "cosine", "0.2", 0.5),
    job(3, "'a b'", "0.1", 0.9, state=JobState.PRUNED),
    job(4, "'a b'", "0.2").begin(1.0).end(2.0, JobState.FAILED, "diverged: the loss is <nan>"),  # type: ignore[attr-defined]
    overrides=("lr=cosine,'a b'", "+lr.peak=0.1,0.2"),
)


def test_jobs_are_trials_by_the_overrides_in_which_they_differ() -> None:
    trials, question = list_trials(MANIFEST)
    assert (question.keys, question.metric, question.is_higher_better) == (("lr", "lr.peak"), "mAP_50", True)
    assert [dict(trial.values) for trial in trials][2:] == [
        {"lr": "a b", "lr.peak": "0.1"}, {"lr": "a b", "lr.peak": "0.2"}
    ]  # fmt: skip
    assert [(trial.numbers, trial.is_done) for trial in trials] == [
        ((0.25,), True), ((0.5,), True), ((0.9,), False), ((), False)
    ]  # fmt: skip
    assert trials[3].state == "failed: diverged: the loss is <nan>"


def test_the_page_has_the_question_the_best_and_every_configuration(tmp_path: Path) -> None:
    write_page(MANIFEST, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"<h1>{ID}</h1>" in page and "bakeoff sweep lr=cosine,&#39;a b&#39; +lr.peak=0.1,0.2" in page
    assert "<b>best mAP_50</b><strong>0.500</strong>" in page and "2 done, 1 failed, 1 pruned" in page
    assert defects_of(page) == []
    rows = page.partition("<h2>Configurations</h2>")[2]
    assert [rows.index(f"<code>{ID}-{number}</code>") for number in (2, 1, 3, 4)] == sorted(
        rows.index(f"<code>{ID}-{number}</code>") for number in (1, 2, 3, 4)
    )
    assert "diverged: the loss is &lt;nan&gt;" in rows and page.count('class="trial undone"') == 2


def test_of_a_search_for_the_least_the_least_is_first(tmp_path: Path) -> None:
    manifest = sweep(
        job(1, "cosine", "0.1", 0.25), job(2, "cosine", "0.2", 0.5), search=Search("tpe", 2, "loss", "min")
    )
    assert [done.number for done in rank_jobs(manifest)] == [1, 2]
    assert list_trials(manifest)[1].is_higher_better is False


def test_before_anything_is_done_the_page_has_the_configurations_alone(tmp_path: Path) -> None:
    write_page(sweep(job(1, "cosine", "0.1")), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "1 waiting" in page and "<svg" not in page
