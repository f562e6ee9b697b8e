"""Multiply-adds of one answer of each detector of conf/model, at its own size, and its parameters.

    python benchmarks/multiply_adds.py                # all detectors, some seconds each
    python benchmarks/multiply_adds.py yolox_nano     # these

They are counted in the traced graph of one image: convolutions and products of matrices, from their static shapes.
Additions, activations, resampling and what finds boxes in the output are not counted. Each has 80 classes, as COCO.
"""

import argparse
import math
from typing import Any

CLASSES = 80


def main() -> None:
    import keras
    from made_up import read_option
    from networks import options

    from bakeoff.export.devices import DETECTION

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help="an option of conf/model; all detectors if none")
    print("| network | size | parameters | multiply-adds |\n|---|---|---|---|")
    for name in parser.parse_args().networks or options():
        model, _ = read_option(name, {})
        if model.task == DETECTION:
            network = model.build(CLASSES)
            count = multiply_adds(network, model.input_size)
            print(f"| `{name}` | {model.input_size} | {network.count_params():,} | {count / 1e9:.3g} G |", flush=True)
            keras.backend.clear_session()


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
