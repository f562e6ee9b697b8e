"""Small records, the stores that read them, and TensorFlow's deterministic mode, for the tests of several rooms."""

import io
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest
from PIL import Image

from bakeoff.dataset.building.build import build
from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import TRAIN, Record
from bakeoff.dataset.sources.dataset import Dataset, Part, part_folders
from bakeoff.foundation.tf_loading import collect_seldom
from support import fence
from support.built import Build, Built
from support.durations import Recorder, load_durations, sort_longest_first
from support.memory_folder import choose_root

if TYPE_CHECKING:
    from bakeoff.learning.input.record_reader import RecordReader
    from support.commands import Bakeoff


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-durations", action="store_true", help="measure test files, for tests/support/durations.json"
    )


def pytest_configure(config: pytest.Config) -> None:
    collect_seldom()  # as every stage does
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # some tests import MLflow before `load_mlflow` does
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # in the background; what the tests start must hear Ctrl-C
        signal.signal(signal.SIGINT, signal.default_int_handler)
    choose_root(os.environ, config.getoption("markexpr"))
    if config.getoption("write_durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Side by side, long files must not begin last."""
    if hasattr(config, "workerinput"):
        sort_longest_first(items, load_durations())


@pytest.fixture(scope="session", autouse=True)
def _outside_of_the_workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests run in an empty folder, unless they go elsewhere."""
    with fence.put_up(), pytest.MonkeyPatch.context() as patch:
        for name in ("DVC_ROOT", "DVC_EXP_NAME", "MLFLOW_TRACKING_URI", "COLUMNS"):  # of what starts the tests
            patch.delenv(name, raising=False)
        patch.chdir(tmp_path_factory.mktemp("nowhere"))
        yield


@pytest.fixture(autouse=True)
def _sees_no_workspace() -> Iterator[None]:
    yield
    crossed = fence.crossed.copy()
    fence.crossed.clear()
    assert crossed == [], "the test sees the workspace that it is run in"


@dataclass(frozen=True)
class Listed:
    """A source that gives the records it was made of."""

    task: ClassVar[str] = "any"
    labels: tuple[str, ...]
    given: tuple[Record, ...]

    def classes(self) -> list[str]:
        return list(self.labels)

    def count(self, split: str) -> int:
        return len(self.given)

    def records(self, split: str) -> Iterator[Record]:
        return iter(self.given)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which the test stands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return tmp_path


@pytest.fixture
def here(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace that holds no results yet, in which the test stands."""
    (place / "dvc.yaml").touch()
    (place / "conf").mkdir()
    for name in ("DVC_EXP_NAME", "MLFLOW_TRACKING_URI", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return place


@pytest.fixture
def bakeoff(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "Bakeoff":
    """Runs the bakeoff command in this process."""
    from support.commands import run_bakeoff

    return partial(run_bakeoff, monkeypatch, capsys)


@pytest.fixture(scope="module")
def converts_here() -> Iterator[None]:
    """Files of TensorFlow Lite are made without a process for each network, which would load TensorFlow anew."""
    from support.converting import convert_here

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bakeoff.export.write_formats.run_module", convert_here)
        yield


@pytest.fixture
def png() -> Callable[[np.ndarray], bytes]:
    """Pixels (h, w, 3) as a file that loses nothing."""

    def encoded(pixels: np.ndarray) -> bytes:
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, "PNG")
        return buffer.getvalue()

    return encoded


@pytest.fixture
def write_train(tmp_path: Path) -> Callable[[Sequence[Record], Sequence[str]], Split]:
    """Writes records into `tmp_path` as the training split."""

    def write(records: Sequence[Record], classes: Sequence[str]) -> Split:
        from bakeoff.dataset.building.write_shards import write_split

        return write_split(Listed(tuple(classes), tuple(records)), TRAIN, tmp_path)

    return write


@pytest.fixture
def open_store() -> Iterator[Callable[[Path, Split], "RecordReader"]]:
    """Opens stores, and closes their files after the test."""
    from bakeoff.learning.input.record_reader import RecordReader

    with ExitStack() as files:

        def opened(folder: Path, split: Split) -> RecordReader:
            store = RecordReader(folder, split)
            for file in store._files:
                files.enter_context(file)
            return store

        yield opened


@pytest.fixture
def deterministic_operations() -> Iterator[None]:
    """Gives TensorFlow's default mode back to the tests that come after."""
    import tensorflow as tf
    from tensorflow.python.framework import config

    tf.config.experimental.enable_op_determinism()
    yield
    config.disable_op_determinism()


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Builds one dataset, or several by name, with one worker unless told otherwise."""
    monkeypatch.chdir(tmp_path)

    def made(*datasets: Dataset, workers: int = 1, out: str = "records", **named: Dataset) -> Built:
        parts = [Part(name, dataset) for name, dataset in named.items()] or [
            part for one in datasets for part in part_folders(one)
        ]
        return Built(tmp_path / out, *build(parts, tmp_path / out, workers))

    return made
