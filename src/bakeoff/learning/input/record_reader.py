"""Serialized examples by number, read from the shards at the offsets that the index names.

Every read is checked against the checksum that the record was written with: a byte that changed since the build
is said, with shard, record and offset, or left out and counted (`memory.on_bad_record: skip`), but never trained on.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

import numpy as np

from bakeoff.dataset.records.manifest import Shard, Split
from bakeoff.dataset.records.record import find_misfit
from bakeoff.dataset.records.shards import HEAD, TAIL, is_head, is_whole, name_index
from bakeoff.dataset.records.wire import decode_features, frames_in
from bakeoff.foundation.errors import DataError, one_line

NAME, SIZES = "image/filename", ("image/height", "image/width")
BAD_RECORDS = "bad_records"  # the file that keeps them
OnBadRecord = Literal["error", "skip"]
REBUILD = "run `dvc repro --force build_records`"


class ExampleOrigin(NamedTuple):
    """What an example was made of, as far as its record says."""

    file: str
    height: float  # NaN where the record does not say
    width: float


class BadRecords:
    """Damaged records that a run left out: said once, and counted over interruptions.

    Kept beside the run's checkpoints, a line each:  train<TAB>17<TAB>data/records/train-00000-of-00001: record 17, …
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], str] = {}
        self._file: Path | None = None

    def of(self, split: str) -> Callable[[int, str], None]:
        """For a store of this split to call with an example and what is wrong with it."""

        def notice(example: int, problem: str) -> None:
            if (split, example) not in self._known:
                self._known[split, example] = problem
                print(f"warning: {problem}; it is left out", file=sys.stderr, flush=True)
                if self._file:
                    with self._file.open("a", encoding="utf-8") as lines:
                        lines.write(f"{split}\t{example}\t{problem}\n")

        return notice

    def keep_in(self, folder: Path) -> None:
        """From now on; what the same run left out before it was interrupted counts, too."""
        self._file = folder / BAD_RECORDS
        for line in self._file.read_text(encoding="utf-8").splitlines() if self._file.is_file() else ():
            split, example, problem = line.split("\t", 2)
            self._known[split, int(example)] = problem

    def counts(self) -> dict[str, int]:
        """By split; nothing where all records are whole."""
        splits = sorted({split for split, _ in self._known})
        return {split: sum(of == split for of, _ in self._known) for split in splits}


class RecordReader:
    """All examples of one split: `store.read([17, 3])` gives their bytes. Safe to call from several threads."""

    def __init__(
        self,
        folder: Path,
        split: Split,
        on_bad_record: OnBadRecord = "error",
        noticed: Callable[[int, str], object] | None = None,
        only: np.ndarray | None = None,
    ) -> None:
        """`noticed` is called with a damaged example and what is wrong with it, if such are left out.

        With `only` the store holds no more than these of the split's examples, which it numbers from 0.
        """
        self.examples = split.examples if only is None else len(only)
        self._only = only
        self.rewrite: Callable[[int, bytes], bytes] | None = None  # makes of an example of the split what is read
        self.bad: dict[int, str] = {}  # examples that were left out, and why
        self.failed: str | None = None  # why a read failed: a text, for an exception would keep this object alive
        self._skips, self._noticed = on_bad_record == "skip", noticed or BadRecords().of("")
        self._files: list[BinaryIO] = []
        indexes = [_read_index(folder, shard) for shard in split.shards]
        self._spans = np.concatenate(indexes)  # (examples, 2) offset and length in the shard
        self._first = np.cumsum([0, *(len(index) for index in indexes)])  # example of each shard
        self._files = [(folder / shard.file).open("rb", buffering=0) for shard in split.shards]
        self._lock = threading.Lock()
        for number, shard in enumerate(split.shards):
            self._require_head(number, folder / shard.file)

    def read(self, examples: np.ndarray) -> list[bytes | None]:
        """None for a damaged one, if such are left out."""
        whole = examples if self._only is None else self._only[examples]
        read = [self._checked(int(example)) for example in whole]
        if self.rewrite is None:
            return read
        pairs = zip(whole, read, strict=True)
        return [None if data is None else self.rewrite(int(example), data) for example, data in pairs]

    def find_misfit(self) -> str | None:
        """Return which example is whole and yet no record that a build writes, and why; None if all are."""
        for example in range(self.examples):
            [data] = self.read(np.array([example]))
            if data is not None and (problem := find_misfit(data) or _find_broken_image(data)):
                return self._describe_misfit(example, problem)
        return None

    def _describe_misfit(self, example: int, problem: str) -> str:
        place = example if self._only is None else int(self._only[example])
        shard = int(np.searchsorted(self._first, place, side="right")) - 1
        return f"{self._files[shard].name}: record {place - int(self._first[shard])} {problem}; {REBUILD}"

    def failure(self, message: str) -> DataError:
        """To be raised, and remembered for `plain_errors_of`."""
        self.failed = message
        return DataError(message)

    def names(self, examples: np.ndarray) -> list[str]:
        """The files that they were made of; the number, for records of other programs that do not say."""
        return [origin.file for origin in self.origins(examples)]

    def origins(self, examples: np.ndarray) -> Iterator[ExampleOrigin]:
        """Give what they were made of."""
        for number in examples:
            [data] = self.read(np.array([number]))
            try:
                yield _find_origin(data, number)
            except ValueError as error:
                raise self.failure(self._describe_misfit(int(number), f"is {error}")) from None

    def __del__(self) -> None:
        for file in self._files:
            file.close()

    def _checked(self, example: int) -> bytes | None:
        if example in self.bad:
            return None
        offset, length = (int(number) for number in self._spans[example])
        shard = int(np.searchsorted(self._first, example, side="right")) - 1
        try:
            read = self._read_at(self._files[shard], offset, length + TAIL)
        except OSError as error:
            self._put_aside(example, shard, offset, f"cannot be read ({error.strerror})")
            return None
        data = read[:length]
        if not is_whole(data, read[length:]):
            self._put_aside(example, shard, offset, "is damaged, its checksum is another")
            return None
        return data

    def _put_aside(self, example: int, shard: int, offset: int, how: str) -> None:
        number = example - int(self._first[shard])
        message = f"{self._files[shard].name}: record {number}, at byte {offset}, {how}"
        if not self._skips:
            raise self.failure(f"{message}; {REBUILD}, or leave such records out with memory.on_bad_record: skip")
        self.bad[example] = message
        self._noticed(example, message)

    def _read_at(self, file: BinaryIO, offset: int, length: int) -> bytes:
        if hasattr(os, "pread"):  # needs no lock, for it moves no position in the file
            return os.pread(file.fileno(), length, offset)
        with self._lock:
            file.seek(offset)
            return file.read(length)

    def _require_head(self, shard: int, path: Path) -> None:
        """The frame before the last record, which another build will hardly have at the same place."""
        if self._first[shard] == self._first[shard + 1]:
            return
        offset, length = (int(number) for number in self._spans[self._first[shard + 1] - 1])
        if not is_head(self._read_at(self._files[shard], offset - HEAD, HEAD), length):
            raise DataError(f"{path}: holds no record where its index says, so it is of another build; {REBUILD}")


@contextmanager
def plain_errors_of(*stores: RecordReader) -> Iterator[None]:
    """Around whatever goes through batches: what a store says when a record cannot be read reaches TensorFlow, which
    makes a page about a failed operation of a graph of it; here it is itself again."""
    try:
        yield
    except Exception as error:
        for store in stores:
            if store.failed is not None and store.failed in str(error):
                raise DataError(store.failed) from None
        # TensorFlow's, of a record or of our own code; the other where its text repeats bytes of the record.
        if type(error).__name__ in ("InvalidArgumentError", "UnicodeDecodeError"):
            for store in stores:
                if problem := store.find_misfit():
                    raise DataError(problem) from None
        raise


def _find_broken_image(data: bytes) -> str | None:
    """Return what is wrong with a record's images, as TensorFlow decodes them; None if they are whole."""
    import tensorflow as tf  # which has failed on some record

    try:
        for frame in frames_in(decode_features(data)):
            tf.io.decode_image(frame, channels=3, expand_animations=False)
    except tf.errors.InvalidArgumentError:
        return "has an image that cannot be decoded"
    return None


def _find_origin(data: bytes | None, number: int) -> ExampleOrigin:
    features = decode_features(data or b"", only=(NAME, *SIZES))
    name = features.get(NAME)
    file = name[0].decode(errors="replace") if name and isinstance(name[0], bytes) else ""
    numbers = [(features.get(key) or [np.nan])[0] for key in SIZES]
    height, width = (np.nan if isinstance(one, bytes) else float(one) for one in numbers)
    return ExampleOrigin(file or f"no. {number}", height, width)


def _read_index(folder: Path, shard: Shard) -> np.ndarray:
    path, index_path = folder / shard.file, folder / name_index(shard.file)
    for file in (path, index_path):
        if not file.is_file():
            raise DataError(f"{file}: missing, though the manifest names it; {REBUILD}")
    if path.stat().st_size != shard.bytes:
        raise DataError(f"{path}: has {path.stat().st_size} bytes, the manifest says {shard.bytes}; {REBUILD}")
    try:
        # Mapped, so that a damaged header that promises more than the file has takes no memory.
        index = np.array(np.lib.format.open_memmap(index_path, mode="r"))
    except Exception as error:  # NumPy raises almost anything on damaged bytes
        raise DataError(f"{index_path}: cannot be read ({one_line(error)}); {REBUILD}") from None
    if index.dtype != np.int64 or index.ndim != 2:
        raise DataError(f"{index_path}: holds {index.dtype} {index.shape}, no offsets and lengths; {REBUILD}")
    if index.shape != (shard.examples, 2):
        raise DataError(f"{index_path}: has {len(index)} rows, the manifest says {shard.examples}; {REBUILD}")
    ends = np.cumsum(index[:, 1] + (HEAD + TAIL))
    fits = np.array_equal(index[:, 0], ends - index[:, 1] - TAIL) and bool((index[:, 1] >= 0).all())
    if not fits or (ends[-1] if len(ends) else 0) != shard.bytes:
        raise DataError(f"{index_path}: does not fit {path.name}, so it is of another build; {REBUILD}")
    return index
