"""A tiny model.onnx: a classifier that answers the share of each colour, with the metadata that export writes."""

from pathlib import Path

import onnx

SIDE = 8


def write_colour_model(path: Path, task: str = "classification") -> Path:
    shape = {"image": ["n", 3, SIDE, SIDE], "probabilities": ["n", 3]}
    values = {name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape[name]) for name in shape}
    nodes = [
        onnx.helper.make_node("ReduceMean", ["image"], ["mean"], axes=[2, 3], keepdims=0),
        onnx.helper.make_node("Softmax", ["mean"], ["probabilities"], axis=1),
    ]
    graph = onnx.helper.make_graph(nodes, "colours", [values["image"]], [values["probabilities"]])
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    properties = {"task": task, "labels": '["red", "green", "blue"]', "view": f'{{"size": {SIDE}}}'}
    onnx.helper.set_model_props(made, properties)
    onnx.save(made, path)
    return path
