"""The frame of the attacks notices each way to fall, goes on behind it, and repeats one attempt alone."""

import subprocess
import sys
from random import Random

import pytest
from starlette.routing import Route

from bakeoff.app.web.app import make_app
from bakeoff.app.web.security import ServerAddress
from proofs.attacks.attack import CAMPAIGNS, attack
from proofs.attacks.page_requests import TOKEN, make_target
from proofs.attacks.tiny_attacks import WAYS, choose_way
from proofs.attacks.watched import Ended, Limits, random_of, run_attempts
from support.imports import ROOT
from support.messages import missing_in

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for a process's peak of memory")
TINY, SEED, LIMITS = "proofs.attacks.tiny_attacks", 4, Limits(seconds=1, bytes=200 * 10**6)


def number_of(way: str) -> int:
    return next(number for number in range(10**4) if choose_way(random_of(SEED, TINY, number)) == way)


@pytest.fixture(scope="module")
def ended() -> list[Ended]:
    return list(run_attempts(TINY, SEED, [number_of(way) for way in WAYS], LIMITS))


@pytest.mark.slow  # a busy machine may be too slow for the limits that it waits for
def test_every_way_to_end_is_noticed_and_the_attempts_behind_it_are_made(ended: list[Ended]) -> None:
    found = {one.description.partition(": ")[0]: one.end.verdict for one in ended}
    assert found == {way: verdict for way, (verdict, _) in WAYS.items()}


def test_one_process_makes_all_attempts_that_do_not_end_it(ended: list[Ended]) -> None:
    processes = [one.description.partition(": ")[2] for one in ended]
    assert len(set(processes[: list(WAYS).index("computes forever") + 1])) == 1


def test_an_end_says_what_was_seen(ended: list[Ended]) -> None:
    texts = {one.description.partition(": ")[0]: one.end.text for one in ended}
    assert "ZeroDivisionError" in texts["raises"] and "ZeroDivisionError" in texts["raises in a command"]
    assert texts["refuses"].startswith("params.yaml: lr.peak") and "1000 lines" in texts["refuses at length"]
    assert texts["crashes"].startswith("exit code -11") and texts["crashes in a command"].startswith("signal 11")


def test_an_attempt_is_repeated_alone(ended: list[Ended]) -> None:
    [again] = run_attempts(TINY, SEED, [number_of("is wrong")], LIMITS)
    [first] = [one for one in ended if one.number == again.number]
    assert again.end == first.end and again.end.text == "2 boxes, not 3"


def test_falls_are_printed_with_the_command_that_repeats_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(CAMPAIGNS, "tiny", TINY)
    numbers = [number_of("is wrong"), number_of("answers"), number_of("raises")]
    assert attack("tiny", SEED, numbers, in_full=False) == 2
    printed = capsys.readouterr().out
    assert missing_in(printed, f"--seed {SEED} --number {numbers[0]} tiny", f"--number {numbers[2]} tiny") == []
    assert missing_in(printed.splitlines()[-1], "tiny", f"seed {SEED}", "3 attempts", "1 answered", "1 wrong") == []


def test_a_short_campaign_begins_with_a_new_seed() -> None:
    words = [sys.executable, "tests/proofs/attacks/attack.py", "--count", "3", "configurations"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    first, last = done.stdout.splitlines()[0], done.stdout.splitlines()[-1]
    assert first.startswith("seed ") and missing_in(last, "configurations", first, "3 attempts") == [], done


def test_the_campaign_of_requests_asks_for_every_address_of_the_page() -> None:
    routes = [route for route in make_app(ServerAddress("127.0.0.1", 8391, TOKEN)).routes if isinstance(route, Route)]
    for route in routes:
        for seed in range(9):
            assert make_target(Random(seed), route.path, "GET").startswith(route.path.partition("{")[0].encode())
