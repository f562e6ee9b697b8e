"""A graph -> the bytes of a .tflite, by TensorFlow's converter."""

import re
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from bakeoff.errors import ConfigError
from bakeoff.quiet import stderr_aside
from bakeoff.tasks.export import Format

Representative = Callable[[], Iterator[list[np.ndarray]]]
NAMED_OPERATION = re.compile(r"'(tfl?\.\w+)' op")


def convert(module: tf.Module, form: Format, representative: Representative) -> bytes:
    """`representative` gives inputs of the graph, from which int8 learns the ranges of values.

    float32   weights and sums as they were trained
    float16   weights in half the bytes, sums in float32
    dynamic   weights in a quarter of the bytes, sums in float32
    int8      weights and sums in 8 bits; takes uint8 pixels as they are
    """
    converter = tf.lite.TFLiteConverter.from_concrete_functions([module.answer.get_concrete_function()], module)
    converter.allow_custom_ops = True
    if form != "float32":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if form == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if form == "int8":
        converter.representative_dataset = representative
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = tf.uint8
    with warnings.catch_warnings(), stderr_aside():
        warnings.simplefilter("ignore")
        try:
            return converter.convert()
        except Exception as error:  # whatever the converter raises: ValueError, RuntimeError, its own ConverterError
            why = _why(error)
    raise ConfigError(f"export.formats: {form} cannot be made of this network ({why}); take it out of export.formats")


def _why(error: Exception) -> str:
    """A word instead of pages of a graph."""
    operations = sorted(set(NAMED_OPERATION.findall(str(error))))
    if operations:
        return f"TensorFlow Lite has no {', '.join(operations)} for it"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:200]
