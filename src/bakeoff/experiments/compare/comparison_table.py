"""Contenders -> columns: what they are called, the keys in which they differ, numbers, cost, state, where they are."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bakeoff.evaluation.metric_meanings import is_higher_better
from bakeoff.experiments.compare.run_row import DERIVED, EVALUATION, SEED, VALIDATION, Contender, Number
from bakeoff.foundation.formatting import format_clock
from bakeoff.learning.metrics.names import BY_HEADLINE
from bakeoff.tracking.store.mlflow_names import INTERVAL

NONE = "–"
KEY, METRIC, COST, LINK = "key", "metric", "cost", "link"
OPTION = ".use"
RECORDS = "records"  # the column that stands where they differ
CUT_SHORT = ("FAILED", "STOPPED", "PRUNED", "REFUSED", "CANCELED")  # no number of theirs is called the best
FIRST_KEYS = 3
HEADLINE, KEYS, STATE, TIME, BESIDE_IT, MORE_KEYS, NOTE, LAST = 1, 2, 3, 4, 5, 10, 498, 600  # ranks of columns
MB, GB = 1e6, 1e9
OF_COST = ("export/", "device/")  # where the numbers of the columns of cost are
COMPARED = {name for judgement in BY_HEADLINE.values() for name in judgement.compared}  # where none is chosen
ON_A_DEVICE = re.compile(r"device/(.+)/(.+)\.frames_per_second")  # a metric: the machine and the file


@dataclass(frozen=True)
class Cell:
    text: str = NONE
    value: float | str | None = None  # to sort by
    number: Number | None = None
    is_best: bool = False


@dataclass(frozen=True)
class Column:
    name: str
    kind: str
    cells: tuple[Cell, ...]
    rank: int  # where there is little room, high ones are left out first
    is_higher_better: bool | None = None

    @property
    def is_number(self) -> bool:
        return self.kind in (METRIC, COST)


@dataclass(frozen=True)
class ComparisonTable:
    contenders: tuple[Contender, ...]
    columns: tuple[Column, ...]
    other_keys: tuple[str, ...] = ()  # that differ, and say no more than those that are shown

    @property
    def metrics(self) -> list[Column]:
        return [column for column in self.columns if column.kind == METRIC]


def make_table(
    contenders: Sequence[Contender], metrics: Sequence[str] = (), *, all_keys: bool = False
) -> ComparisonTable:
    """Lay runs out with these metrics, or with the one by which each task is judged and what goes with it."""
    keys, others = find_differing_keys(contenders)
    names = list(metrics) or choose_metrics(contenders)
    columns = [
        _column("run", LINK, 0, contenders, lambda one: one.short),
        *(_of_metric(name, HEADLINE if at == 0 else BESIDE_IT, contenders) for at, name in enumerate(names)),
        *(_of_key(key, rank, contenders) for key, rank in zip(keys, _ranks(keys), strict=True)),
        *(_of_key(key, LAST, contenders) for key in (others if all_keys else ())),
        _of_cost("drop", "drop", 499, contenders, lambda value: f"{value:.3f}"),
        _of_cost("time", "seconds", TIME, contenders, lambda seconds: format_clock(round(seconds))),
        _of_cost("memory", "memory_bytes", 500, contenders, lambda value: f"{value / GB:.2f} GB"),
        _of_cost("size", "size_bytes", 501, contenders, lambda value: f"{value / MB:.1f} MB"),
        _of_cost("latency", "latency_ms", 502, contenders, lambda value: f"{value:.1f} ms"),
        *_of_devices(contenders),
        _column("state", LINK, STATE, contenders, _state),
        _column("note", LINK, NOTE, contenders, lambda one: " ".join((one.note or "").split())),
        _column("experiment", LINK, 503, contenders, lambda one: one.experiment),
        _column(RECORDS, LINK, 504, contenders, lambda one: (one.records or "")[:8], only_if_several=True),
        _column("commit", LINK, 505, contenders, _commit, only_if_several=True),
        _column("began", LINK, 506, contenders, _began),
        _column("MLflow", LINK, 507, contenders, lambda one: (one.mlflow_id or "")[:8]),
    ]
    return ComparisonTable(tuple(contenders), tuple(column for column in columns if column is not None), tuple(others))


def find_differing_keys(contenders: Sequence[Contender]) -> tuple[list[str], list[str]]:
    """Return the keys that differ, options first, and apart from them those that say no more than an option that
    differs: what only one kind has, and what was derived."""
    known = [contender for contender in contenders if not contender.is_planned]
    params = [contender.params for contender in contenders]
    keys = list(dict.fromkeys(key for values in params for key in values))
    different = [
        key
        for key in keys
        if len({one.params.get(key) for one in known} | {values[key] for values in params if key in values}) > 1
    ]
    if any(contender.seeds for contender in contenders):
        different = [key for key in different if key != SEED]
    implied = [key for key in different if key.startswith(DERIVED) or _is_implied_by_its_option(key, known)]
    independent = [key for key in different if key not in implied]
    return sorted(independent, key=lambda key: not key.endswith(OPTION)), implied


def choose_metrics(contenders: Sequence[Contender]) -> list[str]:
    """Take the headlines and what stands beside them; of validation, too, while some runs are not evaluated."""
    headlines = list(dict.fromkeys(one.headline for one in contenders if one.headline))
    names = [name for headline in headlines for name in BY_HEADLINE[headline].compared]
    missing = [
        f"{VALIDATION}{headline}"
        for headline in headlines
        if any(one.headline == headline and not one.has_number(headline) for one in contenders)
    ]
    return [name for name in [*names, *missing] if any(one.has_number(name) for one in contenders)]


def may_be_shown(name: str) -> bool:
    """Tell whether a table for which no metrics were chosen can need the number of this name."""
    place, slash, own = name.rpartition("/")
    if name.startswith(OF_COST):
        return True
    own = own.removeprefix(INTERVAL).removesuffix(".low").removesuffix(".high")
    return f"{place}{slash}" in ("", EVALUATION, VALIDATION) and own in COMPARED


def format_number(number: Number) -> str:
    text = _decimals(number.value)
    if number.spread is not None:
        return f"{text} ± {_decimals(number.spread)}"
    if number.low is not None and number.high is not None:
        return f"{text} ({_decimals(number.low)}–{_decimals(number.high)})"
    return text


def _decimals(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:,.0f}"


def _is_implied_by_its_option(key: str, contenders: Sequence[Contender]) -> bool:
    """`lr.kind` beside `lr.use`, and `lr.decay_steps`, which a cosine has not, if all that have it have the same."""
    group, _, name = key.partition(".")
    option = f"{group}{OPTION}"
    if key == option or len({contender.params.get(option) for contender in contenders}) == 1:
        return False
    values = {(contender.params.get(option), contender.params.get(key)) for contender in contenders}
    is_one_each = len({one for one, _ in values}) == len(values)
    return is_one_each and (name == "kind" or any(value is None for _, value in values))


def _ranks(keys: Sequence[str]) -> list[int]:
    """A few keys come before the state and the time, the others after them."""
    return [KEYS if at < FIRST_KEYS or key.endswith(OPTION) else MORE_KEYS + at for at, key in enumerate(keys)]


def _column(
    name: str, kind: str, rank: int, contenders: Sequence[Contender], text_of: Callable[[Contender], str | None],
    *, only_if_several: bool = False,
) -> Column | None:  # fmt: skip
    """None if there is nothing to be said in it."""
    texts = [text_of(contender) or None for contender in contenders]
    if not any(texts) or (only_if_several and len({text for text in texts if text}) == 1):
        return None
    return Column(name, kind, tuple(Cell(text or NONE, text) for text in texts), rank)


def _of_key(key: str, rank: int, contenders: Sequence[Contender]) -> Column:
    return Column(key, KEY, tuple(_param_cell(contender.params.get(key)) for contender in contenders), rank)


def _param_cell(text: str | None) -> Cell:
    if text is None:
        return Cell()
    try:
        return Cell(text, float(text))
    except ValueError:
        return Cell("none" if text == "None" else text, text)


def _of_metric(name: str, rank: int, contenders: Sequence[Contender]) -> Column:
    numbers = [contender.number(name) for contender in contenders]
    higher = is_higher_better(name)
    cells = [Cell(format_number(number), number.value, number) if number else Cell() for number in numbers]
    return Column(name, METRIC, _mark_best(cells, higher, _counting(contenders)), rank, higher)


def _of_cost(
    name: str, key: str, rank: int, contenders: Sequence[Contender], text_of: Callable[[float], str]
) -> Column | None:
    values = [contender.cost.tree[key] for contender in contenders]
    if all(value is None for value in values):
        return None
    cells = [Cell() if value is None else Cell(text_of(value), value) for value in values]
    return Column(name, COST, _mark_best(cells, False, _counting(contenders)), rank, False)


def _of_devices(contenders: Sequence[Contender]) -> list[Column]:
    """Return a column for each machine and file that `bakeoff measure` timed."""
    names = sorted({name for one in contenders for name in one.metrics if ON_A_DEVICE.fullmatch(name)})
    columns = []
    for name in names:
        values = [one.metrics.get(name) for one in contenders]
        cells = [Cell() if value is None else Cell(f"{value:.1f}", value) for value in values]
        device, file = ON_A_DEVICE.fullmatch(name).groups()  # type: ignore[union-attr]
        title = f"frames a second on {device} ({file})"
        columns.append(Column(title, COST, _mark_best(cells, True, _counting(contenders)), 502, True))
    return columns


def _counting(contenders: Sequence[Contender]) -> list[bool]:
    return [contender.state not in CUT_SHORT for contender in contenders]


def _mark_best(cells: Sequence[Cell], higher: bool | None, counts: Sequence[bool]) -> tuple[Cell, ...]:
    """Mark the best of those that count, with all that look the same; none where there is nothing to choose from."""
    values_by_text = {
        cell.text.partition(" (")[0]: float(cell.value)
        for cell, does in zip(cells, counts, strict=True)
        if does and cell.value is not None
    }
    if higher is None or len(values_by_text) < 2:
        return tuple(cells)
    best = (
        max(values_by_text, key=values_by_text.__getitem__)
        if higher
        else min(values_by_text, key=values_by_text.__getitem__)
    )
    return tuple(
        replace(cell, is_best=True) if does and cell.text.partition(" (")[0] == best else cell
        for cell, does in zip(cells, counts, strict=True)
    )


def _state(contender: Contender) -> str:
    again = ", reused" if contender.reused_from else ""
    seeds = f", {len(contender.seeds)} seeds" if contender.seeds else ""
    return f"{contender.state}{again}{seeds}"


def _commit(contender: Contender) -> str | None:
    return f"{contender.commit[:7]}{'+' if contender.is_dirty else ''}" if contender.commit else None


def _began(contender: Contender) -> str | None:
    at = contender.began
    return None if at is None else datetime.fromtimestamp(at / 1000).strftime("%Y-%m-%d %H:%M")
