"""The operations of a .tflite in the order in which they run, by TensorFlow Lite's own generated schema.

[operation.name for operation in read_lite_file(path).operations]  # ["QUANTIZE", "CONV_2D", ...]
"""

import struct
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from bakeoff.export.tflite_metadata import MODEL_IDENTIFIER
from bakeoff.foundation.errors import DataError, WorkspaceError

SCHEMAS = {"tensorflow": "lite/python/schema_py_generated.py", "ai_edge_litert": "schema_py_generated.py"}
ABSENT = -1  # an input that is left out


@cache
def load_schema() -> ModuleType:
    """Load the schema's module alone: the package around it takes seconds, and reading a file needs nothing of it."""
    for package, file in SCHEMAS.items():
        found = find_spec(package)
        for folder in (found and found.submodule_search_locations) or ():
            spec = spec_from_file_location("tflite_schema", Path(folder, file))
            assert spec and spec.loader
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise WorkspaceError("reading a .tflite needs LiteRT, which is not installed; run `pip install ai-edge-litert`")


@dataclass(frozen=True)
class Tensor:
    name: str
    shape: tuple[int, ...]
    type: str  # "int8"
    constant: bytes  # empty: its values are not in the file
    dynamic: bool  # whether a side of it is known only as the file runs

    def integers(self) -> tuple[int, ...]:
        """Return the values of an int32 constant."""
        return struct.unpack(f"<{len(self.constant) // 4}i", self.constant)


@dataclass(frozen=True)
class Operation:
    name: str  # "CONV_2D", or that of a custom operation
    custom: bool
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    options: object  # of the schema's class for the operation; None where it has none


@dataclass(frozen=True)
class LiteFile:
    operations: tuple[Operation, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


def read_lite_file(path: Path) -> LiteFile:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    return parse_lite_file(data, path.as_posix())


def parse_lite_file(data: bytes, name: str) -> LiteFile:
    """`name` is for the message about bytes that are no model."""
    if data[4:8] != MODEL_IDENTIFIER:
        raise DataError(f"{name}: is no TensorFlow Lite model, it begins with {data[:8]!r}")
    schema = load_schema()
    try:
        model = schema.ModelT.InitFromPackedBuf(data)
        codes = [_name_operation(code) for code in model.operatorCodes]
        graph = model.subgraphs[0]
        tensors = [_read_tensor(tensor, model.buffers) for tensor in graph.tensors]

        def chosen(places: Any) -> tuple[Tensor, ...]:
            return tuple(tensors[place] for place in _list(places) if place != ABSENT)

        operations = []
        for one in graph.operators:
            called, custom = codes[one.opcodeIndex]
            operations.append(Operation(called, custom, chosen(one.inputs), chosen(one.outputs), one.builtinOptions))
        return LiteFile(tuple(operations), chosen(graph.inputs), chosen(graph.outputs))
    except (struct.error, IndexError, TypeError, ValueError) as error:
        raise DataError(f"{name}: is damaged or cut off ({type(error).__name__}: {error})") from None


def _name_operation(code: Any) -> tuple[str, bool]:
    number, operator = max(code.deprecatedBuiltinCode, code.builtinCode), load_schema().BuiltinOperator
    if number == operator.CUSTOM:
        return (code.customCode or b"").decode("utf-8", "replace"), True
    return _name(operator, number) or f"operation {number}", False


def _read_tensor(tensor: Any, buffers: Any) -> Tensor:
    data = buffers[tensor.buffer].data
    return Tensor(
        name=(tensor.name or b"").decode("utf-8", "replace"),
        shape=tuple(_list(tensor.shape)),
        type=_name(load_schema().TensorType, tensor.type).lower() or f"type {tensor.type}",
        constant=b"" if data is None else data.tobytes(),
        dynamic=ABSENT in _list(tensor.shapeSignature),
    )


def _name(enumeration: type, number: int) -> str:
    return next((name for name, value in vars(enumeration).items() if value == number), "")


def _list(vector: Any) -> list[int]:
    """Return the numbers of an array; none of one that is left out of the file."""
    return [] if vector is None else vector.tolist()
