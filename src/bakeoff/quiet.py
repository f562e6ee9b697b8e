"""Loading TensorFlow without the page of notices that its libraries print about themselves.

They come from C++ before any log level is read, so standard error is put aside for as long as loading
takes. Whoever sets TF_CPP_MIN_LOG_LEVEL sees everything.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

CHOSEN = "TF_CPP_MIN_LOG_LEVEL"


def load_tensorflow() -> None:
    if CHOSEN in os.environ:
        return
    os.environ[CHOSEN] = "2"  # from here on warnings and errors only
    with stderr_aside():
        import tensorflow as tf

        tf.config.list_physical_devices()  # looks for accelerators, which is the other half of the notices


@contextmanager
def stderr_aside() -> Iterator[None]:
    """What is written to standard error in the block, also by C++, is shown only if the block fails."""
    sys.stderr.flush()
    shown = os.dup(2)
    with tempfile.TemporaryFile() as aside:
        os.dup2(aside.fileno(), 2)
        try:
            yield
        except Exception:
            aside.seek(0)
            os.write(shown, aside.read())
            raise
        finally:
            os.dup2(shown, 2)
            os.close(shown)
