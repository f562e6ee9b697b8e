"""Tensors in files that torch.save has written, without torch: nothing in them is run.

Such a file is an archive: `data.pkl` says which tensors there are and in which member of `data/` their numbers stand.
`data.pkl` is a program for a stack machine, of which only what makes dicts, lists and tensors is understood here. What
else it names, such as a function of any module, is refused by that name.
"""

import math
import pickletools
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PROGRAM, BYTE_ORDER = "data.pkl", "byteorder"
OLD_START = bytes.fromhex("80028a0a6cfc9c46f9206aa850192e")  # of torch before 1.6
LARGEST_PROGRAM = 64 * 2**20  # bytes
BFLOAT16 = "BFloat16Storage"
KINDS = {
    "FloatStorage": "<f4", "HalfStorage": "<f2", "DoubleStorage": "<f8", "LongStorage": "<i8", "IntStorage": "<i4",
    "ShortStorage": "<i2", "CharStorage": "i1", "ByteStorage": "u1", "BoolStorage": "?", BFLOAT16: "<u2",
}  # fmt: skip
INERT = {  # numbers of NumPy beside the tensors; what they are stays unknown
    ("numpy.core.multiarray", "scalar"), ("numpy._core.multiarray", "scalar"), ("numpy", "dtype"),
    ("_codecs", "encode"),
}  # fmt: skip
WHOLES = ("model", "state_dict")  # keys under which programs keep all weights


class Name(NamedTuple):
    """What the program calls by its module and name."""

    module: str
    name: str


@dataclass(frozen=True)
class TorchStorage:
    kind: str
    key: str
    numbers: int


@dataclass(frozen=True)
class TorchTensor:
    storage: TorchStorage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def is_torch(archive: zipfile.ZipFile) -> bool:
    return any(name.endswith(f"/{PROGRAM}") for name in archive.namelist())


def read_tensors(path: Path) -> Mapping[str, tuple[tuple[int, ...], Callable[[], np.ndarray]]]:
    """Return shape and reader of each tensor by its name. Raises ValueError for what is not tensors alone."""
    with zipfile.ZipFile(path) as archive:
        [program] = [name for name in archive.namelist() if name.endswith(f"/{PROGRAM}")]
        prefix = program.removesuffix(PROGRAM)
        if archive.getinfo(program).file_size > LARGEST_PROGRAM:
            raise ValueError(f"{program} is larger than {LARGEST_PROGRAM // 2**20} MB")
        if f"{prefix}{BYTE_ORDER}" in archive.namelist() and archive.read(f"{prefix}{BYTE_ORDER}") != b"little":
            raise ValueError("its numbers have their bytes the other way round")
        tree = run(archive.read(program))
        sizes = {info.filename.removeprefix(f"{prefix}data/"): info.file_size for info in archive.infolist()}
    tensors = _named(tree)
    for name, tensor in tensors.items():
        _require_inside(name, tensor, sizes)
    return {
        name: (tensor.shape, lambda tensor=tensor: _read(path, f"{prefix}data/", tensor))  # type: ignore[misc]
        for name, tensor in tensors.items()
    }


def run(program: bytes) -> Any:
    """Return what the program leaves: dicts, lists, tuples, plain values and tensors."""
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[int, Any] = {}

    def above_mark() -> list[Any]:
        start = marks.pop()
        taken = stack[start:]
        del stack[start:]
        return taken

    argument: Any
    for operation, argument, _ in pickletools.genops(program):
        name = operation.name
        if name in ("PROTO", "FRAME"):
            continue
        if name == "STOP":
            break
        if name in PLAIN:
            stack.append(argument)
        elif name in CONSTANTS:
            stack.append(CONSTANTS[name]())
        elif name == "MARK":
            marks.append(len(stack))
        elif name == "GLOBAL":
            stack.append(Name(*argument.split(" ", 1)))
        elif name == "STACK_GLOBAL":
            last = stack.pop()
            stack.append(Name(stack.pop(), last))
        elif name in ("BINPUT", "LONG_BINPUT"):
            memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name == "TUPLE":
            stack.append(tuple(above_mark()))
        elif name in TUPLES:
            taken = [stack.pop() for _ in range(TUPLES[name])]
            stack.append(tuple(reversed(taken)))
        elif name == "APPEND":
            value = stack.pop()
            stack[-1].append(value)
        elif name == "APPENDS":
            values = above_mark()
            stack[-1].extend(values)
        elif name == "SETITEM":
            value, key = stack.pop(), stack.pop()
            stack[-1][key] = value
        elif name == "SETITEMS":
            items = above_mark()
            stack[-1].update(zip(items[::2], items[1::2], strict=True))
        elif name == "BUILD":  # attributes of a dict of weights, such as versions
            stack.pop()
        elif name == "BINPERSID":
            stack.append(_storage(stack.pop()))
        elif name == "REDUCE":
            arguments = stack.pop()
            stack.append(_called(stack.pop(), arguments))
        else:
            raise ValueError(f"its {PROGRAM} has {name}, which no file of tensors needs")
    return stack.pop()


PLAIN = frozenset(
    ("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINBYTES",
     "SHORT_BINBYTES", "BINSTRING", "SHORT_BINSTRING")
)  # fmt: skip
CONSTANTS: Mapping[str, Callable[[], Any]] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False, "EMPTY_DICT": dict, "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
}  # fmt: skip
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def _called(function: Any, arguments: tuple[Any, ...]) -> Any:
    if function == ("collections", "OrderedDict"):
        return dict(*arguments)
    if function == ("torch._utils", "_rebuild_tensor_v2"):
        storage, offset, shape, strides, *_ = arguments
        if not isinstance(storage, TorchStorage) or not all(isinstance(one, int) for one in (offset, *shape, *strides)):
            raise ValueError("a tensor of it is not described by numbers")
        return TorchTensor(storage, offset, tuple(shape), tuple(strides))
    if function == ("torch._utils", "_rebuild_parameter"):
        return arguments[0]
    if function in INERT:
        return None
    called = ".".join(function) if isinstance(function, Name) else str(function)
    raise ValueError(f"it calls {called}, which makes no tensor; take a file that holds a state_dict alone")


def _storage(described: Any) -> TorchStorage:
    word, kind, key, _, numbers = described
    if word != "storage" or not isinstance(kind, Name) or kind.module != "torch" or kind.name not in KINDS:
        raise ValueError(f"numbers of {kind} are not known")
    return TorchStorage(kind.name, str(key), int(numbers))


def _named(tree: Any) -> dict[str, TorchTensor]:
    whole = next((tree[key] for key in WHOLES if isinstance(tree, dict) and isinstance(tree.get(key), dict)), tree)
    if not isinstance(whole, dict):
        raise ValueError("it holds no dict of weights")
    named = {str(name): tensor for name, tensor in whole.items() if isinstance(tensor, TorchTensor)}
    if not named:
        raise ValueError("it holds no tensors by name")
    return named


def _require_inside(name: str, tensor: TorchTensor, sizes: Mapping[str, int]) -> None:
    storage, shape, strides = tensor.storage, tensor.shape, tensor.strides
    is_sound = len(shape) == len(strides) and min((*shape, *strides, tensor.offset, storage.numbers)) >= 0
    needed = tensor.offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) + 1 if is_sound else 0
    given = sizes.get(storage.key)
    if given != storage.numbers * np.dtype(KINDS[storage.kind]).itemsize:
        raise ValueError(f"of {name} there are {given or 0} bytes; the file is cut")
    numbers: int = math.prod(shape)
    if not is_sound or (numbers and (needed > storage.numbers or numbers > storage.numbers)):
        raise ValueError(f"{name} has a shape of more numbers than there are")


def _read(path: Path, folder: str, tensor: TorchTensor) -> np.ndarray:
    with zipfile.ZipFile(path) as archive:
        numbers = np.frombuffer(archive.read(f"{folder}{tensor.storage.key}"), KINDS[tensor.storage.kind])
    if tensor.storage.kind == BFLOAT16:
        numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
    steps = tuple(step * numbers.itemsize for step in tensor.strides)
    array = np.lib.stride_tricks.as_strided(numbers[tensor.offset :], tensor.shape, steps)
    return array.astype(np.float32) if array.dtype.kind == "f" else array.copy()
