"""Contenders -> the rows of a table: runs that differ only in their seed as one, each configuration of a sweep once.

A spread is the standard deviation over the seeds, so at least two of them are needed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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
    means = {}
    trees = [seed.cost.tree for seed in seeds]
    for name in trees[0]:
        values = [value for tree in trees if (value := tree[name]) is not None]
        means[name] = sum(values) / len(values) if values else None
    return Cost(**means)


def _as_number(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isdigit() else (0, text)


@dataclass(frozen=True)
class SweepConfiguration:
    experiment: str
    variant: str
    state: str  # empty if the state of its run is more precise
    values: Mapping[str, str]  # the requested values, by the name of the param
    run_id: str | None = None


def add_configurations(
    contenders: Sequence[Contender], configurations: Sequence[SweepConfiguration], sweep: str
) -> list[Contender]:
    """Return each configuration once: its last attempt, with the state that the sweep has it in; done ones first."""
    by_experiment: dict[str | None, list[Contender]] = {}
    for contender in contenders:
        by_experiment.setdefault(contender.experiment, []).append(contender)
    rows = []
    for configuration in configurations:
        own = by_experiment.pop(configuration.experiment, [])
        last = max(own, key=lambda one: (one.run_id == configuration.run_id, one.began or 0), default=None)
        if last is None:
            last = Contender(
                "", configuration.variant, configuration.state, configuration.values, {},
                experiment=configuration.experiment, sweep=sweep, is_planned=True,
            )  # fmt: skip
        rows.append(replace(last, state=configuration.state or last.state))
    rows += [contender for own in by_experiment.values() for contender in own]
    return put_done_first(rows)


def put_done_first(contenders: Sequence[Contender]) -> list[Contender]:
    """Leave them in their order otherwise."""
    return sorted(contenders, key=lambda one: one.state != SUCCEEDED)
