"""Files as torch.save writes them, without torch: pickled names of its functions, and numbers beside them."""

import io
import pickle
import sys
import types
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

STORAGES = {"<f4": "FloatStorage", "<f2": "HalfStorage", "<i8": "LongStorage", "<f8": "DoubleStorage"}


class _Storage:
    def __init__(self, key: str, array: np.ndarray) -> None:
        self.key, self.array = key, array


class _Tensor:
    def __init__(self, storage: _Storage, array: np.ndarray, rebuild: Any) -> None:
        self._parts = (storage, array, rebuild)

    def __reduce__(self) -> tuple[Any, ...]:
        storage, array, rebuild = self._parts
        steps = tuple(step // array.itemsize for step in array.strides)
        return rebuild, (storage, 0, array.shape, steps, False, OrderedDict())


def _named(module: str, name: str) -> Any:
    """A function that pickle finds under this name as long as the module is there."""
    function = types.FunctionType((lambda: None).__code__, {}, name)
    function.__module__, function.__qualname__ = module, name
    sys.modules.setdefault(module, types.ModuleType(module))
    setattr(sys.modules[module], name, function)
    return function


def write_torch(
    path: Path,
    arrays: Mapping[str, np.ndarray],
    beside: Mapping[str, Any] | None = None,
    average: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Write `{"model": OrderedDict of tensors, …}`; `beside` are further values, `average` stands under `ema`."""
    before = {name: sys.modules.get(name) for name in ("torch", "torch._utils")}
    try:
        rebuild = _named("torch._utils", "_rebuild_tensor_v2")
        kinds = {code: _named("torch", name) for code, name in STORAGES.items()}
        numbers: dict[str, np.ndarray] = {}

        class Pickler(pickle.Pickler):
            def persistent_id(self, one: Any) -> Any:
                if isinstance(one, _Storage):
                    return ("storage", kinds[one.array.dtype.str], one.key, "cpu", one.array.size)
                return None

        def tensors_of(some: Mapping[str, np.ndarray]) -> "OrderedDict[str, _Tensor]":
            tensors = OrderedDict()
            for name, array in some.items():
                key = str(len(numbers))
                numbers[key] = array
                tensors[name] = _Tensor(_Storage(key, array), array, rebuild)
            return tensors

        whole = {"model": tensors_of(arrays), "start_epoch": 0, **(beside or {})}
        if average is not None:
            whole["ema"] = {"module": tensors_of(average), "updates": 7}
        program = io.BytesIO()
        Pickler(program, protocol=2).dump(whole)
    finally:
        for name, module in before.items():
            sys.modules.pop(name)
            sys.modules |= {name: module} if module else {}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", program.getvalue())
        archive.writestr("archive/byteorder", "little")
        for key, array in numbers.items():
            archive.writestr(f"archive/data/{key}", array.tobytes(order="A"))  # as it lies in memory


def change_member(path: Path, ending: str, change: Callable[[bytes], bytes]) -> None:
    """Write the archive anew, with another content of the member whose name ends so."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    [name] = [name for name in members if name.endswith(ending)]
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, change(content) if member == name else content)


def yolox_arrays(network: Any) -> dict[str, np.ndarray]:
    """Random weights for a network as YOLOX's own code names and turns them."""
    draw = np.random.default_rng(3)
    arrays: dict[str, np.ndarray] = {}
    names = {"gamma": "weight", "beta": "bias", "moving_mean": "running_mean", "moving_variance": "running_var"}
    for weight in network.weights:
        layer, _, variable = weight.path.rpartition("/")
        shape = tuple(weight.shape)
        if variable == "kernel":
            rows, columns, inputs, outputs = shape
            if layer.endswith("stem.conv.conv"):
                turned: tuple[int, ...] = (outputs, 12, rows // 2, columns // 2)
            elif ".dconv." in layer:
                turned = (inputs, 1, rows, columns)
            else:
                turned = (outputs, inputs, rows, columns)
            deviation = np.sqrt(2 / np.prod(turned[1:]))  # so that no layer makes its numbers larger
            arrays[f"{layer}.weight"] = draw.normal(0, deviation, turned).astype(np.float32)
        else:
            arrays[f"{layer}.{names.get(variable, variable)}"] = draw.uniform(0.5, 1, shape).astype(np.float32)
        if variable == "moving_variance":
            arrays[f"{layer}.num_batches_tracked"] = np.array([7], "<i8")
    return arrays
