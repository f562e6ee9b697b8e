"""A gate's verdict -> lines for a terminal, Markdown for a pull request, and JUnit's XML for a pipeline."""

import re
from collections.abc import Iterator
from html import escape
from xml.etree import ElementTree

from bakeoff.experiments.compare.comparison_table import find_differing_keys
from bakeoff.experiments.gate.gate_verdict import ERROR, Check, GateVerdict, Outcome
from bakeoff.foundation.formatting import align, format_size

HEAD = ("", "A", "B", "B less A", "90 % interval", "may lose", "verdict")
MARKER = "<!-- bakeoff gate -->"  # by which a workflow finds its comment again
UNSAFE = re.compile(r"[\s`|\[\]]+")  # what ends code, a cell or a line, and what makes links
SHOWN_KEYS = 6  # that differ between both, in a pull request


def describe_gate(verdict: GateVerdict) -> Iterator[str]:
    for letter, run in (("A", verdict.a), ("B", verdict.b)):
        yield f"{letter}  {run.label}"
    yield f"gate: {state_outcome(verdict)}"
    yield from align([HEAD, *map(_cells, verdict.checks)])
    yield from (f"{one.name}: {one.note}" for one in verdict.checks if one.note)
    yield _count(verdict)


def state_outcome(verdict: GateVerdict) -> str:
    """State the verdict in a sentence."""
    if verdict.outcome is Outcome.NOT_WORSE:
        return "not worse than the rules allow"
    names = ", ".join(one.name for one in verdict.checks if one.outcome is verdict.outcome)
    if verdict.outcome is Outcome.WORSE:
        return f"worse than the rules allow: {names}"
    asked = [one.more_examples for one in verdict.checks if one.outcome is Outcome.UNDECIDED and one.low is not None]
    if not asked:
        return f"cannot tell: {names}"
    if None in asked:
        return f"cannot tell: {names}; no number of examples would, for it lost just what it may"
    return f"cannot tell: {names}; about {max(filter(None, asked)):,} more validation examples are needed"


def _count(verdict: GateVerdict) -> str:
    drawn = verdict.differences
    groups = f" in {drawn.groups:,} groups" if drawn.groups != drawn.examples else ""
    return (
        f"{drawn.examples:,} examples{groups}, {verdict.comparisons:,} comparisons; of changes that cost what they "
        f"may, at most {100 * ERROR:g} % are blocked; what another seed of training would do is not in it"
    )


def _cells(check: Check) -> tuple[str, ...]:
    allowed = _share(check.allowed).lstrip("+") if check.is_share else f"{check.allowed:g}"
    if check.a is None or check.b is None:
        return (check.name, "", "", "", "", allowed, check.outcome.value)
    numbers = (f"{check.a:.3f}", f"{check.b:.3f}", f"{check.b - check.a:+.3f}")
    ends = f"{check.low:+.3f} to {check.high:+.3f}" if check.low is not None else ""
    if check.is_share:
        write = format_size if check.low is None else "{:.1f} ms".format
        numbers = (write(check.a), write(check.b), _share(check.b / check.a - 1 if check.a else 0.0))
        ends = "exact" if check.low is None or check.high is None else f"{_share(check.low)} to {_share(check.high)}"
    return (check.name, *numbers, ends, allowed, check.outcome.value)


def _share(value: float) -> str:
    return f"{value:+.1%}".replace("%", " %")


def format_comment(verdict: GateVerdict, picture: str | None = None) -> Iterator[str]:
    """Yield the lines of a comment; `picture` is where a picture of what got worse can be seen."""
    yield MARKER
    yield f"### bakeoff gate: {state_outcome(verdict)}"
    yield ""
    yield f"A is {_name(verdict.a.label)}, B is {_name(verdict.b.label)}{_name_changes(verdict)}."
    yield ""
    yield f"| {' | '.join(cell or 'rule' for cell in HEAD)} |"
    yield f"|{'---|' * len(HEAD)}"
    yield from (f"| {' | '.join(_plain(cell) for cell in _cells(one))} |" for one in verdict.checks)
    yield ""
    yield from (f"- {_plain(one.name)}: {_plain(one.note)}" for one in verdict.checks if one.note)
    if picture:
        yield ""
        yield f"![examples that A has right and B has not]({picture})"
    yield ""
    yield f"<sub>{_count(verdict)}.</sub>"


def _name(label: str) -> str:
    """Return a text of anybody's as code, which a page shows as it is."""
    return f"`{UNSAFE.sub(' ', label).strip()}`"


def _plain(text: str) -> str:
    return escape(UNSAFE.sub(" ", text))


def _name_changes(verdict: GateVerdict) -> str:
    keys, _ = find_differing_keys([verdict.a, verdict.b])
    changes = [
        f"{_name(key)} {_name(verdict.a.params.get(key, '–'))} → {_name(verdict.b.params.get(key, '–'))}"
        for key in keys[:SHOWN_KEYS]
    ]
    more = f" and {len(keys) - SHOWN_KEYS} more keys" if len(keys) > SHOWN_KEYS else ""
    return f"; it changes {', '.join(changes)}{more}" if changes else ""


def format_junit(verdict: GateVerdict) -> str:
    """Return a suite of tests: what is worse has failed, and so has what nobody can tell, with that type."""
    undecided = [one for one in verdict.checks if one.outcome is not Outcome.NOT_WORSE]
    suite = ElementTree.Element(
        "testsuite", name="bakeoff gate", tests=str(len(verdict.checks)), failures=str(len(undecided)), errors="0"
    )
    for check in verdict.checks:
        case = ElementTree.SubElement(suite, "testcase", classname="bakeoff.gate", name=check.name)
        if check.outcome is not Outcome.NOT_WORSE:
            text = check.note or "; ".join(
                f"{head} {cell}" for head, cell in zip(HEAD, _cells(check), strict=True) if head
            )
            ElementTree.SubElement(case, "failure", type=check.outcome.value, message=text)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
