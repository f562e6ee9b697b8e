"""Settings of export: `conf/export/`."""

from dataclasses import dataclass
from typing import Literal, get_args

from bakeoff.errors import require

Format = Literal["saved_model", "float32", "float16", "dynamic", "int8"]
SAVED_MODEL = "saved_model"
MAIN = "model.tflite"


@dataclass(frozen=True)
class Export:
    weights: Literal["best", "final"] = "best"
    formats: tuple[Format, ...] = ("saved_model",)  # the first of TensorFlow Lite's is model.tflite
    max_detections: int = 10  # of an image, in a .tflite; robot controllers expect 10
    per_class_suppression: bool = (
        False  # in a .tflite; false: a place has one class, and a box hides those of all others
    )
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
        require(1 <= self.max_detections <= 1000, "max_detections", self.max_detections, "between 1 and 1000")
        examples = self.representative_examples
        require(1 <= examples <= 100_000, "representative_examples", examples, "between 1 and 100,000")
        require(self.sample >= 0, "sample", self.sample, "0 or more")
        require(0 <= self.max_drop <= 1, "max_drop", self.max_drop, "between 0 and 1")
        require(1 <= self.latency_calls <= 10_000, "latency_calls", self.latency_calls, "between 1 and 10,000")
        require(1 <= self.threads <= 256, "threads", self.threads, "between 1 and 256")
        # https://github.com/tensorflow/tensorflow/issues/56058
        loses = self.per_class_suppression and self.threads > 1
        rule = "1 with per_class_suppression, for there TensorFlow Lite loses detections with more"
        require(not loses, "threads", self.threads, rule)

    @property
    def files(self) -> dict[Format, str]:
        """The name below models/export of each format."""
        lite = [name for name in self.formats if name != SAVED_MODEL]
        names = {name: MAIN if name == lite[0] else f"model_{name}.tflite" for name in lite}
        return {name: names.get(name, SAVED_MODEL) for name in self.formats}
