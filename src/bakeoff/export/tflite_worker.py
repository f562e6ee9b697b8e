"""A SavedModel -> files of TensorFlow Lite: `python -m bakeoff.export.tflite_worker FOLDER`, a process of its own.

The converter keeps memory until its process ends (tensorflow#122598). FOLDER holds `saved_model` and request.json:

{"forms": ["dynamic", "int8"], "whole_outputs": false, "shape": [1, 320, 320, 3], "has_ranges": false}

It gets a file for each form, by its name. Standard input has the examples for int8: float32, one after another. A graph
that has its own ranges needs none.
"""

import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from bakeoff.foundation.child_process import die_with_parent
from bakeoff.foundation.errors import ConfigError, errors_in_one_line
from bakeoff.foundation.tf_loading import load_tensorflow, stderr_aside

if TYPE_CHECKING:
    import tensorflow as tf

WORKER = "bakeoff.export.tflite_worker"
SAVED, REQUEST = "saved_model", "request.json"
POST_PROCESS = "TFLite_Detection_PostProcess"  # which interpreters have beside the operations of the schema
NAMED_OPERATION = re.compile(r"'(tfl?\.\w+)' op|\((\w+)\) failed to prepare")

Representative = Callable[[], Iterator[list[np.ndarray]]]


def convert_saved(folder: str, form: str, representative: Representative | None, *, whole_outputs: bool) -> bytes:
    """Convert in this process; see `convert` of write_formats.py."""
    converter = _converter(folder, form, representative, whole_outputs=whole_outputs)
    with warnings.catch_warnings(), stderr_aside():
        warnings.simplefilter("ignore")
        try:
            converted: bytes = converter.convert()
        except Exception as error:  # whatever it raises: ValueError, RuntimeError, its own ConverterError
            why = _why(error)
        else:
            why = _name_unknown(converted)
    if why:
        raise ConfigError(f"export.formats: {form} cannot be made of this network ({why}); take it out of the list")
    return converted


def _converter(
    folder: str, form: str, representative: Representative | None, *, whole_outputs: bool
) -> "tf.lite.TFLiteConverter":
    import tensorflow as tf

    converter = tf.lite.TFLiteConverter.from_saved_model(folder)
    converter.allow_custom_ops = True
    if form != "float32":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if form == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if form == "int8":
        if representative:
            converter.representative_dataset = representative
            converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = tf.uint8
        if whole_outputs:
            converter.inference_output_type = tf.uint8
    return converter


def _name_unknown(converted: bytes) -> str:
    """Name what the converter let pass, as there may be an operation of ours, and no interpreter would know."""
    from tensorflow.lite.python import schema_py_generated as schema

    codes = [code.customCode for code in schema.ModelT.InitFromPackedBuf(converted).operatorCodes if code.customCode]
    names = {code.decode() if isinstance(code, bytes) else code for code in codes} - {POST_PROCESS}
    return _has_no(names) if names else ""


def _why(error: Exception) -> str:
    """Find a word instead of pages of a graph."""
    if operations := {match[1] or match[2] for match in NAMED_OPERATION.finditer(str(error))}:
        return _has_no(operations)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:200]


def _has_no(operations: Iterable[str]) -> str:
    return f"TensorFlow Lite has no {', '.join(sorted(operations))}"


def _read_examples(examples: IO[bytes], shape: list[int]) -> Iterator[list[np.ndarray]]:
    size = int(np.prod(shape)) * np.dtype(np.float32).itemsize
    while data := examples.read(size):
        yield [np.frombuffer(data, np.float32).reshape(shape)]


def main(folder: Path, examples: IO[bytes]) -> None:
    request: dict[str, Any] = json.loads((folder / REQUEST).read_text(encoding="utf-8"))
    load_tensorflow()
    representative = None if request["has_ranges"] else lambda: _read_examples(examples, request["shape"])
    for form in request["forms"]:
        converted = convert_saved(str(folder / SAVED), form, representative, whole_outputs=request["whole_outputs"])
        (folder / form).write_bytes(converted)


if __name__ == "__main__":
    die_with_parent()
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"  # the process that asks may hold all of the GPU
    with errors_in_one_line():
        main(Path(sys.argv[1]), sys.stdin.buffer)
