"""The operations of a .tflite in the order in which they run, by the field numbers of TensorFlow Lite's schema.

[operation.name for operation in read_operations(data)]  # ["QUANTIZE", "CONV_2D", ...]
"""

import struct
from dataclasses import dataclass
from pathlib import Path

from bakeoff.export.flatbuffer import FlatTable
from bakeoff.export.tflite_metadata import MODEL_IDENTIFIER
from bakeoff.foundation.errors import DataError

# What stands for an operation in a file is its place here; "STABLEHLO_..." and later ones are no part of a released
# network, and go by their number.
NAMES = """
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR
FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM
MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS
SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND
TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT
LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL
LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW
ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV
REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS
SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG
ROUND HARD_SWISH IF WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM
BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS
HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE
ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU
""".split()
TYPES = (
    "float32", "float16", "int32", "uint8", "int64", "string", "bool", "int16", "complex64", "int8", "float64",
    "complex128", "uint64", "resource", "variant", "uint32", "uint16", "int4", "bfloat16",
)  # fmt: skip
CUSTOM = NAMES.index("CUSTOM")
OPERATOR_CODES, SUBGRAPHS, BUFFERS = 1, 2, 4  # of a model
TENSORS, INPUTS, OUTPUTS, OPERATORS = 0, 1, 2, 3  # of a subgraph
SHAPE, TYPE, BUFFER, NAME, SHAPE_SIGNATURE = 0, 1, 2, 3, 7  # of a tensor
CODE, TAKES, GIVES, OPTIONS = 0, 1, 2, 4  # of an operator
OLD_CODE, CUSTOM_CODE, NEW_CODE = 0, 1, 3  # of an operator's code
ABSENT = -1  # an input that is left out


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
    options: FlatTable  # empty, where an operation has none


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
    try:
        model = FlatTable.root(data)
        codes = [_name_operation(code) for code in model.tables(OPERATOR_CODES)]
        buffers = model.tables(BUFFERS)
        graph = model.tables(SUBGRAPHS)[0]
        tensors = [_read_tensor(tensor, buffers) for tensor in graph.tables(TENSORS)]

        def chosen(table: FlatTable, field: int) -> tuple[Tensor, ...]:
            return tuple(tensors[place] for place in table.integers(field) if place != ABSENT)

        operations = []
        for operator in graph.tables(OPERATORS):
            called, custom = codes[operator.number(CODE)]
            options = operator.table(OPTIONS) or FlatTable.empty()
            operations.append(Operation(called, custom, chosen(operator, TAKES), chosen(operator, GIVES), options))
        return LiteFile(tuple(operations), chosen(graph, INPUTS), chosen(graph, OUTPUTS))
    except (struct.error, IndexError, ValueError) as error:
        raise DataError(f"{name}: is damaged or cut off ({type(error).__name__}: {error})") from None


def _name_operation(code: FlatTable) -> tuple[str, bool]:
    number = max(code.number(OLD_CODE, "<b"), code.number(NEW_CODE, "<i"))
    if number == CUSTOM:
        return code.text(CUSTOM_CODE), True
    return (NAMES[number] if number < len(NAMES) else f"operation {number}"), False


def _read_tensor(tensor: FlatTable, buffers: list[FlatTable]) -> Tensor:
    number = tensor.number(TYPE, "<b")
    return Tensor(
        name=tensor.text(NAME),
        shape=tensor.integers(SHAPE),
        type=TYPES[number] if number < len(TYPES) else f"type {number}",
        constant=buffers[tensor.number(BUFFER)].bytes(0),
        dynamic=-1 in tensor.integers(SHAPE_SIGNATURE),
    )
