"""Loading TensorFlow without the page of notices that its libraries print about themselves.

They come from C++ before any log level is read, so standard error is put aside for as long as loading
takes. Whoever sets TF_CPP_MIN_LOG_LEVEL sees everything.
"""

import os
import sys
import tempfile

CHOSEN = "TF_CPP_MIN_LOG_LEVEL"


def load_tensorflow() -> None:
    if CHOSEN in os.environ:
        return
    os.environ[CHOSEN] = "2"  # from here on warnings and errors only
    sys.stderr.flush()
    shown = os.dup(2)
    with tempfile.TemporaryFile() as aside:
        os.dup2(aside.fileno(), 2)
        try:
            import tensorflow as tf

            tf.config.list_physical_devices()  # looks for accelerators, which is the other half of the notices
        except Exception:
            aside.seek(0)
            os.write(shown, aside.read())
            raise
        finally:
            os.dup2(shown, 2)
            os.close(shown)
