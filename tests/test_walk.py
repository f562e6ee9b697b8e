"""docs/walk.md names what is there, and its arrows are calls: read from the source, without importing it."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from support.imports import ROOT, SRC

PAGE = (ROOT / "docs/walk.md").read_text(encoding="utf-8")
NAME = re.compile(r"`([\w/]+\.py):([\w.]+)`")
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in PAGE.splitlines()
    if line.startswith("| `") and NAME.match(line, 2)
]
MOST_WORDS, MOST_CALLS = 30, 6
STEP = ("learning/training/step.py", "learning/training/loop.py")
NUMBERS = {"Three": 3, "Four": 4, "Five": 5, "Six": 6}
Function = ast.FunctionDef
Place = tuple[str, str]  # file below the package, and `function` or `Class.method`


@cache
def functions(file: str) -> dict[str, Function]:
    """Every function of a file's own and of its classes."""
    by_name = {}
    for node in ast.parse((SRC / file).read_text(encoding="utf-8")).body:
        if isinstance(node, Function):
            by_name[node.name] = node
        elif isinstance(node, ast.ClassDef):
            by_name |= {f"{node.name}.{inner.name}": inner for inner in node.body if isinstance(inner, Function)}
    return by_name


@cache
def names_in(file: str) -> set[str]:
    """What a file defines or imports."""
    tree = ast.parse((SRC / file).read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    return {*functions(file), *imported}


def name_of(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def mentioned(node: ast.AST) -> set[str]:
    return {name for inner in ast.walk(node) if (name := name_of(inner))}


@cache
def kept_by(file: str, owner: str) -> dict[str, set[str]]:
    """For each attribute of a class's objects, the names that stand for what its constructor keeps in it."""
    start = functions(file).get(f"{owner}.__init__")
    types = annotations(start) if start else {}
    kept: dict[str, set[str]] = {}
    for node in ast.walk(start) if start else ():
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            for left, right in pairs:
                if attribute := name_of(left):
                    printed = {f"{types[name]}.__call__" for name in mentioned(right) if name in types}
                    kept.setdefault(attribute, set()).update(mentioned(right), printed)
    return kept


def annotations(function: Function) -> dict[str, str]:
    arguments = [*function.args.args, *function.args.kwonlyargs]
    return {one.arg: name for one in arguments if one.annotation is not None and (name := name_of(one.annotation))}


@cache
def called(place: Place) -> set[str]:
    """The last name of whatever a function calls, and what an attribute of its own stands for that it calls."""
    file, name = place
    names = {called_name for node in calls_in(place) if (called_name := name_of(node.func))}
    kept = kept_by(file, name.partition(".")[0]) if "." in name else {}
    return names.union(*(kept.get(one, set()) for one in names))


@cache
def handed_on(place: Place) -> set[str]:
    """Names that stand in what a function calls others with."""
    given = [*(part for node in calls_in(place) for part in (*node.args, *(one.value for one in node.keywords)))]
    return set().union(*map(mentioned, given)) if given else set()


def calls_in(place: Place) -> Iterator[ast.Call]:
    file, name = place
    return (node for node in ast.walk(functions(file)[name]) if isinstance(node, ast.Call))


def leads(caller: Place, callee: Place, names: set[str]) -> bool:
    owner, _, method = callee[1].rpartition(".")
    if method == "__call__":
        return callee[1] in names or (caller[0] == callee[0] and owner in names)
    if not owner:  # a function: the caller's file has to know it, by itself or by its module
        known = names_in(caller[0])
        if method not in known and Path(callee[0]).stem not in known:
            return False
    return method in names


def place_in(text: str, above: dict[str, Place]) -> Place | None:
    """The place behind *called by* or *handed on by*: one with its file, or a stop further up."""
    match = re.fullmatch(r"(?:called|handed on) by `(?:([\w/]+\.py):)?([\w.]+)`", text)
    if match is None:
        return None
    return (match[1], match[2]) if match[1] else above[match[2]]


def arrows() -> Iterator[tuple[Place, str, Place]]:
    above: dict[str, Place] = {}
    for stop, reached, _ in ROWS:
        [place] = NAME.findall(stop)
        caller = place_in(reached, above)
        if caller:
            yield caller, reached.partition(" by ")[0], place
        above[place[1]] = place
        above.update({name: (file, name) for file, name in NAME.findall(reached)})


ARROWS = list(arrows())


@pytest.mark.parametrize("place", sorted(set(NAME.findall(PAGE))), ids=":".join)
def test_every_name_of_the_page_is_there(place: Place) -> None:
    assert place[1] in functions(place[0])


@pytest.mark.parametrize(("caller", "way", "callee"), ARROWS, ids=[f"{one[1]} {two[1]}" for one, _, two in ARROWS])
def test_an_arrow_of_the_page_is_a_call(caller: Place, way: str, callee: Place) -> None:
    assert leads(caller, callee, called(caller) if way == "called" else handed_on(caller))


def test_most_stops_are_reached_by_a_call() -> None:
    others = [stop for stop, reached, _ in ROWS if not re.match(r"(called|handed on) by `", reached)]
    assert len(ARROWS) + len(others) == len(ROWS) and len(others) <= len(ROWS) / 6


def test_the_hot_path_is_on_the_page() -> None:
    path = ["fit", "Calls.take", "Calls._take_several", "Calls._take", "Step.__call__", "Step._update_from_one",
            "Step._gradients_of", "Step._gradients_of_share"]  # fmt: skip
    pairs = {(caller[1], callee[1]) for caller, _, callee in ARROWS}
    assert set(pairwise(path)) <= pairs


def longest(place: Place, goal: str, graph: dict[Place, set[Place]], seen: tuple[Place, ...] = ()) -> list[Place]:
    """The longest way on which no function stands twice; none if there is no way."""
    if place[1] == goal:
        return [place]
    ways = [longest(other, goal, graph, (*seen, place)) for other in graph[place] if other not in (*seen, place)]
    best = max(ways, key=len, default=[])
    return [place, *best] if best else []


def test_so_few_calls_lead_from_a_batch_to_its_gradient() -> None:
    every = [(file, name) for file in STEP for name in functions(file)]
    graph = {
        one: {other for other in every if leads(one, other, called(one)) or leads(one, other, handed_on(one))}
        for one in every
    }
    takers = [place for place in every if {"next", "islice"} & called(place)]  # of a batch
    [tape] = [place[1] for place in every if "gradient" in called(place)]
    ways = [longest(place, tape, graph) for place in takers]
    assert {place[1] for place in takers} >= {"Calls._take_several"} and tape == "Step._gradients_of_share"
    printed = re.search(
        r"\*\*(\w+) calls lead from a batch to its gradient\.\*\* They are ([^.]*(?:\.\w[^.]*)*)\.\s", PAGE
    )
    assert printed is not None
    [way] = [way for way in ways if way[0][1] == "Calls._take_several"]
    assert re.findall(r"`([\w.]+)`", printed[2]) == [name for _, name in way[1:]]
    assert len(way) - 1 == NUMBERS[printed[1]] <= MOST_CALLS
    assert max(len(way) - 1 for way in ways) <= MOST_CALLS


def test_its_sentences_are_short() -> None:
    texts = [text for _, _, text in ROWS]
    sentences = [sentence for text in texts for sentence in re.split(r"(?<=[.]) ", text)]
    assert [one for one in sentences if len(one.split()) > MOST_WORDS] == []
