"""Several processes train one network: each takes its rows of every batch, and all hold equal weights after each step.

The first worker leads. It alone validates, writes, and decides when training stops. Before each call it tells the
others how many steps to take; when a phase begins it gives them the whole state, so that only it reads a checkpoint.
"""

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bakeoff.foundation.errors import BakeoffError, ConfigError, WorkspaceError

if TYPE_CHECKING:
    import tensorflow as tf

    from bakeoff.learning.training.setup import Setup

CLUSTER = "TF_CONFIG"  # the variable that names all workers, and which of them a process is
State = Callable[[], "Mapping[str, tf.Tensor | np.ndarray]"]
END, PHASE, STEPS, COMPARE = range(4)  # what the leader tells: END, PHASE number first, STEPS count, COMPARE


class WorkerLost(BakeoffError):
    """Another worker of this training is gone. What was saved before is whole."""


@dataclass(frozen=True)
class WorkerAddress:
    """Which worker a process is, by its number, and where all of them are."""

    rank: int
    addresses: tuple[str, ...]

    @property
    def count(self) -> int:
        return len(self.addresses)

    def environment(self, rank: int) -> dict[str, str]:
        """Return the variable that makes a process the worker of this number."""
        task = {"type": "worker", "index": rank}
        return {CLUSTER: json.dumps({"cluster": {"worker": list(self.addresses)}, "task": task})}


def place_of(environ: Mapping[str, str]) -> WorkerAddress | None:
    """Return the place that TF_CONFIG gives this process; None if there is no such variable, or one without workers."""
    text = environ.get(CLUSTER)
    if not text:
        return None
    try:
        tree = json.loads(text)
        addresses, task = tree["cluster"]["worker"], tree["task"]
        place = WorkerAddress(int(task["index"]), tuple(map(str, addresses)))
        is_whole = task["type"] == "worker" and 0 <= place.rank < place.count and set(tree["cluster"]) == {"worker"}
    except (ValueError, KeyError, TypeError):
        is_whole = False
    if not is_whole:
        rule = '{"cluster": {"worker": ["HOST:PORT", ...]}, "task": {"type": "worker", "index": 0}}'
        raise ConfigError(f"{CLUSTER}: must be {rule}, got {text!r}")
    return place


class WorkerGroup(Protocol):
    """The other workers, as the one that leads sees them."""

    def leading(self) -> AbstractContextManager[None]:
        """Release the others when the block ends, however it does."""

    def begin_phase(self, number: int, first: int) -> None:
        """Let all begin a phase at a step: all of them make its variables, which TensorFlow gives equal values."""

    def give(self, state: State) -> None:
        """Let all have what `state` returns."""

    def taking(self, steps: int) -> AbstractContextManager[None]:
        """Let all take so many steps, which the leader takes in the block."""

    def require_equal(self, state: State) -> None:
        """Raise an error if a worker holds another state."""


class Alone:
    """No other workers."""

    def leading(self) -> AbstractContextManager[None]:
        return nullcontext()

    def begin_phase(self, number: int, first: int) -> None: ...

    def give(self, state: State) -> None: ...

    def taking(self, steps: int) -> AbstractContextManager[None]:
        return nullcontext()

    def require_equal(self, state: State) -> None: ...


class Crew:
    """All workers of a training, this one among them. Every method is called by all of them, in the same order."""

    def __init__(self, strategy: "tf.distribute.Strategy", place: WorkerAddress) -> None:
        import tensorflow as tf

        self._strategy, self._place = strategy, place
        self._sum = tf.function(self._sum_of, autograph=False)
        self._is_within_steps = False  # whether the other workers wait for gradients and take no orders

    # What the leader calls.

    def begin_phase(self, number: int, first: int) -> None:
        self._announce(PHASE, number, first)

    def give(self, state: State) -> None:
        self.share(state())

    @contextmanager
    def taking(self, steps: int) -> Iterator[None]:
        self._announce(STEPS, steps)
        self._is_within_steps = True
        yield
        self._is_within_steps = False

    def require_equal(self, state: State) -> None:
        self._announce(COMPARE)
        self.compare(state())

    @contextmanager
    def leading(self) -> Iterator[None]:
        """Release the others when the block ends, however it does."""
        try:
            with lost_workers_named():
                yield
        except WorkerLost:
            raise
        except BaseException:
            self._release()
            raise
        else:
            self._release()

    # What the others call.

    def hear(self) -> tuple[int, int, int]:
        kind, one, other = self._from_leader(np.zeros(3, np.int32)).tolist()
        return kind, one, other

    # What all call together.

    def share(self, state: "Mapping[str, tf.Tensor | np.ndarray]") -> dict[str, np.ndarray]:
        """Return the leader's state, to the bit: numbers travel as whole numbers, and only the leader's are not 0."""
        arrays = {name: np.asarray(value) for name, value in state.items()}
        content = b"".join(array.tobytes() for array in arrays.values())
        padded = np.frombuffer(content + bytes(-len(content) % 4), np.int32)
        content, place, received = self._from_leader(padded).tobytes(), 0, {}
        for name, array in arrays.items():
            part = np.frombuffer(content[place : place + array.nbytes], array.dtype)
            received[name], place = part.reshape(array.shape), place + array.nbytes
        return received

    def compare(self, state: "Mapping[str, tf.Tensor | np.ndarray]") -> None:
        number = 0
        for array in map(np.asarray, state.values()):
            number = zlib.crc32(np.ascontiguousarray(array).tobytes(), number)
        if self._differing({"state": number}):
            raise WorkspaceError("train.workers: the workers hold different weights; start again from the checkpoint")

    def require_same(self, parts: Mapping[str, str]) -> None:
        """Refuse to train with a worker of which a part, given as text, is another one."""
        if different := self._differing({name: zlib.crc32(text.encode()) for name, text in parts.items()}):
            raise ConfigError(
                f"train.workers: {', '.join(different)} must be the same on all {self._place.count} workers; give each "
                "the same commit, environment and records"
            )

    def _differing(self, numbers: Mapping[str, int]) -> list[str]:
        """Return the names whose numbers are not equal on all workers: none has any variance."""
        # In halves, whose squares do not overflow.
        own = np.array([divmod(number, 2**16) for number in numbers.values()], np.int64)
        total, squares, count = self._total(own), self._total(own * own), self._place.count
        are_equal = (total == count * own) & (squares == count * own * own)
        return [name for name, both in zip(numbers, are_equal, strict=True) if not both.all()]

    def _announce(self, *message: int) -> None:
        self._from_leader(np.array([*message, 0, 0][:3], np.int32))

    def _release(self) -> None:
        if self._is_within_steps:
            return  # they find that this process is gone
        try:
            with lost_workers_named():
                self._announce(END)
        except WorkerLost:
            pass  # they end by themselves

    def _from_leader(self, values: np.ndarray) -> np.ndarray:
        return self._total(values if self._place.rank == 0 else np.zeros_like(values))

    def _total(self, values: np.ndarray) -> np.ndarray:
        import tensorflow as tf

        return self._sum(tf.constant(values)).numpy()

    def _sum_of(self, values: "tf.Tensor") -> "tf.Tensor":
        """Add up over workers, of which each has one device."""
        import tensorflow as tf

        shares = self._strategy.run(tf.identity, args=(values,))
        return self._strategy.reduce(tf.distribute.ReduceOp.SUM, shares, axis=None)


@contextmanager
def lost_workers_named() -> Iterator[None]:
    """Raise WorkerLost where TensorFlow finds that another worker is gone."""
    import tensorflow as tf

    gone = (
        tf.errors.UnavailableError,
        tf.errors.AbortedError,
        tf.errors.CancelledError,
        tf.errors.DeadlineExceededError,
    )
    try:
        yield
    except gone as error:
        raise WorkerLost(f"train.workers: a worker is gone ({str(error).splitlines()[0][:200]})") from None
    except tf.errors.InternalError as error:
        if "ollective" not in str(error):
            raise
        raise WorkerLost(f"train.workers: a worker is gone ({str(error).splitlines()[0][:200]})") from None


def follow(setup: "Setup", crew: Crew) -> int:
    """Take the steps that the leader tells until it ends the training; return how many."""
    from bakeoff.learning.plan.phases import plan_phases
    from bakeoff.learning.training.loop import Rhythm
    from bakeoff.learning.training.step import Calls

    run, learner, feed = setup.run, setup.learner, setup.feed()
    phases, rhythm = plan_phases(run), Rhythm.of(run.train)
    calls: Calls | None = None
    taken = done = 0
    with lost_workers_named():
        while True:
            kind, number, first = crew.hear()
            if kind == END:
                return taken
            if kind == PHASE:
                phase = phases[number]
                step = learner.begin(phase.trainable, "train.trainable", phase.ranges_learn)
                learner.restore(crew.share(learner.state()))
                batches = feed.batches(phase, range(first, phase.span.end_step))
                calls, done = Calls(step, batches, together=feed.together, at_once=rhythm.steps_per_call), first
            elif kind == COMPARE:
                crew.compare(learner.state())
            else:
                assert calls is not None
                calls.take([phase.rate(one) for one in range(done, done + number)])
                taken, done = taken + number, done + number


def describe_parts(identity: Mapping[str, Any]) -> dict[str, str]:
    """Return as texts what must be the same on all workers, by the names that a message shows."""
    parts = {name: identity[key] for name, key in (("the code", "code"), ("the libraries", "versions"))}
    parts |= {"the records": identity["records"]}
    rest = {key: value for key, value in identity.items() if key not in ("code", "versions", "records")}
    parts |= {"models/config/run.yaml": rest}
    return {name: json.dumps(part, sort_keys=True) for name, part in parts.items()}
