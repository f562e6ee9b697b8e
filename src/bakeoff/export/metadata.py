"""What a .tflite says of itself: TensorFlow Lite's metadata, by the field numbers of its published schema (1.1.0).

Readers such as the Task Library find there how pixels become inputs, what each output is, and the file of labels.
"""

from collections.abc import Sequence

from bakeoff.export.flat_tables import Byte, Int32, Numbers, Table, finished
from bakeoff.export.lite_graph import DEVIATION, MEAN

IDENTIFIER, PARSER = b"M001", "1.0.0"
LABELS = "labels.txt"
AXIS_LABELS, VALUE_LABELS = 2, 3  # AssociatedFileType: a label for each number, or for each value
FEATURE, IMAGE, BOX = 1, 2, 3  # ContentProperties
NORMALIZATION = 1  # ProcessUnitOptions
RGB, BOUNDARIES = 1, 1
LEFT_TOP_RIGHT_BOTTOM = (1, 0, 3, 2)  # where they stand in ymin xmin ymax xmax


def metadata(name: str, description: str, outputs: Sequence[str], *, is_quantized: bool) -> bytes:
    """Outputs by our names, in their order in the file."""
    subgraph = Table({2: [_input(is_quantized)], 3: [_OUTPUTS[output] for output in outputs]})
    return finished(Table({0: name, 1: description, 3: [subgraph], 7: PARSER}), IDENTIFIER)


def _input(is_quantized: bool) -> Table:
    normalization = Table({0: [MEAN], 1: [DEVIATION]})
    lowest, highest = (0.0, 255.0) if is_quantized else (-1.0, 1.0)
    return Table(
        {
            0: "image",
            1: "RGB pixels, normalized by mean and deviation; unsigned bytes are pixels as they are",
            3: _content(IMAGE, Table({0: Byte(RGB)})),
            4: [Table({0: Byte(NORMALIZATION), 1: normalization})],
            5: Table({0: [highest], 1: [lowest]}),
        }
    )


def _output(name: str, said: str, content: Table, labels: int | None = None) -> Table:
    files = [Table({0: LABELS, 1: "one label a line", 2: Byte(labels)})] if labels else None
    return Table({0: name, 1: said, 3: content, 6: files})


def _content(kind: int, properties: Table, axis: int | None = None) -> Table:
    """`axis`: of which the numbers belong together."""
    return Table({0: Byte(kind), 1: properties, 2: axis and Table({0: Int32(axis), 1: Int32(axis)})})


_DETECTED = _content(FEATURE, Table(), axis=2)
_EDGES = Table({0: Numbers(LEFT_TOP_RIGHT_BOTTOM), 1: Byte(BOUNDARIES)})
_OUTPUTS = {
    "boxes": _output("location", "ymin xmin ymax xmax, shares of the image", _content(BOX, _EDGES, axis=2)),
    "classes": _output("category", "places in the list of labels, from 0", _DETECTED, VALUE_LABELS),
    "scores": _output("score", "0 to 1", _DETECTED),
    "count": _output("number of detections", "how many rows of the others hold", _content(FEATURE, Table())),
    "probabilities": _output("probability", "of each label", _content(FEATURE, Table()), AXIS_LABELS),
    "label_scores": _output("score", "of each label by itself", _content(FEATURE, Table()), AXIS_LABELS),
}
