"""`bakeoff weights`: what others have published for the networks here, and fetching it; and what is made here."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.app.cli.command_options import Command, argument, flag
from bakeoff.foundation import workspace
from bakeoff.foundation.formatting import align, format_names, format_size
from bakeoff.foundation.progress import print_line

if TYPE_CHECKING:
    from bakeoff.importing.weights.demo_weights import DemoWeights
    from bakeoff.importing.weights.fetch import Fetched
    from bakeoff.importing.weights.weights_catalogue import Entry

ZOO = workspace.WEIGHTS / "zoo"


@dataclass(frozen=True)
class WeightsListCommand(Command):
    json: bool = flag("print JSON with addresses and checksums, for scripts")

    def run(self) -> None:
        from bakeoff.importing.weights.demo_weights import DRAWN
        from bakeoff.importing.weights.weights_catalogue import read_catalogue

        entries = list(read_catalogue().values())
        if self.json:
            from dataclasses import asdict

            print(json.dumps([asdict(entry) | {"is_here": _is_here(entry.name)} for entry in entries], indent=1))
            return
        table = align([("name", "", "published", "speed", "size"), *map(_numbers, entries)])
        print_line(table[0])
        for numbers, entry in zip(table[1:], entries, strict=True):
            print_line(numbers)
            print_line(f"  {_describe_use(entry)}")
        print_line("taken from their publishers' pages (addresses: --json), not verified here")
        for drawn in DRAWN.values():
            here = "  here" if _is_here(drawn.name) else ""
            print_line(f"{drawn.name}{here}: `get` trains it here, in about {drawn.minutes} minutes")
            print_line(f"  {drawn.data}; {drawn.licence}; {drawn.model}")


def _numbers(entry: "Entry") -> tuple[str, ...]:
    size = format_size(entry.size) if entry.size else "?"
    return entry.name, "here" if _is_here(entry.name) else "", entry.score or "?", entry.speed or "?", size


def _describe_use(entry: "Entry") -> str:
    licence = (entry.licence or "licence not known") + (f", not for {entry.forbids}" if entry.forbids else "")
    return f"{entry.data}; {licence}; {format_names(entry.models, 1)}"


def _is_here(name: str) -> bool:
    return (ZOO / name).is_dir()


@dataclass(frozen=True)
class GetCommand(Command):
    name: str = argument("", "NAME")
    accept_licence: bool = flag("accept a licence that forbids some uses")

    def run(self) -> None:
        from bakeoff.importing.weights.demo_weights import DRAWN
        from bakeoff.importing.weights.fetch import MIRROR, Places, get
        from bakeoff.importing.weights.weights_catalogue import find_entry, read_catalogue

        if self.name in DRAWN:
            _make(DRAWN[self.name])
            return
        entry = find_entry(self.name, read_catalogue())
        places = Places(ZOO, workspace.zoo_parts(), os.environ.get(MIRROR) or None)
        fetched = get(entry, places, licence_accepted=self.accept_licence)
        folder = (ZOO / entry.name).as_posix()
        if fetched is None:
            print_line(f"weights: {folder}/ is there already; remove it to fetch it again")
            return
        for line in _describe(entry, fetched):
            print_line(line)


def _make(drawn: "DemoWeights") -> None:
    from bakeoff.importing.weights.demo_weights import make_drawn

    folder = ZOO / drawn.name
    if not folder.is_dir():
        print_line(f"weights: trains {drawn.model} on {drawn.data}, about {drawn.minutes} minutes")
    if make_drawn(drawn, ZOO) is None:
        print_line(f"weights: {folder.as_posix()}/ is there already; remove it to make it again")
        return
    print_line(f"weights: {folder.as_posix()}/, licence {drawn.licence}")
    start = f"{{init: {{weights: zoo/{drawn.name}, warm_start: [backbone, neck]}}}}"
    print_line(f"  params.yaml: train: {start}; for sweeps and clones: `dvc add {folder.as_posix()}`")


def _describe(entry: "Entry", fetched: "Fetched") -> Iterator[str]:
    folder = fetched.folder.as_posix()
    yield f"weights: {folder}/ from {fetched.came_from}"
    yield f"  SHA-256 {fetched.sha256}"
    if fetched.is_verified:
        yield f"  as published by {entry.sum_from}; all else is taken from {entry.page.name}, not verified"
    else:
        yield f"  no published sum is known to check it by; all else is taken from {entry.page.name}, not verified"
    yield f"  trained on {entry.data}, licence {entry.licence or 'not known'}"
    yield f"  params.yaml: train: {{init: {{weights: zoo/{entry.name}}}}}; for sweeps and clones: `dvc add {folder}`"
