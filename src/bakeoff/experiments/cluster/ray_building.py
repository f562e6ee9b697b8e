"""A build of records -> tasks on the nodes of a Ray cluster, which examine items and write whole shards.

The catalogue stays at home. It settles which example is in which shard, and in what order, before a shard is written.
So the files are the same whichever node writes them. A node reads raw files, or gets their bytes and returns shards.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from bakeoff.dataset.building.build import HomePool
from bakeoff.dataset.building.catalogue import Catalogue, PackedRow, PackedVerdict, unpack_item
from bakeoff.dataset.building.worker_tasks import BuildPool, MakePool, Piece, examine_piece
from bakeoff.dataset.building.write_shards import Seal, ShardOrder, find_finished, keep_seal, make_shard
from bakeoff.dataset.sources.dataset import Dataset
from bakeoff.experiments.cluster.raw_transfer import Excerpt, lay_out, take_excerpts
from bakeoff.experiments.cluster.ray_connection import connect, parse_address
from bakeoff.experiments.cluster.ray_nodes import ask_nodes, require_fitting
from bakeoff.experiments.cluster.ray_tasks import Call, Tasks
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.formatting import format_count
from bakeoff.foundation.progress import print_line
from bakeoff.foundation.workspace import main_workspace

TITLE = "build_records"
HOME_PROCESSES = 2  # with one, the work would run in this process, which a damaged file may kill
OpenHome = Callable[[], BuildPool]


@contextmanager
def open_pools(on: str) -> Iterator[MakePool]:
    """Yield a function that makes the pool of a build. `on` is the value of `--on`."""
    with connect(parse_address(on)) as ray:
        alive = ask_nodes(ray, Path.cwd(), main_workspace())
        require_fitting(alive)
        nodes = [node for node in alive if node.cpus >= 1]
        if not nodes:
            raise WorkspaceError(f"--on {on}: no node of Ray has a CPU; begin one with `ray start --num-cpus=N`")
        far = sum(not node.sees_workspace for node in nodes)
        cpus = sum(int(node.cpus) for node in nodes)
        more = f", {far} of which {'gets' if far == 1 else 'get'} files over the network" if far else ""
        print_line(f"{TITLE}: on Ray, {format_count(len(nodes), 'node')} with {format_count(cpus, 'CPU')}{more}")
        yield partial(RayPool, Tasks(ray, nodes, Path.cwd(), TITLE))


class RayPool:
    """A pool whose processes are nodes of Ray."""

    def __init__(self, tasks: Tasks, datasets: Sequence[Dataset], folder: Path) -> None:
        self._tasks, self._datasets, self._folder = tasks, datasets, folder
        self._open = ExitStack()
        self._home: BuildPool | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._tasks.cancel()
        self._open.close()

    def warm_up(self) -> None:
        self._tasks.warm_up(load)

    def examine(self, pieces: Iterable[Piece]) -> Iterator[list[PackedVerdict]]:
        return self._tasks.run(Examining(self._datasets, piece, self._open_home) for piece in pieces)

    def write(
        self, orders: Iterable[ShardOrder], classes: list[str], catalogue: Catalogue
    ) -> Iterator[tuple[ShardOrder, Seal]]:
        left = []
        for order in orders:
            if held := find_finished(catalogue, order, classes, self._folder):
                yield order, held
            else:
                left.append(order)
        yield from self._tasks.run(
            Writing(self._datasets, order, classes, catalogue, self._folder, self._open_home) for order in left
        )

    def _open_home(self) -> BuildPool:
        """Return processes of this machine, for tasks that no node can do."""
        if self._home is None:
            self._home = self._open.enter_context(HomePool(HOME_PROCESSES, self._datasets, self._folder))
        return self._home


@dataclass(frozen=True)
class Examining:
    """Items to examine."""

    datasets: Sequence[Dataset]
    piece: Piece
    open_home: OpenHome

    def near(self) -> Call:
        return examine_near, (self.datasets, self.piece)

    def far(self) -> Call | None:
        excerpts = take_excerpts(self.datasets, ((source, unpack_item(content)) for source, content in self.piece))
        return None if excerpts is None else (examine_far, (self.datasets, self.piece, excerpts))

    def split(self) -> "list[Examining]":
        return [Examining(self.datasets, [element], self.open_home) for element in self.piece]

    def finish(self, result: list[PackedVerdict]) -> list[PackedVerdict]:
        return result

    def do_at_home(self) -> list[PackedVerdict]:
        return [verdict for verdicts in self.open_home().examine([self.piece]) for verdict in verdicts]


@dataclass(frozen=True)
class Writing:
    """A shard to write. Its rows are read from the catalogue when a node is free for it."""

    datasets: Sequence[Dataset]
    order: ShardOrder
    classes: list[str]
    catalogue: Catalogue
    folder: Path
    open_home: OpenHome

    def near(self) -> Call:
        return write_near, (self.datasets, self._read_rows(), *self._list_arguments(), self.folder)

    def far(self) -> Call | None:
        rows = self._read_rows()
        excerpts = take_excerpts(self.datasets, ((source, unpack_item(item)) for source, item, _ in rows))
        if excerpts is None:
            return None
        return write_far, (self.datasets, rows, *self._list_arguments(), excerpts)

    def split(self) -> "list[Writing]":
        return [self]

    def finish(self, result: Seal | tuple[Seal, dict[str, bytes]]) -> tuple[ShardOrder, Seal]:
        if isinstance(result, Seal):
            return self.order, result
        seal, files = result
        for name, content in files.items():
            unfinished = self.folder / f"partial-{secrets.token_hex(4)}-{name}"
            unfinished.write_bytes(content)
            unfinished.replace(self.folder / name)
        keep_seal(seal, self.folder)
        return self.order, seal

    def do_at_home(self) -> tuple[ShardOrder, Seal]:
        [written] = self.open_home().write([self.order], self.classes, self.catalogue)
        return written

    def _read_rows(self) -> list[PackedRow]:
        return list(self.catalogue.shard(self.order.split, self.order.number))

    def _list_arguments(self) -> tuple[Any, ...]:
        return self.order, self.classes


def load() -> None:
    """Import this module, so that the first task need not."""


def examine_near(datasets: Sequence[Dataset], piece: Piece) -> list[PackedVerdict]:
    """Return the verdicts on items whose files this node sees."""
    return examine_piece(datasets, [dataset.folder() for dataset in datasets], piece)


def examine_far(datasets: Sequence[Dataset], piece: Piece, excerpts: list[Excerpt]) -> list[PackedVerdict]:
    """Return the verdicts on items whose bytes came along."""
    with lay_out(datasets, excerpts) as inside:
        return examine_near(inside, piece)


def write_near(
    datasets: Sequence[Dataset], rows: list[PackedRow], order: ShardOrder, classes: list[str], folder: Path
) -> Seal:
    return make_shard(rows, order, datasets, classes, folder)


def write_far(
    datasets: Sequence[Dataset],
    rows: list[PackedRow],
    order: ShardOrder,
    classes: list[str],
    excerpts: list[Excerpt],
) -> tuple[Seal, dict[str, bytes]]:
    """Return the seal, and the content of the files that it names."""
    with lay_out(datasets, excerpts) as inside:
        seal = write_near(inside, rows, order, classes, Path())
        return seal, {name: Path(name).read_bytes() for name in seal.sha256}
