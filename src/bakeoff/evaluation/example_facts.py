"""What each example is, by which an evaluation is cut into slices: {"brightness": [93.1, …], "group": ["film_2", …]}.

Numbers are float64, NaN where one is not known; texts are empty there.
"""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from bakeoff.evaluation.settings import Slices
from bakeoff.foundation.errors import DataError, choices
from bakeoff.foundation.name_groups import find_groups
from bakeoff.learning.input.record_reader import ExampleOrigin
from bakeoff.learning.metrics.score import Column, Lists

Fact = np.ndarray  # (examples,) float64 or text
Facts = Mapping[str, Fact]
GROUP, OBJECTS, BOX_SIZE = "group", "objects", "box size"
MEANINGS = {
    GROUP: "the film or the group that the example's name says (evaluate.group)",
    "brightness": "the mean of red, green and blue, 0 to 255",
    "sharpness": "the variance of the Laplacian at the network's input size over the variance of the picture; blurred "
    "pictures have little",
    "aspect": "width over height",
    "picture size": "the root of width times height, in pixels",
    OBJECTS: "true boxes in the picture",
    BOX_SIZE: "the mean side of the true boxes, in % of the picture's side",
}
SPARSE = 4  # one row and one column in this many count for the brightness
DECIMALS = 1  # of the brightness
DIGITS = 3  # of what else is measured in a picture
NAMED = 3  # names in a message


def measure_picture(image: np.ndarray) -> tuple[float, float]:
    """Return brightness and sharpness of a picture (h, w, 3), of a clip (t, h, w, 3) those of its middle frame.

    Dark pictures are not blurred for that: the sharpness is counted relative to the picture's contrast.
    """
    frame = image[len(image) // 2] if image.ndim == 4 else image
    brightness = float(frame[::SPARSE, ::SPARSE].mean(dtype=np.float64))
    green = np.ascontiguousarray(frame[..., 1], np.float32)
    bends = green[:-2, 1:-1] + green[2:, 1:-1]
    bends += green[1:-1, :-2]
    bends += green[1:-1, 2:]
    middle = green[1:-1, 1:-1] * np.float32(4)
    bends -= middle
    contrast = _variance(green)
    sharpness = _variance(bends) / contrast if contrast > 0 and bends.size else 0.0
    return round(brightness, DECIMALS), float(f"{sharpness:.{DIGITS}g}")


def _variance(values: np.ndarray) -> float:
    """Return the variance, counted in float64; `var` takes three times as long."""
    distances = values.ravel().astype(np.float64)
    distances -= distances.mean()
    # `@` wakes threads of OpenBLAS for so many numbers, and outside of a stage there are some (see bakeoff.stages).
    return float(np.einsum("i,i", distances, distances)) / distances.size


def describe_examples(
    origins: Sequence[ExampleOrigin],
    measured: Sequence[tuple[float, float]],
    columns: Mapping[str, Column],
    group: str | None,
) -> dict[str, Fact]:
    """Return all facts but those of a table; `columns` are a score's, `group` is a pattern on the names."""
    height, width = np.array([(one.height, one.width) for one in origins], np.float64).reshape(-1, 2).T
    brightness, sharpness = np.array(measured, np.float64).reshape(-1, 2).T
    facts: dict[str, Fact] = {}
    if group:
        found = find_groups("evaluate.group", group, [one.file for one in origins])
        facts[GROUP] = np.array([one or "" for one in found], str)
    with np.errstate(divide="ignore", invalid="ignore"):
        facts |= {"brightness": brightness, "sharpness": sharpness, "aspect": _round(width / height)}
    facts["picture size"] = _round(np.sqrt(width * height))
    truth = columns["truth"]
    if isinstance(truth, Lists) and isinstance(truth.values, Mapping):
        facts[OBJECTS] = truth.counts.astype(np.float64)
        facts[BOX_SIZE] = _mean_sides(truth, np.sqrt(width * height))
    return facts


def read_table(settings: Slices) -> dict[str, dict[str, str]]:
    """Return the rows of the CSV by the names of their files; nothing where no table is set. Raises DataError."""
    if settings.table is None:
        return {}
    place = f"evaluate.slices.table: {settings.table}"
    try:
        with Path(settings.table).open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file)
            columns = [column for column in table.fieldnames or [] if column]
            if settings.column not in columns:
                remedy = choices(settings.column, columns) if columns else "it is empty"
                raise DataError(f"{place}: has no column {settings.column!r} with names of files; {remedy}")
            rows = [{column: (row[column] or "").strip() for column in columns} for row in table]
    except OSError as error:
        raise DataError(f"{place}: cannot be read ({error.strerror}); name a CSV in data/raw/") from None
    except (csv.Error, ValueError) as error:
        raise DataError(f"{place}: is no CSV in UTF-8: {error}") from None
    return {row.pop(settings.column): row for row in rows}


def match_rows(rows: Mapping[str, Mapping[str, str]], files: Sequence[str]) -> dict[str, Fact]:
    """Return a fact for each column. A row belongs to the example of its name, or else to the only example that has
    this name without its folders."""
    shared = Counter(PurePosixPath(file).name for file in files)
    own_rows: list[Mapping[str, str]] = []
    for file in files:
        short = PurePosixPath(file).name
        own_rows.append(rows.get(file) or (rows.get(short) if shared[short] == 1 else None) or {})
    columns = list(next(iter(rows.values()), {}))
    return {column: _as_fact([row.get(column, "") for row in own_rows]) for column in columns if any(own_rows)}


def require_matches(settings: Slices, rows: Mapping[str, Mapping[str, str]], files: Sequence[str]) -> None:
    """Refuse a table whose names are those of no example."""
    if rows and not match_rows(rows, files):
        examples, others = (", ".join(map(repr, list(names)[:NAMED])) for names in (files, rows))
        raise DataError(
            f"evaluate.slices.table: {settings.table}: no name in its column {settings.column!r} ({others}, …) is that "
            f"of an example ({examples}, …); write the names as the examples have them"
        )
    if settings.table is not None and not rows:
        raise DataError(f"evaluate.slices.table: {settings.table}: has no row below its heading")


def _as_fact(texts: Sequence[str]) -> Fact:
    try:
        numbers = np.array([float(text) if text else np.nan for text in texts])
    except ValueError:
        return np.array(texts, str)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _mean_sides(truth: Lists, picture: np.ndarray) -> Fact:
    """Of each example the mean of its boxes' sides, in % of the picture's; NaN where there is no box."""
    assert isinstance(truth.values, Mapping)
    ymin, xmin, ymax, xmax = (np.asarray(truth.values[side]) for side in ("ymin", "xmin", "ymax", "xmax"))
    sides = np.sqrt(np.maximum((ymax - ymin) * (xmax - xmin), 0))
    owner = np.repeat(np.arange(len(truth.counts)), truth.counts)
    total = np.bincount(owner, sides, len(truth.counts))
    with np.errstate(divide="ignore", invalid="ignore"):
        return _round(100 * total / truth.counts / picture)


def _round(values: np.ndarray) -> np.ndarray:
    return np.array([float(f"{value:.{DIGITS}g}") for value in values.tolist()], np.float64)
