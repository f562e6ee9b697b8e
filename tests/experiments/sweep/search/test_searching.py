"""A search through the launcher and its manifest: real processes, which compute a quadratic of their values."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from bakeoff.experiments.sweep import job_process, launch
from bakeoff.experiments.sweep.backend import LocalProcess
from bakeoff.experiments.sweep.best import find_best
from bakeoff.experiments.sweep.launch import Launch, LaunchOptions
from bakeoff.experiments.sweep.resources import Seats
from bakeoff.experiments.sweep.search import searching
from bakeoff.experiments.sweep.search.search_settings import Search
from bakeoff.experiments.sweep.search.searching import Searching
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepJob, SweepManifest, load_manifest
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking.results.results import Result
from support.imports import ROOT
from support.made_sweeps import ID, states, sweep, sweep_job
from support.messages import missing_in

DONE, PRUNED, REFUSED, FAILED = JobState.DONE, JobState.PRUNED, JobState.REFUSED, JobState.FAILED
OVERRIDES = ("lr.peak=interval(0,1)", "lr=cosine,exponential")
STAGES = ("train", "evaluate")
Instead = Callable[[Mapping[int, str]], None]

QUADRATIC = """
number = {number}
job = json.load(open(".bakeoff/sweeps/{sweep}/manifest.json"))["jobs"][number - 1]
peak = float(job["points"][0][0].partition("=")[2])
open(f"value-{{job['experiment']}}", "w").write(repr(1 - (peak - 0.3) ** 2))
end(0)
"""


class Codes(defaultdict[int, str]):
    def __missing__(self, number: int) -> str:
        return QUADRATIC.format(number=number, sweep=ID)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Read overrides with the repository's conf/, take configurations for variants, read results from jobs' files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launch, "SECONDS_BETWEEN_CHECKS", 0.02)
    monkeypatch.setattr(searching, "restore_start_folder", lambda manifest: ROOT)
    monkeypatch.setattr(searching, "make_trial", make_trial)
    for module in (job_process, searching):
        monkeypatch.setattr(module, "result_of", result_of)
    return tmp_path


def make_trial(configuration: Any, manifest: SweepManifest, search: Search) -> SweepJob:
    number = len(manifest.jobs) + 1
    return sweep_job(
        number,
        configurations=(configuration.varied,),
        stages=search.stages,
        headline=search.metric,
        steps=100,
        memory_bytes=1,
    )


def result_of(experiment: str) -> Result:
    value = float(Path(f"value-{experiment}").read_text())
    passes = [{"step": step, "validation/mAP_50": seen} for step, seen in ((50, value / 2), (100, value))]
    return Result(
        "", {}, TrainedState("SUCCEEDED"), "".join(f"{json.dumps(one)}\n" for one in passes), {"mAP_50": value}
    )


def search(kind: str = "tpe", trials: int = 14, **more: Any) -> SweepManifest:
    overrides = more.pop("overrides", OVERRIDES)
    asked = Search(kind, trials, **({"metric": "mAP_50", "stages": STAGES, "prunes": kind == "asha"} | more))
    return sweep(overrides=overrides, search=asked)


def launcher(manifest: SweepManifest, side_by_side: int = 1, print_line: Callable[[str], None] = [].append) -> Launch:
    manifest.write()
    return Launch(manifest, print_line, LaunchOptions(side_by_side), Seats(side_by_side, 100), Searching(manifest))


def launched(
    manifest: SweepManifest, side_by_side: int = 1, print_line: Callable[[str], None] = [].append
) -> SweepManifest:
    return launcher(manifest, side_by_side, print_line).run()


def list_overrides(manifest: SweepManifest) -> list[tuple[str, ...]]:
    return [job.configurations[0] for job in manifest.jobs]


class Kill(BaseException):
    """The launcher is killed here."""


@pytest.mark.parametrize(("kind", "trials", "kills"), [("tpe", 13, (3, 12)), ("random", 4, (2,))])
def test_a_search_that_was_killed_resumes_with_the_suggestions_that_it_would_have_made(
    kind: str, trials: int, kills: tuple[int, ...], instead: Instead
) -> None:
    instead(Codes())
    whole = launched(search(kind, trials))
    assert states(whole) == states(load_manifest(whole.folder)) == [DONE] * trials
    assert len({*list_overrides(whole)}) == trials
    cut = search(kind, trials)
    for number in kills:

        def print_line(line: str, begins: str = f"{number} of {trials}: ") -> None:
            if line.startswith(begins):
                raise Kill

        cut_short = launcher(cut, print_line=print_line)
        with pytest.raises(Kill):
            cut_short.run()
        cut = load_manifest(cut.folder)
        assert len(cut.jobs) == number and cut.job(number).state == JobState.RUNNING
        for one in cut_short._running.values():  # its job comes to its end without it
            assert isinstance(one.process, LocalProcess) and one.process.child is not None
            assert one.process.child.wait() == 0
    end = launched(cut)
    assert list_overrides(end) == list_overrides(whole)
    assert [job.value for job in end.jobs] == [job.value for job in whole.jobs]


def test_two_side_by_side_draw_no_configuration_twice_and_one_is_best(instead: Instead) -> None:
    instead(Codes())
    end = launched(search(trials=16, seed=1), 2)
    assert states(end) == [DONE] * 16 and len({*list_overrides(end)}) == 16
    first = find_best(end)
    assert first is not None and first.value == max(job.value or 0 for job in end.jobs)


def test_the_least_is_best_if_the_direction_says_so(instead: Instead) -> None:
    instead(Codes())
    end = launched(search("random", 4, direction="min"))
    first = find_best(end)
    assert first is not None and first.value == min(job.value or 9 for job in end.jobs)
    assert [job.validations for job in end.jobs] == [
        ((50, job.value / 2), (100, job.value)) for job in end.jobs if job.value
    ]


def test_a_metric_of_training_is_that_of_the_best_validation_pass(instead: Instead) -> None:
    instead(Codes())
    [job] = launched(search("random", 1, metric="validation/mAP_50")).jobs
    assert job.value == job.validations[-1][1] and job.headline == "validation/mAP_50"
    [job] = launched(search("random", 1, metric="validation/mAP_50", direction="min")).jobs
    assert job.value == job.validations[0][1]


def test_what_falls_behind_is_ended_and_the_next_begins(instead: Instead, place: Path) -> None:
    """The second trial has 0.1 at step 50, where the first one, which trains as well, has 0.9."""
    trains = """
        sys.path[:0] = {path!r}
        from pathlib import Path
        from bakeoff.experiments.runs.run_status import State
        from bakeoff.tracking.journal.journal import Journal
        from support.made_runs import made
        made(Path(".bakeoff/runs"), "f{number}", State.RUNNING, experiment="{sweep}-{number}", run_id="r{number}",
             started=time.time(), ago=0)
        journal = Journal("r{number}")
        while {number} == 2 and not Path(".bakeoff/journal/r1/journal.jsonl").exists(): time.sleep(0.02)
        journal.metrics(50, {{"validation/mAP_50": {value}}})
        try:
            until = time.time() + 60
            while time.time() < until and not ({number} == 1 and os.path.exists("third")): time.sleep(0.02)
        except KeyboardInterrupt:
            open("saved", "w").close()
            end(1)
        open("value-{sweep}-1", "w").write("0.9")
        end(0)
    """
    path = [str(ROOT / "src"), str(ROOT / "tests")]
    code = [trains.format(path=path, sweep=ID, number=number, value=value) for number, value in ((1, 0.9), (2, 0.1))]
    third = f"open('third', 'w').close(); open('value-{ID}-3', 'w').write('0.5')\nend(0)"
    instead({1: code[0], 2: code[1], 3: third})
    lines: list[str] = []
    end = launched(search("asha", 3), 2, lines.append)
    assert states(end) == states(load_manifest(end.folder)) == [DONE, PRUNED, DONE]
    pruned = end.job(2)
    why = pruned.attempts[-1].why or ""
    assert (
        missing_in(why, "mAP_50 0.100", "step 50", "best of 3") == []
        and pruned.validations == ((50, 0.1),)
        and pruned.fingerprint == "f2"
    )
    assert (place / "saved").exists()
    assert any(line.startswith("2 of 3 is given up after ") and line.endswith(why) for line in lines)


def test_what_is_no_variant_is_reported_and_the_search_continues(
    instead: Instead, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead(Codes())

    def refused(configuration: Any, manifest: SweepManifest, asked: Search) -> SweepJob:
        job = make_trial(configuration, manifest, asked)
        return job.begin(1.0).end(1.0, REFUSED, "lr.peak: too much") if job.number in (2, 3) else job

    monkeypatch.setattr(searching, "make_trial", refused)
    lines: list[str] = []
    end = launched(search(trials=5), print_line=lines.append)
    assert states(end) == states(load_manifest(end.folder)) == [DONE, REFUSED, REFUSED, DONE, DONE]
    assert [line for line in lines if "refused" in line] == [
        f"{number} of 5 is refused: lr.peak: too much: {end.job(number).name}" for number in (2, 3)
    ]
    assert launched(end).jobs == end.jobs  # nothing is left to do


def test_a_search_whose_first_trials_are_all_lost_ends(instead: Instead) -> None:
    instead({number: "end(3)" for number in range(1, 6)})
    assert states(launched(search(trials=30))) == [FAILED] * 5


def test_one_after_a_trial_that_is_done_continues_though_others_are_lost(instead: Instead) -> None:
    codes = Codes()
    codes |= {number: "end(3)" for number in range(2, 9)}
    instead(codes)
    assert states(launched(search(trials=9))) == [DONE, *[FAILED] * 7, DONE]
