"""What a build holds -> refused where it is not what `data.expect` says, all of it at once, each with a remedy."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from bakeoff.dataset.building.survey import SplitCounts
from bakeoff.dataset.records.record import TRAIN, VALIDATION
from bakeoff.dataset.sources.expectations import Expectations
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.formatting import format_names, make_printable

KEY = "data.expect"
SHOWN = 5  # names in a line
Alike = tuple[Sequence[tuple[str, str]], bool]  # pairs, and whether these are all


def require_expected(
    expect: Expectations, classes: Sequence[str], tallies: Mapping[str, SplitCounts], alike: Alike, place: str
) -> None:
    """Raise DataError if the records that are ready to be put in place hold something else than is expected."""
    if lines := list(_find_unmet(expect, classes, tallies, alike)):
        head = f"{place}: is not as {KEY} says; the old records stay"
        raise DataError("\n".join([head, *(f"  {KEY}.{line}" for line in lines)]))


def _find_unmet(
    expect: Expectations, classes: Sequence[str], tallies: Mapping[str, SplitCounts], alike: Alike
) -> Iterator[str]:
    every = sum(tallies.values(), SplitCounts())
    counts = Counter(dict.fromkeys(classes, 0)) + Counter(every.labels)
    yield from _check_classes(expect, classes, {label: counts[label] for label in classes})
    if expect.alike is not None and len(alike[0]) > expect.alike:
        count = f"{len(alike[0]):,}{'' if alike[1] else ' or more'}"
        pair = " and ".join(map(make_printable, alike[0][0]))
        remedy = "keep them on one side (data.split.group)"
        yield f"alike: must be at most {expect.alike:,} pairs, got {count}: {pair}; {remedy}"
    smallest = every.least_side
    if expect.least_side is not None and 0 < smallest < expect.least_side:
        yield f"least_side: must be at least {expect.least_side:,} pixels, got {smallest:,}; leave small images out"
    if expect.negatives and every.examples:
        yield from _check_share("negatives", expect.negatives, every.negatives, every.examples, "label more, or less")
    if expect.validation and VALIDATION in tallies:
        held = tallies[VALIDATION].examples
        seen = held + tallies[TRAIN].examples if TRAIN in tallies else held
        yield from _check_share("validation", expect.validation, held, seen, "set data.split.validation")


def _check_classes(expect: Expectations, classes: Sequence[str], counts: Mapping[str, int]) -> Iterator[str]:
    if expect.classes:
        new, gone = ([*{*ones} - {*others}] for ones, others in ((classes, expect.classes), (expect.classes, classes)))
        for names, what in ((new, "no others"), (gone, "all of them")):
            if names:
                got = f"{'also' if names is new else 'without'} {_name(sorted(names))}"
                remedy = "correct the labels, or the classes here"
                yield f"classes: must be {what} of {_name(expect.classes)}, got {got}; {remedy}"
    if expect.least_of_class is not None:
        few = [f"{make_printable(name)} {count:,}" for name, count in counts.items() if count < expect.least_of_class]
        if few:
            got = format_names(few, SHOWN)
            yield f"least_of_class: must be at least {expect.least_of_class:,} of each class, got {got}; label more"
    total = sum(counts.values())
    if expect.most_of_class is not None and total:
        name = max(counts, key=lambda one: counts[one])
        if (share := counts[name] / total) > expect.most_of_class:
            rule = f"at most {expect.most_of_class:.0%} of all".replace("%", " %")
            got = f"{make_printable(name)} {share:.1%}".replace("%", " %")
            yield f"most_of_class: must be {rule}, got {got}; label more of the others"


def _check_share(key: str, ends: Sequence[float], part: int, whole: int, remedy: str) -> Iterator[str]:
    share = part / max(1, whole)
    if not ends[0] <= share <= ends[1]:
        yield f"{key}: must be a share of {ends[0]:g} to {ends[1]:g}, got {share:.3f}, {part:,} of {whole:,}; {remedy}"


def _name(names: Sequence[str]) -> str:
    return format_names([make_printable(name) for name in names], SHOWN)
