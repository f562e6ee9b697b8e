"""Which operations Coral's Edge TPU takes: of files that export writes, and by each limit of the published list."""

import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import flatbuffers
import numpy as np
import pytest

from bakeoff.export.edge_tpu import EdgeTpu, check_edge_tpu, find_obstacle
from bakeoff.export.settings import Export
from bakeoff.export.tflite_metadata import MODEL_IDENTIFIER, ModelMetadata
from bakeoff.export.tflite_operations import (
    LiteFile,
    Operation,
    Tensor,
    load_schema,
    parse_lite_file,
    read_lite_file,
)
from bakeoff.export.upsample import enlarge_by_one_operation
from bakeoff.export.write_formats import write_files
from bakeoff.foundation.errors import DataError
from support.lite_files import CLASSES, MODELS, examples, opinionated
from support.messages import missing_in

pytestmark = pytest.mark.usefixtures("converts_here")

schema = load_schema()
SHUFFLED, NEW_AXIS = schema.FullyConnectedOptionsT(weightsFormat=1), schema.StridedSliceOptionsT(newAxisMask=1)


def tensor(*shape: int, kind: str = "int8", constant: bytes = b"", dynamic: bool = False) -> Tensor:
    return Tensor("t", shape, kind, constant, dynamic)


def constant(*numbers: int) -> Tensor:
    return tensor(len(numbers), kind="int32", constant=struct.pack(f"<{len(numbers)}i", *numbers))


def operation(name: str, *inputs: Tensor, to: Tensor | None = None, options: object = None) -> Operation:
    return Operation(name, False, inputs, (to or tensor(1, 4, 4, 8),), options)


IMAGE, KERNEL = tensor(1, 4, 4, 8), tensor(8, 3, 3, 8, constant=b"\1")
TAKEN = {
    "a convolution": operation("CONV_2D", IMAGE, KERNEL, constant(1)),
    "pixels as they are": operation("QUANTIZE", replace(IMAGE, type="uint8")),
    "zeros beside a map": operation("CONCATENATION", IMAGE, tensor(1, 4, 4, 8, constant=bytes(8))),
    "a mean over rows and columns": operation("MEAN", IMAGE, constant(1, 2)),
    "a mean over eight channels": operation("MEAN", IMAGE, constant(-1)),
    "a softmax of one row": operation("SOFTMAX", tensor(1, 1000)),
    "padding of rows": operation("PAD", IMAGE, constant(0, 0, 1, 1, 0, 0, 0, 0)),
    "a window": operation("STRIDED_SLICE", IMAGE, constant(0, 0), constant(1, 1), constant(1, 1)),
    "a pool": operation("MAX_POOL_2D", IMAGE),
    "a split of channels": operation("SPLIT", constant(3), IMAGE),
}
REFUSED = {
    "not on the list": operation("TILE", IMAGE),
    "custom operation": replace(operation("TFLite_Detection_PostProcess", IMAGE), custom=True),
    "computes with float32": operation("CONV_2D", replace(IMAGE, type="float32"), KERNEL),
    "has float32 weights": operation("CONV_2D", IMAGE, replace(KERNEL, type="float32")),
    "its size": operation("ADD", replace(IMAGE, dynamic=True), IMAGE),
    "more than three dimensions: 2 x 4 x 4 x 8": operation("RELU", tensor(2, 4, 4, 8)),
    "not constant": operation("CONV_2D", IMAGE, replace(KERNEL, constant=b"")),
    "dilation": operation("CONV_2D", IMAGE, KERNEL, options=schema.Conv2DOptionsT(dilationWFactor=2)),
    "activation": operation("AVERAGE_POOL_2D", IMAGE, options=schema.Pool2DOptionsT(fusedActivationFunction=1)),
    "must be zeros": operation("CONCATENATION", IMAGE, tensor(1, 4, 4, 8, constant=b"\1")),
    "beside one other": operation("CONCATENATION", IMAGE, IMAGE, tensor(1, 4, 4, 8, constant=bytes(8))),
    "default format": operation("FULLY_CONNECTED", IMAGE, KERNEL, options=SHUFFLED),
    "output": operation("FULLY_CONNECTED", IMAGE, KERNEL, to=tensor(2, 5)),
    "mean over 6 channels": operation("MEAN", tensor(1, 4, 4, 6), constant(3)),
    "batch's axis": operation("REDUCE_MAX", IMAGE, constant(0)),
    "slopes": operation("PRELU", IMAGE, tensor(4, 1, 8, constant=b"\1")),
    "of 1 x 9 x 3": operation("SOFTMAX", tensor(1, 9, 3)),
    "16,000 numbers": operation("SOFTMAX", tensor(1, 16_001)),
    "strides": operation("STRIDED_SLICE", IMAGE, constant(0), constant(1), constant(2)),
    "ellipsis": operation("STRIDED_SLICE", IMAGE, constant(0), constant(1), constant(1), options=NEW_AXIS),
}


@pytest.mark.parametrize("what", TAKEN)
def test_an_operation_within_the_limits_is_taken(what: str) -> None:
    assert find_obstacle(TAKEN[what]) == ""


@pytest.mark.parametrize("why", REFUSED)
def test_an_operation_beyond_a_limit_is_refused_with_the_reason(why: str) -> None:
    assert why in find_obstacle(REFUSED[why])


def test_what_needs_a_result_of_the_processor_runs_there_too_and_a_branch_beside_it_does_not() -> None:
    image, made, other, end = (tensor(1, 4, 4, 8) for _ in range(4))
    steps = (
        operation("RELU", image, to=made), operation("TILE", made, to=other), operation("ADD", other, made, to=end),
        operation("LOGISTIC", made),
    )  # fmt: skip
    report = check_edge_tpu(LiteFile(steps, (image,), (end,)))
    assert (report.mapped, report.on_cpu) == ((0, 3), (1, 2))
    assert missing_in(str(report), "2 of 4 operations", "TILE", "not on the list", "TILE, ADD") == []
    assert "all 1 operations" in str(EdgeTpu((0,), (), (), ("RELU",)))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("int8")
    network, task = opinionated("detection")

    def pixels() -> Iterator[list[np.ndarray]]:
        yield from ([image[None] / 127.5 - 1] for image in examples("detection", 2))

    list(write_files(
        network, MODELS["detection"], task, CLASSES, Export(formats=("int8",)),
        about=ModelMetadata("test"), representative=pixels, folder=folder,
    ))  # fmt: skip
    return folder / "model.tflite"


def test_of_a_detector_the_processor_computes_only_the_choice_among_boxes(written: Path) -> None:
    report = check_edge_tpu(read_lite_file(written)).as_json()
    assert report["on_cpu"] == {"DEQUANTIZE": 2, "TFLite_Detection_PostProcess": 1, "CAST": 2, "GATHER": 1}
    assert (report["operations"], report["mapped"]) == (44, 38)
    [reason] = report["reasons"]
    assert missing_in(reason, "DEQUANTIZE ", "not on the list") == []


def test_a_network_enlarges_the_same_by_one_operation_and_stays_as_it_is() -> None:
    network, _ = opinionated("detection")
    images = examples("detection", 2)
    before = network(images)
    with enlarge_by_one_operation(network):
        inside = network(images)
    after = network(images)
    for name in before:
        assert np.array_equal(before[name], inside[name]) and np.array_equal(before[name], after[name])


def test_a_damaged_file_is_refused_and_an_operation_of_tomorrow_goes_by_its_number(written: Path) -> None:
    with pytest.raises(DataError, match=r"no\.tflite: .*no TensorFlow Lite model.* b'none of '"):
        parse_lite_file(b"none of it is", "no.tflite")
    with pytest.raises(DataError, match=r"cut\.tflite: .*damaged.*\(error: unpack_from requires"):
        parse_lite_file(written.read_bytes()[:300], "cut.tflite")
    with pytest.raises(DataError, match=r"nowhere\.tflite: .*\(No such file"):
        read_lite_file(Path("nowhere.tflite"))
    code = schema.OperatorCodeT(deprecatedBuiltinCode=127, builtinCode=999)
    graph = schema.SubGraphT(tensors=[], operators=[schema.OperatorT()])
    builder = flatbuffers.Builder()
    model = schema.ModelT(operatorCodes=[code], subgraphs=[graph], buffers=[]).Pack(builder)
    builder.Finish(model, file_identifier=MODEL_IDENTIFIER)
    [reason] = check_edge_tpu(parse_lite_file(bytes(builder.Output()), "new.tflite")).reasons
    assert missing_in(reason, "999", "not on the list") == []
