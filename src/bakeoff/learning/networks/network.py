"""What every network states beside its graph: what it takes, which frames of a clip it sees, its variables' parts.

Patterns name variables: one of the network's parts (`head.boxes`), a layer (`logits`) or a glob over variable paths
(`block_1*`, `logits/kernel`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

from bakeoff.foundation.errors import require, require_at_most

if TYPE_CHECKING:
    import keras

Parts: TypeAlias = Mapping[str, tuple[str, ...]]
NEAREST = 3
MOST_PIXELS = 4096  # of a side of the input
LEAST_WIDTH = 0.01  # below, every layer has its least channels


# How an image is brought to the input size: so that every pixel counts, or as TensorFlow 1 did it by default.
Resizing: TypeAlias = Literal["smooth", "legacy_bilinear"]
# How an image of other proportions is brought into the square: letterbox.py has the second.
Fit: TypeAlias = Literal["stretch", "letterbox"]


@dataclass(frozen=True)
class Sampling:
    cover: Literal["whole", "part"] = "whole"  # frames evenly over the clip, or every `stride`-th from one on
    stride: int = 1
    start: Literal["random", "centred"] = "random"  # of a part, in training; centred outside it
    short: Literal["loop", "hold", "zeros"] = "loop"  # what follows where a clip ends before the part does

    def __post_init__(self) -> None:
        require(1 <= self.stride <= 64, "stride", self.stride, "between 1 and 64")
        require(self.cover == "part" or self.stride == 1, "stride", self.stride, "1 while `cover` is whole")


class Network(Protocol):
    task: ClassVar[str]

    @property
    def input_size(self) -> int: ...  # pixels of a side
    @property
    def frames(self) -> int: ...  # 1 for images
    @property
    def central_crop(self) -> float: ...  # share of each side that is looked at outside training
    @property
    def sampling(self) -> Sampling: ...  # which frames of a clip
    @property
    def smallest_input(self) -> int:
        """The least `input_size` that leaves the coarsest of the network's own maps something to see."""

    @property
    def parts(self) -> Parts:
        """Groups of variables -> patterns (fnmatch) over `variable.path`: `backbone`, `neck`, `head`, finer `head.…`.

        Every variable is in one of the groups without a dot.
        """

    def build(self, num_classes: int) -> "keras.Model":
        """Return the Keras graph, with new weights."""


@runtime_checkable
class Pretrained(Protocol):
    """A network whose backbone Keras has trained weights for."""

    def imagenet(self) -> "keras.Model":
        """Return the backbone with ImageNet's weights, which Keras downloads; its layers have the names of `build`."""


class Classifier(Network, Protocol):
    """A network for images or clips; it answers {"classes": logits (batch, k)}, or (batch, 1 + k) with a background."""

    @property
    def dropout(self) -> float: ...
    @property
    def batch_norm_momentum(self) -> float: ...
    @property
    def label_smoothing(self) -> float: ...
    @property
    def background(self) -> bool: ...  # whether logit 0 stands for none of the classes, which then begin at logit 1
    @property
    def auxiliary_weight(self) -> float: ...  # of the loss on logits "auxiliary" beside "classes"; 0 without them


def require_classifier(network: Classifier) -> None:
    least = network.smallest_input
    require(network.input_size >= least, "input_size", network.input_size, f"{least} or more")
    require_at_most(network, input_size=MOST_PIXELS)
    require(0 <= network.dropout < 1, "dropout", network.dropout, "at least 0 and under 1")
    require_momentum(network.batch_norm_momentum)
    require(0 <= network.label_smoothing < 1, "label_smoothing", network.label_smoothing, "at least 0 and under 1")
    require(0.1 <= network.central_crop <= 1, "central_crop", network.central_crop, "between 0.1 and 1")
    is_whole = network.central_crop == 1 or getattr(network, "fit", "stretch") == "stretch"
    require(is_whole, "central_crop", network.central_crop, "1 with fit: letterbox, which shows all of an image")


def require_width(key: str, width: float) -> None:
    require(0 < width <= 4, key, width, "above 0, at most 4")
    require(width >= LEAST_WIDTH, key, width, f"{LEAST_WIDTH} or more")


def require_momentum(momentum: float) -> None:
    require(0 < momentum < 1, "batch_norm_momentum", momentum, "between 0 and 1")


def select(paths: Iterable[str], patterns: Sequence[str], parts: Parts) -> list[str]:
    """Return the paths that at least one pattern names, in their own order."""
    globs = [glob for pattern in patterns for glob in parts.get(pattern, (pattern,))]
    return [path for path in paths if any(path.startswith(f"{glob}/") or fnmatchcase(path, glob) for glob in globs)]


def unmatched(paths: Sequence[str], patterns: Sequence[str], parts: Parts) -> dict[str, list[str]]:
    """Return the patterns that name nothing, each with the nearest names that would."""
    names = sorted({*parts, *(path.split("/")[0] for path in paths)})
    empty = [pattern for pattern in patterns if not select(paths, [pattern], parts)]
    return {pattern: get_close_matches(pattern.strip("*?"), names, n=NEAREST, cutoff=0.4) for pattern in empty}
