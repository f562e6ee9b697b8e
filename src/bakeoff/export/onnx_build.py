"""A trained network as ONNX, for runtimes and converters of other makers. Operations are those of operator set 17.

image (n, 3, size, size) float32, which is (pixel - 127.5) / 127.5; of clips (n, frames, size, size, 3)
-> detection       boxes (n, a, 4) ymin xmin ymax xmax, shares of the image, and scores (n, a, k): every candidate;
                   in the layout of YOLOv8 as yolo_layout.py has it, in that of heads as head_maps.py has it
-> classification  probabilities (n, k), or label_scores (n, k) if an example may have several labels

Accelerators have no operation that chooses among candidates. The rule for it is in the file's metadata.
"""

import json
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import keras
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from bakeoff.export.devices import OWN_LAYOUT, Layout
from bakeoff.export.head_maps import HEADS, Heads
from bakeoff.export.heads_build import end_at_convolutions, head_answer, heads_of
from bakeoff.export.onnx_eight_bits import round_weights
from bakeoff.export.tflite_build import of_unit_range, output_names
from bakeoff.export.tflite_metadata import ModelMetadata
from bakeoff.export.upsample import enlarge_by_one_operation
from bakeoff.export.yolo_layout import IMAGES, Answer, answer_in
from bakeoff.foundation.errors import ConfigError, one_line
from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.foundation.tf_loading import stderr_aside
from bakeoff.learning.input.view import View
from bakeoff.learning.networks.detector_settings import Detector
from bakeoff.learning.networks.quantized.quantizable import eight_bits_of, network_in_floats
from bakeoff.learning.tasks.detection import Detection
from bakeoff.learning.tasks.task import Task

if TYPE_CHECKING:
    import onnx

OPERATOR_SET = 17
IMAGE = "image"
SCALE, UNIT_SCALE = "(pixel - 127.5) / 127.5, RGB", "pixel / 255, RGB"


def onnx_bytes(
    network: keras.Model,
    task: Task,
    view: View,
    about: ModelMetadata,
    classes: tuple[str, ...],
    layout: Layout = OWN_LAYOUT,
) -> bytes:
    """Return the file, which is the same for the same weights.

    Of a network that learnt in eight bits it has QuantizeLinear and DequantizeLinear around every operation; in the
    layout of heads it has not, for whose compiler finds ranges itself.
    """
    eight = eight_bits_of(network) if layout != HEADS else None
    network = eight or network_in_floats(network)
    heads = heads_of(network, task) if isinstance(task, Detection) and layout == HEADS else None
    points, names = _points_of(network, task, layout, heads), list[str]()
    shape = [1 if points else None, *network.input_shape[1:]]
    is_image, inner = len(shape) == 4, of_unit_range(network)

    @partial(compile_graph, input_signature=[tf.TensorSpec(shape, tf.float32, name=IMAGE)])
    def answer(image: tf.Tensor) -> list[tf.Tensor]:
        if points:
            candidates = points(image)
            names[:] = candidates
            return list(candidates.values())
        outputs = inner(image)
        if isinstance(task, Detection):
            return [task.head.boxes(outputs), task.head.scores(outputs)]
        predictions = task.predict(outputs)
        return [predictions.get("probabilities", predictions["scores"])]

    with enlarge_by_one_operation(network):
        model = _converted(answer, is_image=is_image)
    if eight:
        round_weights(model)
    outputs = ["boxes", "scores"] if isinstance(task, Detection) else output_names(task)
    _name_by_place(model, *((IMAGES, names) if points else (IMAGE, outputs)))
    if heads:
        end_at_convolutions(model)
    model.producer_name, model.producer_version, model.doc_string = "bakeoff", "", about.name
    axes = "1 3 h w" if points else "n 3 h w" if is_image else "n frames h w 3"
    metadata = {
        "task": "video" if not is_image else "detection" if isinstance(task, Detection) else "classification",
        "labels": json.dumps(classes, ensure_ascii=False),
        "view": json.dumps(view.as_tree()),
        "input": f"{axes}, {UNIT_SCALE if points and not heads else SCALE}",
        "trained_from": about.origin,
        "licences": about.licences,
    }
    if points:
        metadata["layout"] = layout
    if heads:
        metadata[HEADS] = json.dumps(heads.as_tree())
    if isinstance(task, Detection):
        metadata["suppression"] = json.dumps(rule_of(task.model))
    for key, text in metadata.items():
        model.metadata_props.add(key=key, value=text)
    return bytes(model.SerializeToString(deterministic=True))


def _points_of(network: keras.Model, task: Task, layout: Layout, heads: Heads | None) -> Answer | None:
    """Return what answers in a layout of other programs, by the names of its outputs; None in our own."""
    if heads:
        return head_answer(network, heads)
    if isinstance(task, Detection) and layout != OWN_LAYOUT:
        return answer_in(layout, network, task.head, in_pixels=True)
    return None


def rule_of(model: Detector) -> dict[str, float | int | None]:
    """Return how candidates become detections, as `suppression.Rule` takes it."""
    rule = model.suppression
    return {
        "min_score": rule.min_score,
        "max_overlap": rule.max_overlap,
        "max_detections": rule.max_detections,
        "max_detections_per_class": rule.max_detections_per_class,
    }


def _converted(answer: tf.types.experimental.PolymorphicFunction, *, is_image: bool) -> "onnx.ModelProto":
    frozen = convert_variables_to_constants_v2(answer.get_concrete_function())
    given = [tensor.name for tensor in frozen.inputs]
    with stderr_aside():  # it tells of every step
        import onnx
        import tf2onnx

        try:
            model, _ = tf2onnx.convert.from_graph_def(
                frozen.graph.as_graph_def(),
                input_names=given,
                output_names=[out.name for out in frozen.outputs],
                inputs_as_nchw=given if is_image else None,
                opset=OPERATOR_SET,
            )
        except Exception as error:  # whatever it raises
            why = one_line(error)
        else:
            unknown = {node.op_type for node in model.graph.node if not onnx.defs.has(node.op_type, node.domain)}
            if not unknown:
                return model
            why = f"ONNX has no {', '.join(sorted(unknown))}"
    raise ConfigError(f"export.formats: onnx cannot be made of this network ({why}); take it out of the list")


def _order_nodes(graph: "onnx.GraphProto") -> None:
    """Put what a node takes before it, in the order in which it takes it: the converter orders branches by chance."""
    made = {name: place for place, node in enumerate(graph.node) for name in node.output}
    nodes, ordered, waiting = [*graph.node], dict[int, None](), list[int]()
    for output in graph.output:
        waiting.append(made[output.name])
        while waiting:
            place = waiting[-1]
            before = [made[name] for name in nodes[place].input if name in made and made[name] not in ordered]
            if place in ordered or not before:
                ordered.setdefault(waiting.pop())
            else:
                waiting.append(before[0])
    del graph.node[:]
    graph.node.extend(nodes[place] for place in ordered)


def _name_by_place(model: "onnx.ModelProto", given: str, outputs: Sequence[str]) -> None:
    """Name everything by its place in the graph, for the converter's own names differ from time to time."""
    graph = model.graph
    _order_nodes(graph)
    values = [*graph.input, *graph.output]
    names = dict(zip([value.name for value in values], [given, *outputs], strict=True))
    constants = {constant.name: constant for constant in graph.initializer}
    used = dict.fromkeys(name for node in graph.node for name in node.input if name in constants)
    names |= {name: f"constant_{place}" for place, name in enumerate(used)}
    for place, node in enumerate(graph.node):
        node.name = f"{node.op_type}_{place}"
        names |= {name: f"{node.name}_{row}" for row, name in enumerate(node.output) if name and name not in names}
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    for value in (*values, *constants.values()):
        value.name = names.get(value.name, value.name)
    for value in values:
        for place, size in enumerate(value.type.tensor_type.shape.dim):
            if size.dim_param:  # not known; the converter counts them in a process
                size.dim_param = f"{value.name}_{place}" if place else "n"
    in_order = [constants[name] for name in used]
    del graph.initializer[:], graph.value_info[:]
    graph.initializer.extend(in_order)
    graph.name, graph.doc_string = "network", ""
