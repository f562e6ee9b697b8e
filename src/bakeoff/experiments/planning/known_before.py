"""What earlier runs and measurements tell of a variant's files before it trains: what eight bits cost, how fast a
device answers, and what a letterbox leaves of the square.

models/devices.csv holds how fast devices were. `bakeoff measure` writes its rows, and people may:

    device,network,input_size,format,frames_per_second,measured
    pi5,ssd,160,int8,412.5,2026-11-20 by bakeoff measure
"""

import csv
import io
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from bakeoff.config.compose.letterbox_cost import LetterboxCost
from bakeoff.config.compose.tile_cost import read_sizes
from bakeoff.config.compose.whole_run import Run
from bakeoff.dataset.records.manifest import Manifest, read_boxes
from bakeoff.export.devices import DEVICES, VIDEO
from bakeoff.export.settings import RKNN, Export, Format
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError, one_line
from bakeoff.foundation.files import read_json, write_whole
from bakeoff.foundation.formatting import format_count
from bakeoff.learning.networks import NETWORKS
from bakeoff.learning.networks.letterbox import LETTERBOX, fit_of
from bakeoff.learning.networks.network import Network
from bakeoff.learning.networks.tiles import tiles_of
from bakeoff.learning.run_file.parse import kind_of

TABLE = Path("models/devices.csv")
LOST = "lost"  # in the file of a run's measurements: what each of its files lost
WHOLE_NUMBERS: tuple[Format, ...] = ("int8", RKNN)
MOST_BYTES = 1_000_000  # of the table


@dataclass(frozen=True)
class DeviceSpeed:
    device: str
    network: str  # a kind
    input_size: int
    format: str
    frames_per_second: float
    measured: str  # when and how


def describe_known(run: Run, manifest: Manifest) -> dict[str, str]:
    """Return a line for each thing that is known, or how to know it; nothing where no device is named."""
    known = {"letterbox": letterbox} if (letterbox := price_letterbox(run, manifest)) else {}
    if run.export.device:
        known |= {"eight bits": eight} if (eight := _describe_loss(run.model, run.export)) else {}
        known["speed"] = _describe_speed(run.model, run.export)
    return known


def price_letterbox(run: Run, manifest: Manifest) -> str | None:
    """Return what a letterbox of the network or its device costs on whole pictures; tiles have other proportions."""
    if run.export.fit_for(fit_of(run.model)) != LETTERBOX or tiles_of(run.model) or manifest.task == VIDEO:
        return None
    boxes = read_boxes(workspace.RECORDS, manifest) if manifest.boxes_sha256 else None
    return str(LetterboxCost.of(read_sizes(workspace.RECORDS, manifest), run.model.input_size, boxes))


def lost_by_files(network: Network, report: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an export's report tells later plans."""
    drops = {form: file["drop"] for form, file in report["files"].items() if form in WHOLE_NUMBERS}
    return {"network": kind_of(NETWORKS, network), "metric": report["headline"], "drop": drops}


def _describe_loss(network: Network, export: Export) -> str | None:
    form = next((form for form in export.formats if form in WHOLE_NUMBERS), None)
    if form is None:
        return None
    kind = kind_of(NETWORKS, network)
    lost = [facts[LOST] for file in sorted(workspace.results().glob("*.json")) if LOST in (facts := read_json(file))]
    of_kind = [one for one in lost if one["network"] == kind and one["drop"].get(form) is not None]
    if not of_kind:
        return f"nobody knows yet what {kind} loses as {form}; after a run export.json has it, and `bakeoff plan` then"
    drops, metric = [one["drop"][form] for one in of_kind], of_kind[-1]["metric"]
    where = f"{format_count(len(drops), 'earlier run')} of {kind}"
    spread = f", {min(drops):.3f} to {max(drops):.3f}" if len(drops) > 1 else ""
    return f"as {form} it loses about {median(drops):.3f} of {metric}{spread}, by {where} here"


def _describe_speed(network: Network, export: Export) -> str:
    kind, size = kind_of(NETWORKS, network), network.input_size
    assert export.device
    forms = [form for form in export.formats if form in DEVICES[export.device].formats]
    rows = [row for row in read_speeds() if (row.network, row.input_size) == (kind, size) and row.format in forms]
    if rows:
        return "; ".join(
            f"{row.frames_per_second:g} frames a second on {row.device} as {row.format}, measured {row.measured}"
            for row in rows
        )
    add = "`bakeoff measure --on ssh://USER@HOST --as NAME` adds one, or you"
    return f"{TABLE.as_posix()} has no row for {kind} at {size} pixels as {forms[0]}; {add}"


def read_speeds() -> list[DeviceSpeed]:
    """Return the rows of the table; none where there is no table. Raises DataError."""
    if not TABLE.is_file():
        return []
    try:
        with TABLE.open("rb") as file:
            text = file.read(MOST_BYTES).decode("utf-8-sig")
        rows = list(csv.DictReader(io.StringIO(text), strict=True))
    except (OSError, UnicodeError, csv.Error) as error:
        raise DataError(f"{TABLE.as_posix()}: cannot be read ({one_line(error)})") from None
    return [_parse_row(number, row) for number, row in enumerate(rows, start=2)]


def _parse_row(number: int, row: Mapping[str, str | None]) -> DeviceSpeed:
    names = [field.name for field in fields(DeviceSpeed)]
    if missing := [name for name in names if not row.get(name)]:
        raise DataError(f"{TABLE.as_posix()}:{number}: has no {missing[0]}; the columns are {','.join(names)}")
    values: dict[str, Any] = {name: str(row[name]).strip() for name in names}
    for name, make in (("input_size", int), ("frames_per_second", float)):
        try:
            values[name] = make(values[name])
        except ValueError:
            values[name] = math.nan if make is float else 0
        if not (math.isfinite(values[name]) and values[name] > 0):
            raise DataError(f"{TABLE.as_posix()}:{number}: {name}: must be a number above 0, got {row[name]!r}")
    return DeviceSpeed(**values)


def keep_speed(device: str, network: Network, form: str, frames_per_second: float) -> None:
    """Write a row in the place of an earlier one of the same device and kind of file."""
    today = f"{datetime.now(UTC):%Y-%m-%d} by bakeoff measure"
    new = DeviceSpeed(device, kind_of(NETWORKS, network), network.input_size, form, round(frames_per_second, 1), today)
    others = [row for row in read_speeds() if _what(row) != _what(new)]
    lines = io.StringIO()
    writer = csv.DictWriter(lines, [field.name for field in fields(DeviceSpeed)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(_as_rows([*others, new]))
    write_whole(TABLE, lines.getvalue())


def _what(row: DeviceSpeed) -> tuple[str, str, int, str]:
    return row.device, row.network, row.input_size, row.format


def _as_rows(speeds: list[DeviceSpeed]) -> Iterator[dict[str, Any]]:
    for row in sorted(speeds, key=_what):
        yield asdict(row)
