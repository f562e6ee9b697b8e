"""A graph -> the bytes of a .tflite, by TensorFlow's converter."""

import re
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import tensorflow as tf
from tensorflow.lite.python import schema_py_generated as schema

from bakeoff.errors import ConfigError
from bakeoff.export.post_process import NAME as POST_PROCESS
from bakeoff.quiet import stderr_aside
from bakeoff.run.options import Format

Representative = Callable[[], Iterator[list[np.ndarray]]]
NAMED_OPERATION = re.compile(r"'(tfl?\.\w+)' op|\((\w+)\) failed to prepare")


def convert(module: tf.Module, form: Format, representative: Representative) -> bytes:
    """`representative` gives inputs of the graph, from which int8 learns the ranges of values.

    float32   weights and sums as they were trained
    float16   weights in half the bytes, sums in float32
    dynamic   weights in a quarter of the bytes, sums in float32
    int8      weights and sums in 8 bits; takes uint8 pixels as they are
    """
    with tempfile.TemporaryDirectory() as folder:
        options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)  # some cannot be saved; none is used
        tf.saved_model.save(module, folder, module.answer.get_concrete_function(), options)
        return _converted(folder, form, representative)


def _converted(folder: str, form: Format, representative: Representative) -> bytes:
    converter = tf.lite.TFLiteConverter.from_saved_model(folder)
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
            converted = converter.convert()
        except Exception as error:  # whatever the converter raises: ValueError, RuntimeError, its own ConverterError
            why = _why(error)
        else:
            why = _strange(converted)
    if why:
        raise ConfigError(f"export.formats: {form} cannot be made of this network ({why}); take it out of the list")
    return converted


def _strange(converted: bytes) -> str:
    """What the converter let pass, for there may be an operation of ours, and no interpreter would know."""
    codes = schema.ModelT.InitFromPackedBuf(converted).operatorCodes
    names = {code.customCode.decode() for code in codes if code.customCode}
    return _unknown(names - {POST_PROCESS}) if names - {POST_PROCESS} else ""


def _why(error: Exception) -> str:
    """A word instead of pages of a graph."""
    operations = {found[1] or found[2] for found in NAMED_OPERATION.finditer(str(error))}
    if operations:
        return _unknown(operations)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:200]


def _unknown(operations: Iterable[str]) -> str:
    return f"TensorFlow Lite has no {', '.join(sorted(operations))}"
