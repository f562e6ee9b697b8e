"""TensorFlow Lite's converter in the process of the tests, which has loaded TensorFlow already.

bakeoff calls it in a process of its own, and tests/export/test_lite.py proves that the bytes are the same.
"""

import io
from collections.abc import Callable
from pathlib import Path
from typing import IO

from bakeoff.export import tflite_worker


def convert_here(name: str, module: str, folder: str, *, feed: Callable[[IO[bytes]], None]) -> str:
    """Stands in for `run_module` in write_formats.py."""
    assert module == tflite_worker.WORKER, name
    given = io.BytesIO()
    feed(given)
    given.seek(0)
    tflite_worker.main(Path(folder), given)
    return ""
