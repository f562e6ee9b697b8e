"""A converted .tflite with its outputs in order, its metadata and its labels: one file that needs no other.

The labels are a zip archive behind the model, where TensorFlow Lite's readers look for them; `unzip -p` shows them too.
"""

import io
import zipfile
from collections.abc import Mapping, Sequence

import flatbuffers
from tensorflow.lite.python import schema_py_generated as schema

METADATA, MODEL_IDENTIFIER = "TFLITE_METADATA", b"TFL3"
NO_DATE = (1980, 1, 1, 0, 0, 0)  # the same bytes whenever they are packed


def packed(converted: bytes, outputs: Sequence[str], metadata: bytes, files: Mapping[str, str]) -> bytes:
    """`files`: the texts that go with it."""
    model = schema.ModelT.InitFromPackedBuf(converted)
    _order_outputs(model, outputs)
    model.buffers.append(schema.BufferT(data=list(metadata)))
    model.metadata = [*(model.metadata or []), schema.MetadataT(METADATA, len(model.buffers) - 1)]
    builder = flatbuffers.Builder(len(converted) + len(metadata) + 1024)
    builder.Finish(model.Pack(builder), file_identifier=MODEL_IDENTIFIER)
    file = io.BytesIO(bytes(builder.Output()))
    with zipfile.ZipFile(file, "a") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, NO_DATE), text)
    return file.getvalue()


def _order_outputs(model: "schema.ModelT", outputs: Sequence[str]) -> None:
    """As listed: controllers go by places, and the converter has an order of its own. Their tensors get our names."""
    [graph], [signature] = model.subgraphs, model.signatureDefs
    places = {_text(output.name): output.tensorIndex for output in signature.outputs}
    graph.outputs = [places[name] for name in outputs]
    for name in outputs:
        graph.tensors[places[name]].name = name
    graph.tensors[graph.inputs[0]].name = "image"


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
