"""Contenders -> the rows of a table: runs that differ only in their seed as one, each configuration of a sweep once.

A spread is the standard deviation over the seeds, so at least two of them are needed.
"""

from collections.abc import Sequence
from dataclasses import replace

from bakeoff.experiments.compare.run_row import DERIVED, SEED, SUCCEEDED, Contender, Cost


def fold_seeds(contenders: Sequence[Contender]) -> list[Contender]:
    """Put runs that differ only in their seed in the place of the first of them. What has not ended well stands by
    itself: its numbers are of another step."""
    keys = _find_deciding_keys(contenders)
    groups: dict[object, list[Contender]] = {}
    for number, contender in enumerate(contenders):
        own = (*map(contender.params.get, keys), contender.records) if contender.state == SUCCEEDED else number
        groups.setdefault(own, []).append(contender)
    return [_fold(group) for group in groups.values()]


def _find_deciding_keys(contenders: Sequence[Contender]) -> list[str]:
    """Return the keys by which runs are told apart: the seed and what follows from others tell none apart, and neither
    does a key that all have with one value."""
    params = [contender.params for contender in contenders]
    keys = dict.fromkeys(key for values in params for key in values)
    return [
        key
        for key in keys
        if key != SEED and not key.startswith(DERIVED) and len({values.get(key) for values in params}) > 1
    ]


def _fold(group: Sequence[Contender]) -> Contender:
    """Make one of several. Of runs with one seed the newest counts: they are the same again."""
    newest: dict[str | None, Contender] = {}
    for contender in sorted(reversed(group), key=lambda one: one.began or 0):
        newest[contender.params.get(SEED)] = contender
    seeds = tuple(newest.values())
    if len(seeds) == 1:
        return seeds[0]
    last, names = seeds[-1], sorted(filter(None, newest), key=_as_number)
    return replace(
        last, name=f"{last.name.partition(' (')[0]}, seeds {', '.join(names)}", cost=_mean(seeds), experiment=None,
        params={key: value for key, value in last.params.items() if key != SEED}, seeds=seeds,
        commit=last.commit if len({seed.commit for seed in seeds}) == 1 else None,
    )  # fmt: skip


def _mean(seeds: Sequence[Contender]) -> Cost:
    trees = [seed.cost.tree for seed in seeds]
    known = {name: [value for tree in trees if (value := tree[name]) is not None] for name in trees[0]}
    return Cost(**{name: sum(values) / len(values) if values else None for name, values in known.items()})


def _as_number(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isdecimal() else (0, text)


def add_configurations(contenders: Sequence[Contender], planned: Sequence[Contender]) -> list[Contender]:
    """Return each planned configuration once, done ones first: its last attempt, or itself where it has no run.

    The state is that of the sweep, unless that is empty because the state of the run is more precise.
    """
    by_experiment: dict[str | None, list[Contender]] = {}
    for contender in contenders:
        by_experiment.setdefault(contender.experiment, []).append(contender)
    rows = []
    for one in planned:
        attempts = by_experiment.pop(one.experiment, [])
        last = max(
            attempts, key=lambda run: (run.run_id == one.run_id, run.began or 0), default=replace(one, run_id="")
        )
        rows.append(replace(last, state=one.state or last.state))
    rows += [contender for own in by_experiment.values() for contender in own]
    return put_done_first(rows)


def put_done_first(contenders: Sequence[Contender]) -> list[Contender]:
    """Leave them in their order otherwise."""
    return sorted(contenders, key=lambda one: one.state != SUCCEEDED)
