"""A model file and a device of `export.device` -> whether the device takes the file, as far as the file shows it."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bakeoff.export.devices import DETECTION, DEVICES, LITE, OWN_LAYOUT, Device, DeviceName
from bakeoff.export.edge_tpu import check_edge_tpu
from bakeoff.export.hailo_operations import check_hailo
from bakeoff.export.onnx_run import SUFFIX as ONNX_SUFFIX
from bakeoff.export.onnx_run import OnnxModel
from bakeoff.export.photonvision import BACKENDS, unpacked
from bakeoff.export.tflite_metadata import LABELS, read_metadata
from bakeoff.export.tflite_operations import LiteFile, Tensor, read_lite_file
from bakeoff.foundation.errors import DataError, one_line
from bakeoff.foundation.formatting import format_count

LITE_SUFFIX, RKNN_SUFFIX, ARCHIVE_SUFFIX = ".tflite", ".rknn", ".zip"
SUFFIXES = {**dict.fromkeys(LITE, LITE_SUFFIX), "onnx": ONNX_SUFFIX, "rknn": RKNN_SUFFIX}
BYTES = ("uint8", "int8")


def check_file(path: Path, name: DeviceName) -> Iterator[str]:
    """Yield what is known of the file; refuse one that the device does not take, or with other labels beside it."""
    device = DEVICES[name]
    if path.suffix == ARCHIVE_SUFFIX and name in BACKENDS:
        with unpacked(path, name) as (inside, labels):
            yield f"holds {inside.name}, listed with {format_count(len(labels), 'label')}"
            beside = path.with_name(LABELS)
            if beside.is_file():
                _compare_labels(beside, path.name, labels)
            if inside.suffix == LITE_SUFFIX:
                _compare_labels(path, inside.name, read_metadata(inside).labels, labels)
            yield from check_file(inside, name)
        return
    suffixes = dict.fromkeys(SUFFIXES[form] for form in device.formats)
    if path.suffix not in suffixes:
        raise DataError(f"{path}: {name} takes {' or '.join(suffixes)}, got {path.suffix or 'a name without an end'}")
    if path.suffix == LITE_SUFFIX:
        file = read_lite_file(path)
        _check_lite(path, name, device, file)
        _check_labels(path, lambda: read_metadata(path).labels)
        yield f"takes {_show(file.inputs)}, gives {_show(file.outputs)}"
        if device.is_edge_tpu:
            yield str(check_edge_tpu(file))
    elif path.suffix == ONNX_SUFFIX:
        model = OnnxModel(path)
        if model.task not in device.tasks:
            raise DataError(f"{path}: {name} takes networks for {' or '.join(device.tasks)}, this is for {model.task}")
        _check_labels(path, lambda: model.labels)
        layout = model.layout or OWN_LAYOUT
        if layout not in device.layouts and model.task == DETECTION:
            rule = f"{name} takes the layout {' or '.join(device.layouts)}, this file has {layout}"
            raise DataError(f"{path}: {rule}; export it for {name}")
        yield f"takes float32 {' x '.join(map(str, model.shape))}, for {model.task}"
        if device.is_hailo:
            yield check_hailo(path)
    else:
        yield "no program here can look into this file; export.json has what its simulator answered"


def _check_lite(path: Path, name: DeviceName, device: Device, file: LiteFile) -> None:
    [given, *others] = file.inputs
    if others or len(given.shape) < 4 or given.shape[-1] != 3:
        raise DataError(f"{path}: {name} takes one image, this file takes {_show(file.inputs)}")
    if device.formats == ("int8",) and given.type not in BYTES:
        raise DataError(
            f"{path}: {name} takes files in whole numbers of 8 bits, this one takes {given.type}; export int8"
        )
    if device.sizes and given.shape[-2] not in device.sizes:
        sides = " or ".join(f"{size} x {size}" for size in device.sizes)
        raise DataError(f"{path}: {name} takes inputs of {sides} pixels, this file takes {_show([given])}")
    if device.tasks == (DETECTION,) and [len(tensor.shape) for tensor in file.outputs] != list(device.output_ranks):
        raise DataError(f"{path}: {name} takes {device.outputs}, this file gives {_show(file.outputs)}")


def _check_labels(path: Path, read: Callable[[], Sequence[str]]) -> None:
    """Devices that want labels beside the file get those that lie there; a file alone may have none."""
    beside = path.with_name(LABELS)
    if beside.is_file():
        _compare_labels(beside, path.name, read())


def _compare_labels(file: Path, name: str, labels: Sequence[str], listed: Sequence[str] | None = None) -> None:
    """Refuse a file that lists other labels than the model with this name has; without `listed`, its lines."""
    try:
        others = file.read_text(encoding="utf-8").splitlines() if listed is None else listed
    except (OSError, UnicodeError) as error:
        raise DataError(f"{file}: cannot be read ({one_line(error)})") from None
    for line in range(max(len(labels), len(others))):
        own, other = (classes[line] if line < len(classes) else "nothing" for classes in (labels, others))
        if own != other:
            what, remedy = ("line", LABELS) if listed is None else ("label", "archive")
            rule = f"{what} {line + 1} has {other!r} where {name} has {own!r}"
            raise DataError(f"{file}: {rule}; give the device the {remedy} that was exported with the file")


def _show(tensors: Sequence[Tensor]) -> str:
    return ", ".join(f"{tensor.type} {' x '.join(map(str, tensor.shape))}" for tensor in tensors)
