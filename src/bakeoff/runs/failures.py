"""An exception -> what kind of failure it is, in one line.

Kinds go by the names of classes, so that nothing here has to load TensorFlow or the step loop to know them.
"""

from collections.abc import Iterator

from bakeoff.errors import is_disk_full, one_line
from bakeoff.runs.status import Failure

OUT_OF_MEMORY, DISK, BAD_DATA, DIVERGED, ERROR = "out of memory", "disk", "bad data", "diverged", "error"
NO_ROOM = "no room"  # of a run that did not start
MOST = 1000  # characters of a message

KIND_OF = {
    "MemoryError": OUT_OF_MEMORY,
    "OutOfMemory": OUT_OF_MEMORY,  # training's own word for it
    "ResourceExhaustedError": OUT_OF_MEMORY,  # TensorFlow's
    "DataError": BAD_DATA,
    "DataLossError": BAD_DATA,  # TensorFlow's, of a file that is not what its checksum says
    "Diverged": DIVERGED,
    "TryAgainLater": NO_ROOM,
}
SAID_OF_MEMORY = (  # in errors of other classes: an allocator's, CUDA's, the system's
    "OOM when allocating",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "RESOURCE_EXHAUSTED: Out of memory",
    "std::bad_alloc",
    "Cannot allocate memory",
)


def failure_of(error: BaseException) -> Failure:
    kinds = (kind for cause in _causes(error) if (kind := _kind(cause)))
    return Failure(next(kinds, ERROR), one_line(error, MOST) or type(error).__name__)


def _kind(error: BaseException) -> str | None:
    if is_disk_full(error):  # first: TensorFlow calls a full disk an exhausted resource
        return DISK
    known = [KIND_OF[cls.__name__] for cls in type(error).__mro__ if cls.__name__ in KIND_OF]
    if known:
        return known[0]
    return OUT_OF_MEMORY if any(words in str(error) for words in SAID_OF_MEMORY) else None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Itself, and what it was raised from."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__
