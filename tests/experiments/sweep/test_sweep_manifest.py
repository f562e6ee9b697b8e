"""A manifest is read as it was written, has one launcher, and is found by its id."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.experiments.sweep.search.search_settings import Search
from bakeoff.experiments.sweep.sweep_manifest import FILE, JobState, all_ids, find_manifest, load_manifest, one_launcher
from bakeoff.foundation.errors import WorkspaceError
from support.made_sweeps import ID, sweep, sweep_job
from support.messages import missing_in

pytestmark = pytest.mark.usefixtures("place")


def test_what_is_written_is_read_and_each_attempt_stays() -> None:
    job = sweep_job(1).begin(10.0).end(12.5, JobState.FAILED, "killed").in_state(JobState.WAITING)
    job = job.begin(20.0).end(30.0, JobState.DONE, fingerprint="ab12", run_id="7f", value=0.25)
    manifest = sweep(job, sweep_job(2, configurations=(("seed=2",), ("seed=02",))))
    manifest.write()
    assert load_manifest(manifest.folder) == manifest
    tree = json.loads((manifest.folder / FILE).read_text(encoding="utf-8"))
    assert tree["jobs"][0]["attempts"] == [
        {"began": 10.0, "ended": 12.5, "state": "failed", "why": "killed"},
        {"began": 20.0, "ended": 30.0, "state": "done", "why": None},
    ]
    assert tree["words"] == list(manifest.overrides) and tree["jobs"][1]["points"] == [["seed=2"], ["seed=02"]]
    assert (tree["jobs"][0]["state"], tree["jobs"][0]["value"], tree["jobs"][1]["state"]) == ("done", 0.25, "waiting")


def test_what_a_search_knows_is_written_to_the_bit() -> None:
    job = sweep_job(1, state=JobState.PRUNED, rendered="5c", validations=((10, 0.1 + 0.2), (20, 1e-17)))
    manifest = sweep(job, search=Search("tpe", 3, "loss", "min", 7, False, ("train",)))
    manifest.write()
    assert load_manifest(manifest.folder) == manifest
    assert json.loads((manifest.folder / FILE).read_text(encoding="utf-8"))["jobs"][0]["looks"] == [
        [10, 0.1 + 0.2], [20, 1e-17]
    ]  # fmt: skip
    assert (manifest.expected, sweep(job).expected) == (3, 1)


def test_a_manifest_of_before_there_were_searches_is_read() -> None:
    manifest = sweep(sweep_job(1))
    manifest.write()
    tree = json.loads((manifest.folder / FILE).read_text(encoding="utf-8"))
    del tree["search"], tree["jobs"][0]["looks"], tree["jobs"][0]["rendered"]
    (manifest.folder / FILE).write_text(json.dumps(tree), encoding="utf-8")
    assert load_manifest(manifest.folder) == manifest


def test_a_write_that_does_not_come_to_its_end_leaves_the_old_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = sweep(sweep_job(1))
    manifest.write()

    def kill(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", kill)
    with pytest.raises(KeyboardInterrupt):
        manifest.with_job(sweep_job(1).begin(1.0)).write()
    assert load_manifest(manifest.folder) == manifest


def test_a_sweep_is_named_by_the_beginning_of_its_id() -> None:
    with pytest.raises(WorkspaceError, match="^no sweep .*`bakeoff sweep lr=cosine,exponential`"):
        find_manifest(None)
    ids = ["sweep-20250101-000000", "sweep-20260102-030405", "sweep-20260102-040506"]
    for own in ids:
        replace(sweep(sweep_job(1)), id=own).write()
    assert all_ids() == ids[::-1]
    assert find_manifest(None).id == ids[2]
    assert find_manifest("sweep-2025").id == ids[0]
    assert find_manifest(ids[1]).id == ids[1]
    with pytest.raises(WorkspaceError, match=rf"^sweep-2026: .*\b2; .*one of: {ids[1]}, {ids[2]}$"):
        find_manifest("sweep-2026")
    with pytest.raises(WorkspaceError, match="^sweep-2027: no sweep has this id; "):
        find_manifest("sweep-2027")


def test_only_one_launches_a_sweep() -> None:
    manifest = sweep(sweep_job(1))
    manifest.write()
    with (
        one_launcher(manifest.folder),
        pytest.raises(WorkspaceError, match=f"^{ID}: .*another process"),
    ):
        with one_launcher(manifest.folder):
            pass
    with one_launcher(manifest.folder):
        pass


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("{", ("cannot be read",)),
        ('{"version": 2, "jobs": [], "words": []}', ("version 1", "2")),
        ('{"version": 1, "jobs": [], "words": []}', ("cannot be read",)),
        (
            '{"version": 1, "jobs": [], "words": [], "search": {"kind": "gp", "trials": 1, "metric": ""}}',
            ("cannot be read", "--search:", "'gp'"),
        ),
    ],
)
def test_a_manifest_that_this_version_cannot_read_is_reported(text: str, parts: tuple[str, ...], place: Path) -> None:
    (place / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(WorkspaceError, match=f"^{place.name}: manifest.json .*; start the sweep") as caught:
        load_manifest(place)
    assert missing_in(str(caught.value), *parts) == []


def test_a_clock_that_is_set_back_makes_no_attempt_end_before_it_began() -> None:
    job = sweep_job(1).begin(1000.0).end(400.0, JobState.DONE)
    assert (job.attempts[0].began, job.attempts[0].ended) == (1000.0, 1000.0)


def test_jobs_are_counted_by_state_and_with_them_what_a_search_will_draw() -> None:
    jobs = (sweep_job(1, state=JobState.FAILED), sweep_job(2, state=JobState.DONE), sweep_job(3, state=JobState.DONE))
    assert sweep(*jobs).counts == "2 done, 1 failed"
    search = Search("tpe", 5, "loss", "min", 7, False, ("train",))
    assert sweep(*jobs, search=search).counts == "2 done, 1 failed, 2 to be drawn"
    assert sweep(search=search).counts == "5 to be drawn"
