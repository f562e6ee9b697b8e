"""What the report needs besides counts, made in a thread while the workers write shards: samples, and pairs alike."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Self, TypeVar

from bakeoff.dataset.building.catalogue import Catalogue
from bakeoff.dataset.building.near_duplicates import ImageLocations, find_alike
from bakeoff.dataset.building.records_report import load_template
from bakeoff.dataset.building.survey import ExamplePreview, draw_samples
from bakeoff.dataset.records.record import SEEN
from bakeoff.dataset.records.shards import name_shard
from bakeoff.dataset.sources.dataset import Dataset

Result = TypeVar("Result")


class Beside:
    """Work that starts with the block. Its results are asked for after `note_written`, and its errors come with them.

    It reads raw files where their bytes are those of the records, and waits for the shards of all others.
    """

    def __init__(self, catalogue: Path, datasets: Sequence[Dataset], counts: dict[str, int]) -> None:
        """Take the path of the catalogue, beside which the shards are, and how many shards each side has."""
        self._path, self._datasets = catalogue, datasets
        files = {
            side: [catalogue.with_name(name_shard(side, number, count)) for number in range(count)]
            for side, count in ({side: 0 for side in SEEN} | counts).items()
        }
        self._written = Event()
        self._shards = ImageLocations(files, datasets, self._written)
        self._threads = ThreadPoolExecutor(2)  # decoding and resizing let other threads work

    def __enter__(self) -> Self:
        self._threads.submit(load_template)
        self._samples = self._threads.submit(self._ask, lambda catalogue: list(draw_samples(catalogue, self._datasets)))
        self._pairs = self._threads.submit(self._ask, lambda catalogue: find_alike(catalogue, self._shards))
        return self

    def __exit__(self, *_: object) -> None:
        self._written.set()
        self._threads.shutdown(cancel_futures=True)

    def note_written(self) -> None:
        """All shards are there."""
        self._written.set()

    def draw_samples(self) -> list[ExamplePreview]:
        return self._samples.result()

    def find_alike(self) -> tuple[list[tuple[str, str]], bool]:
        return self._pairs.result()

    def _ask(self, question: Callable[[Catalogue], Result]) -> Result:
        with closing(Catalogue(self._path)) as catalogue:  # a connection serves one thread
            return question(catalogue)
