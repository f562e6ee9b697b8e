"""`conf/export/`: which files are made of a trained network, and for which device."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from bakeoff.export.devices import DEVICES, OWN_LAYOUT, DeviceName, Layout
from bakeoff.export.head_maps import HEADS
from bakeoff.foundation.errors import require, require_at_most, require_between
from bakeoff.foundation.files import read_json, require_all_whole
from bakeoff.learning.networks.network import Fit

Format = Literal["saved_model", "float32", "float16", "dynamic", "int8", "onnx", "rknn"]
SAVED_MODEL: Format = "saved_model"
ONNX: Format = "onnx"
INT8: Format = "int8"
RKNN: Format = "rknn"
MAIN, ONNX_FILE, RKNN_FILE = "model.tflite", "model.onnx", "model.rknn"
REPORT, DIGESTS = "export.json", "sha256"  # beside the exported files; in it the SHA-256 of each, by its name there
SAFE_THREADS = 16  # with more TensorFlow Lite loses a class where each is suppressed by itself: see tflite_build.py


@dataclass(frozen=True)
class Export:
    weights: Literal["best", "final"] = "best"
    formats: tuple[Format, ...] = ("saved_model",)  # the first of TensorFlow Lite's is model.tflite
    device: DeviceName | None = None  # that the files are for; the network and the formats must fit it
    layout: Layout = "detections"  # of a detector's outputs in .tflite and .onnx; the others give every point
    max_detections: int = 10  # of an image, in a .tflite; robot controllers expect 10
    per_class_suppression: bool = True  # in a .tflite, as in evaluation; false: a box hides those of other classes, too
    representative_examples: int = 100  # of the training split, from which int8 learns the ranges of values
    ranges: Literal["extremes", "means"] = "extremes"  # that each map of an int8 file gets from them
    sample: int = 200  # validation examples on which files are compared with the network; 0: all
    max_drop: float = 0.05  # of the headline metric; a file that loses more fails the stage
    latency_calls: int = 20
    threads: int = 1  # of the calls that are timed
    num_steps: bool = False  # in pipeline.config: the run's length as a field, not as a comment
    count_background: bool = False  # in pipeline.config: num_classes is one more than labels

    def __post_init__(self) -> None:
        known = ", ".join(get_args(Format))
        different = bool(self.formats) and len(set(self.formats)) == len(self.formats)
        require(different, "formats", list(self.formats), f"one or more of {known}, each once")
        needed = DEVICES[self.device].formats if self.device else self.formats
        rule = f"a list with {' or '.join(needed)}, which device {self.device} takes"
        require(bool(set(needed) & set(self.formats)), "formats", list(self.formats), rule)
        fits = self.layout == OWN_LAYOUT or set(self.formats) != {SAVED_MODEL}
        require(fits, "layout", self.layout, f"{OWN_LAYOUT} for a SavedModel alone; add onnx or a .tflite to formats")
        is_cut = self.layout == HEADS and not set(self.formats) <= {SAVED_MODEL, ONNX}
        require(not is_cut, "formats", list(self.formats), f"{SAVED_MODEL} and {ONNX} alone with layout {HEADS}")
        require_between(self, max_detections=(1, 1000), max_drop=(0, 1), latency_calls=(1, 10_000), threads=(1, 256))
        examples = self.representative_examples
        require(1 <= examples <= 100_000, "representative_examples", examples, "between 1 and 100,000")
        require(self.sample >= 0, "sample", self.sample, "0 or more")
        require_at_most(self, sample=10**9)
        loses = self.per_class_suppression and self.threads > SAFE_THREADS
        rule = f"at most {SAFE_THREADS} with per_class_suppression, for there TensorFlow Lite loses a class with more"
        require(not loses, "threads", self.threads, rule)

    @property
    def files(self) -> dict[Format, str]:
        """Return the name below models/export of each format."""
        lite = self.lite_formats
        names: dict[Format, str] = {name: MAIN if name == lite[0] else f"model_{name}.tflite" for name in lite}
        names |= {SAVED_MODEL: SAVED_MODEL, ONNX: ONNX_FILE, RKNN: RKNN_FILE}
        return {name: names[name] for name in self.formats}

    @property
    def needs_eight_bits(self) -> bool:
        """Tell whether int8 is made of the network's own graph in eight bits, whether or not it learnt in it."""
        return self.ranges == "means" and "int8" in self.formats

    @property
    def lite_formats(self) -> list[Format]:
        """Return those of TensorFlow Lite."""
        return [name for name in self.formats if name not in (SAVED_MODEL, ONNX, RKNN)]

    def fit_for(self, trained: Fit) -> Fit:
        """Return how images get into the square of the files: as the device does it, else as it was `trained`.

        A SavedModel takes images of any size, and does it itself as in training.
        """
        of_device = DEVICES[self.device].fit if self.device else None
        return of_device or trained


def require_exported(path: Path) -> None:
    """Compare an exported file, or all below a folder, with what export.json says of them. Raises DataError.

    A file of other software has none beside it, and neither has one that is being exported.
    """
    path = path.absolute()
    folder = path if (path / REPORT).is_file() else path.parent
    digests = read_json(folder / REPORT).get(DIGESTS)
    files = {folder / name: digest for name, digest in digests.items()} if isinstance(digests, dict) else {}
    require_all_whole({file: digest for file, digest in files.items() if file.is_relative_to(path)}, "export")
