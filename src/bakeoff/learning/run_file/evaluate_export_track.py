"""Settings of what follows training: `conf/evaluate/`, `conf/export/` and, for copies of a run, `conf/track/`."""

import re
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

from bakeoff.foundation.errors import require, require_at_most
from bakeoff.learning.run_file.devices import DEVICES, OWN_LAYOUT, DeviceName, Layout

Format = Literal["saved_model", "float32", "float16", "dynamic", "int8", "onnx", "rknn"]
Checkpoints = Literal["newest", "kept", "best", "all", "none"]
SAVED_MODEL: Format = "saved_model"
ONNX: Format = "onnx"
RKNN: Format = "rknn"
MAIN, ONNX_FILE, RKNN_FILE = "model.tflite", "model.onnx", "model.rknn"
FORBIDDEN = set("/:'\"")  # in the name of a model, by MLflow
SAFE_THREADS = 16  # with more TensorFlow Lite loses a class where each is suppressed by itself: see lite_graph.py


@dataclass(frozen=True)
class Slices:
    """What else is known of the examples, in a CSV with a row for each: it is cut into slices by every column."""

    table: str | None = None  # a CSV in data/raw/
    column: str = "file"  # of it, with the examples' names

    def __post_init__(self) -> None:
        require(self.table is None or bool(self.table.strip()), "table", self.table, "a CSV in data/raw/, or null")


@dataclass(frozen=True)
class Evaluate:
    weights: Literal["best", "final"] = "best"  # best: by the task's headline metric on the way
    batch_size: int = 32
    interval_samples: int = 1000  # bootstrap samples of the examples, from which intervals come; 0: no intervals
    group: str | None = None  # a pattern on the name, with one group in brackets: what it finds is drawn together
    slices: Slices = field(default_factory=Slices)
    report_examples: int = 12  # of the best and of the worst, in report.html
    pictures: int = 12  # validation examples drawn with what was found
    picture_min_score: float = 0.5

    def __post_init__(self) -> None:
        require(self.batch_size >= 1, "batch_size", self.batch_size, "1 or more")
        require_at_most(self, batch_size=100_000)
        samples = self.interval_samples
        require(samples == 0 or 100 <= samples <= 100_000, "interval_samples", samples, "0 or between 100 and 100,000")
        if self.group is not None:
            require(_has_one_group(self.group), "group", self.group, "a regular expression with one (group)")
        require(0 <= self.report_examples <= 100, "report_examples", self.report_examples, "between 0 and 100")
        require(0 <= self.pictures <= 200, "pictures", self.pictures, "between 0 and 200")
        require(0 <= self.picture_min_score <= 1, "picture_min_score", self.picture_min_score, "between 0 and 1")

    def group_of(self, name: str) -> str:
        """Return the group of an example; a name in which the pattern finds nothing is a group of its own."""
        match = re.search(self.group, name) if self.group else None
        return match[1] if match and match[1] is not None else name


def _has_one_group(pattern: str) -> bool:
    try:
        return re.compile(pattern).groups == 1
    except (re.error, OverflowError, RecursionError):
        return False


@dataclass(frozen=True)
class Export:
    weights: Literal["best", "final"] = "best"
    formats: tuple[Format, ...] = ("saved_model",)  # the first of TensorFlow Lite's is model.tflite
    device: DeviceName | None = None  # that the files are for; the network and the formats must fit it
    layout: Layout = "detections"  # of a detector's outputs in .tflite and .onnx; the others give every point
    max_detections: int = 10  # of an image, in a .tflite; robot controllers expect 10
    per_class_suppression: bool = True  # in a .tflite, as in evaluation; false: a box hides those of other classes, too
    representative_examples: int = 100  # of the training split, from which int8 learns the ranges of values
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
        require(1 <= self.max_detections <= 1000, "max_detections", self.max_detections, "between 1 and 1000")
        examples = self.representative_examples
        require(1 <= examples <= 100_000, "representative_examples", examples, "between 1 and 100,000")
        require(self.sample >= 0, "sample", self.sample, "0 or more")
        require_at_most(self, sample=10**9)
        require(0 <= self.max_drop <= 1, "max_drop", self.max_drop, "between 0 and 1")
        require(1 <= self.latency_calls <= 10_000, "latency_calls", self.latency_calls, "between 1 and 10,000")
        require(1 <= self.threads <= 256, "threads", self.threads, "between 1 and 256")
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
    def lite_formats(self) -> list[Format]:
        """Return those of TensorFlow Lite."""
        return [name for name in self.formats if name not in (SAVED_MODEL, ONNX, RKNN)]


class Track(Protocol):
    """Where copies of a run go; never part of what a run computes."""


@dataclass(frozen=True)
class Mlflow:
    experiment: str = "bakeoff"
    uri: str | None = None  # None: $MLFLOW_TRACKING_URI, or mlflow.db in the main workspace
    artifacts: str | None = None  # where files of a new experiment go, such as s3://bucket/path; None: by the store
    wait_s: float = 10.0  # at the end of a stage, for MLflow to have everything; the rest is sent without it
    system_every_s: float = 10.0  # between two looks at processor and memory; 0: none
    checkpoints: Checkpoints = "newest"  # that MLflow gets while training: the newest two and the best weights, …
    largest_model_mb: float = 500.0  # of a file or an export that MLflow gets; of a larger one it gets the digest
    register: str | None = None  # the exported model becomes a version of this registered model
    name: str | None = None  # of the run; None: the options of its variant

    def __post_init__(self) -> None:
        require(bool(self.experiment.strip()), "experiment", self.experiment, "a name")
        for key in ("wait_s", "system_every_s", "largest_model_mb"):
            require(getattr(self, key) >= 0, key, getattr(self, key), "0 or more")
            require_at_most(self, **{key: 1_000_000})
        require(self.name is None or bool(self.name.strip()), "name", self.name, "a name")
        is_name = self.register is None or (bool(self.register.strip()) and not set(self.register) & FORBIDDEN)
        require(is_name, "register", self.register, "a name without / : ' and \"")


@dataclass(frozen=True)
class Untracked:
    """Files only."""


TRACKERS: dict[str, type[Track]] = {"mlflow": Mlflow, "none": Untracked}
