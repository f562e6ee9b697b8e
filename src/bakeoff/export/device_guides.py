"""What to do with the exported files on each device of `export.device`, as README.md beside them says it.

Each line of a device comes from its `sources`; docs/robot.md says more of it. None of it was done on a device.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bakeoff.export.devices import DeviceName


@dataclass(frozen=True)
class Guide:
    title: str
    outputs: str  # what the device expects of a detector
    labels: str  # where it has the labels from
    steps: tuple[str, ...]  # FILE stands for the file's name, SIZE for its input's side
    sources: tuple[str, ...]


PHOTON = "https://github.com/PhotonVision/photonvision/blob/main/docs/source/docs/objectDetection"
PHOTON_STEPS = (
    "In PhotonVision's page, choose Settings, Object Detection, Bulk Import, and upload `photonvision.zip`.",
    "The model, its labels and its properties are in it. PhotonVision forgets what it knew of other models of yours.",
    "Upload those again afterwards.",
    "In the pipeline choose the type Object Detection, and the model.",
)
LIMELIGHT = "https://docs.limelightvision.io/docs/docs-limelight"
FTC = "https://ftc-docs.firstinspires.org/projects/ftcdocs-archive/en/latest/TensorFlow"
LUXONIS = "https://docs.luxonis.com/software-v3/ai-inference/conversion"

HAILO_STEPS = (
    "Hailo gives its Dataflow Compiler 3.x to those who register. Install it on a computer with Linux.",
    "There: `python hailo/compile.py`. It reads FILE and the folder `hailo`, and makes `hailo/model.hef`.",
    "Copy `model.hef` to the Raspberry Pi, where HailoRT runs it. Give it pixels as they are, SIZE x SIZE, RGB.",
    "If `hailo/plan.json` has `nms`, HailoRT gives boxes and scores. If not, `hailo/postprocess.json` says how.",
)
HAILO_ZOO = "https://github.com/hailo-ai/hailo_model_zoo/tree/v2.18"
HAILO_SOURCES = (HAILO_ZOO, "https://github.com/hailo-ai/hailort", "docs/hailo.md")
HAILO_OUTPUTS = "the last convolutions of its heads, for each level the boxes' and the classes'"
HAILO_LABELS = "labels.txt, one label a line; the file has only their numbers"

GUIDES: Mapping[DeviceName, Guide] = {
    "photonvision_rk3588": Guide(
        "PhotonVision on an Orange Pi 5 (RK3588)",
        "for each of three strides the logits of four distances, the scores, and their sum, as int8",
        "the archive, which lists them",
        PHOTON_STEPS,
        (f"{PHOTON}/opi.md", f"{PHOTON}/about-object-detection.md", "https://github.com/PhotonVision/rknn_jni"),
    ),
    "photonvision_rubik": Guide(
        "PhotonVision on a Rubik Pi 3 (QCS6490)",
        "boxes (1, points, 4) x1 y1 x2 y2 in pixels, scores (1, points) and classes (1, points), all uint8",
        "the archive, which lists them",
        PHOTON_STEPS,
        (f"{PHOTON}/rubik.md", "https://github.com/PhotonVision/rubik_jni"),
    ),
    "limelight_coral": Guide(
        "Limelight with a Coral Edge TPU, or a Limelight 3A without one",
        "the four outputs of TFLite_Detection_PostProcess",
        "labels.txt, one label a line",
        (
            "With a Coral: `edgetpu_compiler FILE` of Google makes the last file.",
            "In a Neural Detector pipeline, upload what the compiler made, and labels.txt.",
            "A Limelight 3A has no Coral: upload FILE itself, and set the runtime engine to cpu.",
        ),
        (f"{LIMELIGHT}/pipeline-neural/training-your-own-detector", "https://coral.ai/docs/edgetpu/compiler/"),
    ),
    "oak": Guide(
        "OAK camera of Luxonis",
        "boxes and scores of every candidate; the program on the host chooses among them",
        "in the metadata of the file, and labels.txt",
        (
            "Convert FILE with Luxonis' ModelConverter or HubAI for the camera's platform, RVC2 or RVC4.",
            "Tell it mean 127.5 and scale 127.5 for each channel, RGB, and an input of 1 x 3 x SIZE x SIZE.",
        ),
        (LUXONIS, "https://github.com/luxonis/modelconverter"),
    ),
    "hailo8l": Guide(
        "Raspberry Pi with a Hailo-8L (AI Kit, AI HAT+ of 13 TOPS)",
        HAILO_OUTPUTS,
        HAILO_LABELS,
        HAILO_STEPS,
        HAILO_SOURCES,
    ),
    "hailo8": Guide(
        "Raspberry Pi with a Hailo-8 (AI HAT+ of 26 TOPS)",
        HAILO_OUTPUTS,
        HAILO_LABELS,
        HAILO_STEPS,
        HAILO_SOURCES,
    ),
    "raspberry_pi": Guide(
        "Raspberry Pi, or any computer with LiteRT or ONNX Runtime",
        "those that the table above names",
        "inside the files; labels.txt has them, too",
        (
            "There: `pip install './bakeoff[robot]'` in a virtual environment, with a copy of the repository.",
            "Here: `bakeoff measure FILE --on ssh://pi@ADDRESS` times FILE there and compares its answers.",
        ),
        ("docs/robot.md",),
    ),
    "ftc_sdk": Guide(
        "FTC SDK up to 9.2 (Control Hub or phone)",
        "the four outputs of TFLite_Detection_PostProcess",
        "inside the file, where TensorFlow Lite's readers look for them",
        (
            "On the Robot Controller's Manage page choose Select TensorflowLite Model File, and upload FILE.",
            "Build the TfodProcessor with `setModelFileName`, `setModelLabels` and `setModelInputSize` (SIZE).",
            "The SDK lost TensorFlow after the season of 2023-2024. Later ones get detections from a Limelight.",
        ),
        (f"{FTC}/index.html", f"{FTC}/java_tfod_opmode_custom/java-tfod-opmode-custom.html"),
    ),
}
