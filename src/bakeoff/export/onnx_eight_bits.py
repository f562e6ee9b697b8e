"""Weights of an ONNX graph in whole numbers of 8 bits, where the map before them is: DequantizeLinear in front of each.

Their scales are those by which the network learnt: the greatest number of each output channel is 127. Sums begin at a
bias in 32 bits, whose scale is that of the map times that of the weights, as runtimes for whole numbers want it.
"""

from typing import TYPE_CHECKING

import numpy as np

from bakeoff.learning.networks.quantized.scales import WEIGHT_LEVELS, scales_of

if TYPE_CHECKING:
    import onnx

CHANNELS = {"Conv": 0, "MatMul": 1}  # the axis of the output's channels in the weights


def round_weights(model: "onnx.ModelProto") -> None:
    """Store them so; the graph computes what it did."""
    from onnx import helper, numpy_helper

    graph = model.graph
    constants = {one.name: one for one in graph.initializer}
    made = {name: node for node in graph.node for name in node.output}
    stored: dict[str, str] = {}  # weights that several maps share
    nodes: list[onnx.NodeProto] = []

    def store(name: str, values: np.ndarray, scales: np.ndarray, axis: int) -> str:
        parts = {f"{name}_whole": values, f"{name}_scales": scales.astype(np.float32)}
        graph.initializer.extend(numpy_helper.from_array(value, key) for key, value in parts.items())
        nodes.append(helper.make_node("DequantizeLinear", [*parts], [f"{name}_numbers"], axis=axis))
        return f"{name}_numbers"

    for node in graph.node:
        axis, before = CHANNELS.get(node.op_type), made.get(node.input[0]) if node.input else None
        if axis is None or node.input[1] not in constants or before is None or before.op_type != "DequantizeLinear":
            nodes.append(node)
            continue
        kernel = numpy_helper.to_array(constants[node.input[1]])
        scales = scales_of(np.moveaxis(kernel, axis, -1))
        shape = [-1 if place == axis else 1 for place in range(kernel.ndim)]
        if len(node.input) > 2:
            of_sums = numpy_helper.to_array(constants[before.input[1]]) * scales
            bias = numpy_helper.to_array(constants[node.input[2]])
            node.input[2] = store(f"{node.output[0]}_bias", np.rint(bias / of_sums).astype(np.int32), of_sums, 0)
        if node.input[1] not in stored:
            whole = np.rint(kernel / scales.reshape(shape)).clip(-WEIGHT_LEVELS, WEIGHT_LEVELS).astype(np.int8)
            stored[node.input[1]] = store(node.input[1], whole, scales, axis)
        node.input[1] = stored[node.input[1]]
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
