"""What one answer of each detector of conf/model costs, at its own size: multiply-adds, and milliseconds of its files.

    python benchmarks/network_costs.py                        # multiply-adds of all detectors, some seconds each
    python benchmarks/network_costs.py yolox_nano --files     # also its .tflite and .onnx, up to a minute each

Multiply-adds are counted in the traced graph of one image: convolutions and products of matrices, from their static
shapes. Additions, activations, resampling and what finds boxes in the output are not counted. Each network has random
weights and 80 classes, as COCO. A file is timed with one thread, boxes and all, in milliseconds of the processor: other
work on the machine lengthens the clock's time much more.
"""

import argparse
import math
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

CLASSES, CALLS, FORMS = 80, 10, ("float32", "onnx")


def main() -> None:
    import keras
    from made_up import read_option
    from networks import options

    from bakeoff.export.devices import DETECTION

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help="an option of conf/model; all detectors if none")
    parser.add_argument("--files", action="store_true", help="also export it, and time its files")
    arguments = parser.parse_args()
    forms = FORMS if arguments.files else ()
    print("| network | size | parameters | multiply-adds |" + "".join(f" {form} |" for form in forms))
    print("|---" * (4 + len(forms)) + "|")
    for name in arguments.networks or options():
        model, _ = read_option(name, {})
        if model.task == DETECTION:
            network = model.build(CLASSES)
            count = multiply_adds(network, model.input_size)
            times = milliseconds(network, model) if forms else {}
            cells = [f"`{name}`", str(model.input_size), f"{network.count_params():,}", f"{count / 1e9:.3g} G"]
            print("|", " | ".join([*cells, *(f"{times[form]:.3g} ms" for form in forms)]), "|", flush=True)
            keras.backend.clear_session()
    print(f"\nload at the end: {os.getloadavg()[0]:.1f}")


def milliseconds(network: Any, model: Any) -> dict[str, float]:
    """Return what a call of each file takes of the processor."""
    import numpy as np

    from bakeoff.export.accuracy_report import open_file
    from bakeoff.export.settings import Export
    from bakeoff.export.tflite_metadata import ModelMetadata
    from bakeoff.export.write_formats import write_files
    from bakeoff.learning.tasks.task import make_task

    settings, labels = Export(formats=FORMS, threads=1), [f"class {number}" for number in range(CLASSES)]
    with TemporaryDirectory() as name:
        written = write_files(
            network, model, make_task(model, labels), labels, settings,
            about=ModelMetadata("costs"), representative=lambda: iter(()), folder=Path(name),
        )  # fmt: skip
        times = {}
        for form in written:
            file: Any = open_file(form, Path(name, settings.files[form]), settings.threads)
            file.put(np.full(network.input_shape[1:], 127, np.uint8))
            file.call()
            begin = time.process_time()
            for _ in range(CALLS):
                file.call()
            times[form] = (time.process_time() - begin) / CALLS * 1000
        return times


def multiply_adds(network: Any, side: int) -> int:
    import tensorflow as tf

    image = tf.TensorSpec((1, side, side, 3), tf.float32)
    traced = tf.function(lambda images: network(images, training=False)).get_concrete_function(image)
    return sum(of_operation(one) for one in traced.graph.get_operations())


def of_operation(operation: Any) -> int:
    """Return how often the numbers of its output took a product, by the axes that vanish in it."""
    if operation.type not in ("Conv2D", "DepthwiseConv2dNative", "MatMul", "BatchMatMulV2", "Einsum"):
        return 0
    first, second = (one.shape.as_list() for one in operation.inputs)
    numbers = math.prod(operation.outputs[0].shape.as_list())
    if operation.type == "Conv2D":
        return numbers * math.prod(second[:3])
    if operation.type == "DepthwiseConv2dNative":
        return numbers * math.prod(second[:2])
    if operation.type == "MatMul":
        return numbers * first[0 if operation.get_attr("transpose_a") else 1]
    if operation.type == "BatchMatMulV2":
        return numbers * first[-2 if operation.get_attr("adj_x") else -1]
    inputs, _, output = operation.get_attr("equation").decode().partition("->")
    sizes = dict(zip(inputs.replace(",", ""), [*first, *second], strict=True))
    return numbers * math.prod(size for axis, size in sizes.items() if axis not in output)


if __name__ == "__main__":
    main()
