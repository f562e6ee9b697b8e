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

from bakeoff.learning.pretrained.stored import WrongTensors

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
    """Return shape and reader of each tensor by its name. Raises WrongTensors for what is not tensors alone."""
    with zipfile.ZipFile(path) as archive:
        [program] = [name for name in archive.namelist() if name.endswith(f"/{PROGRAM}")]
        prefix = program.removesuffix(PROGRAM)
        if archive.getinfo(program).file_size > LARGEST_PROGRAM:
            raise WrongTensors(f"{program} is larger than {LARGEST_PROGRAM // 2**20} MB")
        if f"{prefix}{BYTE_ORDER}" in archive.namelist() and archive.read(f"{prefix}{BYTE_ORDER}") != b"little":
            raise WrongTensors("its numbers have their bytes the other way round")
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
    machine = _Machine()
    for operation, argument, _ in pickletools.genops(program):
        if operation.name == "STOP":
            break
        machine.take(operation.name, argument)
    return machine.stack.pop()


class _Machine:
    """The stack machine of pickle, of which it knows what tensors need."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}

    def take(self, name: str, argument: Any) -> None:
        if name in PLAIN:
            self.stack.append(argument)
        elif name in CONSTANTS:
            self.stack.append(CONSTANTS[name]())
        elif name in TUPLES:
            taken = [self.stack.pop() for _ in range(TUPLES[name])]
            self.stack.append(tuple(reversed(taken)))
        elif name in ("BINPUT", "LONG_BINPUT", "MEMOIZE"):
            self._memo[len(self._memo) if argument is None else argument] = self.stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            self.stack.append(self._memo[argument])
        elif name == "MARK":
            self._marks.append(len(self.stack))
        elif name in ("TUPLE", "APPENDS", "SETITEMS"):
            self._collect(name, self._above_mark())
        elif name in ("GLOBAL", "STACK_GLOBAL", "BINPERSID", "REDUCE", "BUILD", "APPEND", "SETITEM"):
            self._combine(name, argument)
        elif name not in ("PROTO", "FRAME"):
            raise WrongTensors(f"its {PROGRAM} has {name}, which no file of tensors needs")

    def _above_mark(self) -> list[Any]:
        start = self._marks.pop()
        taken = self.stack[start:]
        del self.stack[start:]
        return taken

    def _collect(self, name: str, values: list[Any]) -> None:
        if name == "TUPLE":
            self.stack.append(tuple(values))
        elif name == "APPENDS":
            self.stack[-1].extend(values)
        else:
            self.stack[-1].update(zip(values[::2], values[1::2], strict=True))

    def _combine(self, name: str, argument: Any) -> None:
        if name == "GLOBAL":
            self.stack.append(Name(*argument.split(" ", 1)))
            return
        last = self.stack.pop()
        if name == "STACK_GLOBAL":
            self.stack.append(Name(self.stack.pop(), last))
        elif name == "BINPERSID":
            self.stack.append(_storage(last))
        elif name == "REDUCE":
            self.stack.append(_called(self.stack.pop(), last))
        elif name == "APPEND":
            self.stack[-1].append(last)
        elif name == "SETITEM":
            key = self.stack.pop()
            self.stack[-1][key] = last
        # BUILD gives attributes to a dict of weights, such as versions: they are left out.


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
            raise WrongTensors("a tensor of it is not described by numbers")
        return TorchTensor(storage, offset, tuple(shape), tuple(strides))
    if function == ("torch._utils", "_rebuild_parameter"):
        return arguments[0]
    if function in INERT:
        return None
    called = ".".join(function) if isinstance(function, Name) else str(function)
    raise WrongTensors(f"it calls {called}, which makes no tensor; take a file that holds a state_dict alone")


def _storage(described: Any) -> TorchStorage:
    word, kind, key, _, numbers = described
    if word != "storage" or not isinstance(kind, Name) or kind.module != "torch" or kind.name not in KINDS:
        raise WrongTensors(f"numbers of {kind} are not known")
    return TorchStorage(kind.name, str(key), int(numbers))


def _named(tree: Any) -> dict[str, TorchTensor]:
    average = tree.get("ema") if isinstance(tree, dict) else None
    if isinstance(average, dict) and isinstance(average.get("module"), dict):  # what programs of D-FINE answer with
        tree = {WHOLES[0]: average["module"]}
    whole = next((tree[key] for key in WHOLES if isinstance(tree, dict) and isinstance(tree.get(key), dict)), tree)
    if not isinstance(whole, dict):
        raise WrongTensors("it holds no dict of weights")
    named = {str(name): tensor for name, tensor in whole.items() if isinstance(tensor, TorchTensor)}
    if not named:
        raise WrongTensors("it holds no tensors by name")
    return named


def _require_inside(name: str, tensor: TorchTensor, sizes: Mapping[str, int]) -> None:
    storage, shape, strides = tensor.storage, tensor.shape, tensor.strides
    is_sound = len(shape) == len(strides) and min((*shape, *strides, tensor.offset, storage.numbers)) >= 0
    needed = tensor.offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) + 1 if is_sound else 0
    given = sizes.get(storage.key)
    if given != storage.numbers * np.dtype(KINDS[storage.kind]).itemsize:
        raise WrongTensors(f"of {name} there are {given or 0} bytes; the file is cut")
    numbers: int = math.prod(shape)
    if not is_sound or (numbers and (needed > storage.numbers or numbers > storage.numbers)):
        raise WrongTensors(f"{name} has a shape of more numbers than there are")


def _read(path: Path, folder: str, tensor: TorchTensor) -> np.ndarray:
    with zipfile.ZipFile(path) as archive:
        numbers = np.frombuffer(archive.read(f"{folder}{tensor.storage.key}"), KINDS[tensor.storage.kind])
    if tensor.storage.kind == BFLOAT16:
        numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
    steps = tuple(step * numbers.itemsize for step in tensor.strides)
    array = np.lib.stride_tricks.as_strided(numbers[tensor.offset :], tensor.shape, steps)
    return array.astype(np.float32) if array.dtype.kind == "f" else array.copy()
