"""The machines that `export.device` names, and what each takes; docs/robot.md has the source of every line.

export/guides.py says where the files go on them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bakeoff.export.head_maps import HEADS
from bakeoff.learning.networks.letterbox import LETTERBOX
from bakeoff.learning.networks.network import Fit

DeviceName = Literal[
    "photonvision_rk3588", "photonvision_rubik", "limelight_coral", "oak", "raspberry_pi", "ftc_sdk",
    "hailo8l", "hailo8",
]  # fmt: skip
Layout = Literal[
    "detections", "yolov8", "yolov8_corners", "yolov8_levels", "heads"
]  # how a detector's outputs are arranged
LITE = ("int8", "dynamic", "float16", "float32")
OWN_LAYOUT: Layout = "detections"  # that of a network which states nothing
DETECTION, CLASSIFICATION, VIDEO = "detection", "classification", "video"


@dataclass(frozen=True)
class Device:
    formats: tuple[str, ...]  # of `export.formats`; one of them must be asked for
    layouts: tuple[Layout, ...] = (OWN_LAYOUT,)  # one of them must be that of `export.layout`
    sizes: tuple[int, ...] = ()  # pixels of the input's side; nothing: any
    tasks: tuple[str, ...] = (DETECTION,)
    outputs: str = "the four outputs of TFLite_Detection_PostProcess"  # that it expects of a detector's .tflite
    output_ranks: tuple[int, ...] = (3, 2, 2, 1)  # how many axes each of those has
    is_edge_tpu: bool = False  # operations are checked against Coral's list
    is_hailo: bool = False  # likewise against Hailo's, and what its compiler needs is written
    fit: Fit | None = None  # how a frame gets into the network's square; None: its user decides, or nobody knows

    def takes_kind(self, network: Any) -> bool:
        """`network`: settings, or their class."""
        is_detector = network.task == DETECTION
        return network.task in self.tasks and (not is_detector or bool(set(self.layouts) & set(layouts_of(network))))

    def find_obstacle(self, network: Any) -> str:
        """Return why this device cannot run a network with these settings; empty: it can."""
        if network.task not in self.tasks:
            return f"takes networks for {' or '.join(self.tasks)} only, and this one is for {network.task}"
        sides = " or ".join(f"{size} x {size}" for size in self.sizes)
        if not self.takes_kind(network):
            where = f" at {sides} pixels" if sides else ""
            maker = "this program" if OWN_LAYOUT in self.layouts else "YOLOv8"
            return f"takes only networks with the output layout of {maker}{where}"
        if self.sizes and network.input_size not in self.sizes:
            return f"takes inputs of {sides} pixels, model.input_size is {network.input_size}"
        return ""


def layouts_of(network: Any) -> tuple[Layout, ...]:
    """Return the output layouts that a detector can be exported in, by its `layouts`."""
    layouts: tuple[Layout, ...] = getattr(network, "layouts", (OWN_LAYOUT,))
    has_maps = network.task == DETECTION and getattr(network, "answers_in_maps", True)
    return (*layouts, HEADS) if has_maps else layouts


DEVICES: Mapping[DeviceName, Device] = {
    "photonvision_rk3588": Device(("rknn",), layouts=("yolov8_levels",), sizes=(640,), fit=LETTERBOX),
    "photonvision_rubik": Device(
        ("int8",),
        layouts=("yolov8_corners",),
        sizes=(640,),
        output_ranks=(3, 2, 2),
        outputs="boxes (1, points, 4), scores (1, points) and classes (1, points) as uint8",
        fit=LETTERBOX,
    ),
    "limelight_coral": Device(("int8",), is_edge_tpu=True),
    "oak": Device(("onnx",), tasks=(DETECTION, CLASSIFICATION), layouts=(OWN_LAYOUT, "yolov8")),
    "raspberry_pi": Device(
        (*LITE, "onnx"),
        tasks=(DETECTION, CLASSIFICATION, VIDEO),
        layouts=(OWN_LAYOUT, "yolov8"),
    ),
    "ftc_sdk": Device(LITE),
    "hailo8l": Device(("onnx",), layouts=(HEADS,), is_hailo=True),
    "hailo8": Device(("onnx",), layouts=(HEADS,), is_hailo=True),
}


def nearest_device(network: Any) -> DeviceName:
    """Return the first device that can run a network with these settings; a Raspberry Pi runs every one."""
    return next(name for name, device in DEVICES.items() if not device.find_obstacle(network))
