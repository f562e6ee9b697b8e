"""Loading TensorFlow without the page of notices that its libraries print, and without what they could do without.

The notices come from C++ before any log level is read, so standard error is put aside for as long as loading
takes. Whoever sets TF_CPP_MIN_LOG_LEVEL sees everything.
"""

import atexit
import gc
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

CHOSEN = "TF_CPP_MIN_LOG_LEVEL"
OURS = "02"  # TensorFlow reads 2; a process that inherits it knows by the 0 that nobody chose it
# TensorFlow and Keras load them where they are installed, for what nothing here calls: a third of the time of loading.
NOT_NEEDED = ("matplotlib", "pandas", "scipy", "sklearn")
# A network and its graphs are a million objects that stay. Looking through them every 700 takes a tenth of a stage.
COLLECT_AFTER = 50_000  # new objects, before Python searches them for garbage


def collect_seldom() -> None:
    """Search for garbage seldom, and not once more as Python ends, which takes half a second after TensorFlow."""
    gc.set_threshold(COLLECT_AFTER, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)


def load_tensorflow(*, saves_graphs: bool = True) -> None:
    """Import TensorFlow and look for accelerators. Ctrl-C meanwhile ends it, if not at once then when it is loaded.

    Without `saves_graphs`, graphs are sooner ready. What is set for that would stand in a saved graph, too.
    """
    # Every command loads this file, and few load TensorFlow.
    from bakeoff.foundation.address_space import require_for_tensorflow
    from bakeoff.foundation.signals import no_interrupt_lost

    collect_seldom()
    if "tensorflow" in sys.modules:
        return
    require_for_tensorflow()
    with no_interrupt_lost() as interrupts, left_out(*NOT_NEEDED), all_that_is_loaded_stays():
        if os.environ.get(CHOSEN, OURS) != OURS:
            _load(saves_graphs)
            return
        os.environ[CHOSEN] = OURS  # from here on warnings and errors only
        with stderr_aside(unless=interrupts):
            _load(saves_graphs)


def _load(saves_graphs: bool) -> None:
    """Import TensorFlow and look for accelerators, which is the other half of the notices.

    Of a GPU's memory it is to take what it needs. Left to itself it takes all, and other programs find none.
    """
    import tensorflow as tf

    if not saves_graphs and not tf.test.is_built_with_gpu_support():
        _optimize_graphs_once()
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)


def _optimize_graphs_once() -> None:
    """Spare a CPU a sixth of the time that a graph needs to be ready. No bit of a result changes.

    TensorFlow sends each graph through its passes a second time, which finds next to nothing. One of them looks for
    another order of a map's sides, which GPUs alone have.
    """
    import tensorflow as tf

    config = tf.compat.v1.ConfigProto()
    passes = config.graph_options.rewrite_options
    passes.meta_optimizer_iterations, passes.layout_optimizer = passes.ONE, passes.OFF
    with suppress(ImportError, ValueError):  # another version, or something began before: slower, and the same
        from tensorflow.python.framework.ops import enable_eager_execution_internal  # no public name takes this

        enable_eager_execution_internal(config=config)


@contextmanager
def all_that_is_loaded_stays() -> Iterator[None]:
    """Search for no garbage in the block, nor later in what the block has loaded: a tenth of the time of loading."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if is_on:
            gc.enable()


@contextmanager
def left_out(*names: str) -> Iterator[None]:
    """To import them fails as if they were not installed; those that are loaded already stay."""
    absent = [name for name in names if name not in sys.modules]
    sys.modules |= dict.fromkeys(absent)  # type: ignore[arg-type]  # None is how the import system marks them
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


@contextmanager
def quiet_pillow() -> Iterator[None]:
    """Pillow warns of oddities of an image without naming its file, and from 89 million pixels on."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="PIL")
        yield


@contextmanager
def stderr_aside(*, is_shown: bool = True, unless: Sequence[object] = ()) -> Iterator[None]:
    """Show what is written to standard error in the block, also by C and C++, only if the block fails, or never.

    It is not shown, either, if `unless` holds something by then: a library may turn Ctrl-C into an error of its own.
    """
    import tempfile  # every command loads this file, and few load TensorFlow

    sys.stderr.flush()
    shown = os.dup(2)
    with tempfile.TemporaryFile() as aside:
        os.dup2(aside.fileno(), 2)
        try:
            yield
        except Exception:
            if is_shown and not unless:
                aside.seek(0)
                os.write(shown, aside.read())
            raise
        finally:
            os.dup2(shown, 2)
            os.close(shown)
