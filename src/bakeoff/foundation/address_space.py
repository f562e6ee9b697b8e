"""A limit of this process' addresses (`ulimit -v`) -> a refusal in one line, before libraries in C meet it.

OpenBLAS, LLVM and TensorFlow do not report that no memory is left: they abort, crash or wait for ever.
"""

import os
import sys

from bakeoff.foundation.errors import WorkspaceError

MB = 2**20
NUMPY_MB, TENSORFLOW_MB = (160, 48), (2048, 64)  # by itself, and for each core: buffers and stacks of threads


def require_for_numpy() -> None:
    _require("NumPy", *NUMPY_MB)


def require_for_tensorflow() -> None:
    _require("TensorFlow", *TENSORFLOW_MB)


def _require(library: str, fixed_mb: int, core_mb: int) -> None:
    """Refuse a limit with which the library does not even load. Windows has no such limit."""
    if sys.platform == "win32":
        return
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    least = (fixed_mb + core_mb * cores) * MB
    if limit != resource.RLIM_INFINITY and limit < least:
        raise WorkspaceError(
            f"not enough memory: `ulimit -v` is {limit // 1024}, and {library} needs {least // 1024} on {cores} cores; "
            "raise the limit (`ulimit -v unlimited`) and run the same command again"
        )
