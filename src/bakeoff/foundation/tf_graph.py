"""TensorFlow code -> graphs, without AutoGraph.

AutoGraph reads and rewrites the source of every function on the way into a graph, which is a fifth of the processor
time of a short stage. Nothing here needs it: what depends on a tensor is written as tf.cond or tf.map_fn.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import tensorflow as tf

as_written = tf.autograph.experimental.do_not_convert  # of a function for tf.data, and all that it calls


def compile_graph(function: Callable[..., Any], **options: Any) -> Any:
    """Return the function as a graph. `options` are those of tf.function."""
    return tf.function(as_written(function), autograph=False, **options)


def share_graph(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as a part of other graphs that is made once, however many of them have it, and how often.

    Outside of graphs it is called as it is: a few calls are sooner done so.
    """
    graph = compile_graph(function, reduce_retracing=True)

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return function(*arguments) if tf.executing_eagerly() else graph(*arguments)

    return call
