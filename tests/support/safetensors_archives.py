"""Files of safetensors, without their library: the length of a header, the header in JSON, numbers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

KINDS = {"float32": "F32", "float16": "F16", "float64": "F64", "int64": "I64", "uint8": "U8", "bool": "BOOL"}


def packed(header: Any, numbers: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + numbers


def entry(begin: int, end: int, shape: list[Any], kind: str = "F32") -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}


def write_safetensors(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    numbers = b""
    for name, array in arrays.items():
        data = array.tobytes()
        header[name] = entry(len(numbers), len(numbers) + len(data), list(array.shape), KINDS[str(array.dtype)])
        numbers += data
    path.write_bytes(packed(header, numbers))
