"""Random changes of a training example: `train.augment`, a file for each, with its settings and what it does.

All is drawn from a stateless generator keyed by (seed, epoch, example), so example 17 looks the same in
epoch 3 whatever the batch size, the number of threads or the step that a run resumed from. A clip gets
one change for all of its frames. TensorFlow is imported by what changes an example, not by the settings.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from bakeoff.foundation.errors import require
from bakeoff.foundation.own_parts import PartTable
from bakeoff.learning.input.augment.colour import Colour
from bakeoff.learning.input.augment.copy_paste import CopyPaste
from bakeoff.learning.input.augment.crop import CROPS, Crop, SsdCrop
from bakeoff.learning.input.augment.expand import Expand
from bakeoff.learning.input.augment.mixup import Mixup
from bakeoff.learning.input.augment.mosaic import Mosaic
from bakeoff.learning.input.augment.turn import Turn
from bakeoff.learning.input.augment.zoom import Zoom

if TYPE_CHECKING:
    import tensorflow as tf

Method = Literal["smooth", "bilinear", "nearest", "bicubic", "area"]
Decode = Literal["fraction", "full"]
GREY = (127.5, 127.5, 127.5)  # zero to the network
# `apply(scene, key)` changes what part of the image is shown, before it is resized; `cuts` and `shows_beyond` say how.
MOVES = ("expand", "crop", "zoom")
# Changes that take other training examples in, each with its own moves; `partners` says how many.
MIXES = ("mosaic", "copy_paste", "mixup")
REPAINTS = ("turn", "colour")  # `apply(image, boxes, key)` changes the pixels, at the network's size


@runtime_checkable
class Change(Protocol):
    """A change that is settings and deed in one; it is done after those of colour, at the network's input size."""

    def apply(self, image: "tf.Tensor", boxes: "tf.Tensor", key: "tf.Tensor") -> "tuple[tf.Tensor, tf.Tensor]":
        """Change the pixels 0..255 (frames, side, side, 3) and move the boxes (n, 4) in shares; no box may go.

        `key` (2,) names the randomness of this example, for TensorFlow's stateless operations.
        """


CHANGES: PartTable[type[Change]] = PartTable("CHANGES", {})


@dataclass(frozen=True)
class Augment:
    """All off by default; done in the order that they stand in."""

    expand: Expand | None = None
    crop: Crop | SsdCrop | None = field(default=None, metadata={"kinds": CROPS})
    zoom: Zoom = field(default_factory=Zoom)
    fill: tuple[float, ...] = GREY  # red, green, blue beside a smaller image; empty: the image's average colour
    resize: tuple[Method, ...] = ("smooth",)  # one of them is drawn; `smooth`: as evaluation does it
    decode: Decode = "fraction"  # of a JPEG much larger than the network's input; `full`: all pixels, as in evaluation
    mosaic: Mosaic | None = None
    copy_paste: CopyPaste | None = None
    mixup: Mixup | None = None
    until: float = 0.9  # of the run's steps, over all phases: from there on nothing is mixed
    turn: Turn = field(default_factory=Turn)
    colour: Colour = field(default_factory=Colour)
    parts: Mapping[str, Change] = field(
        default_factory=dict, hash=False, metadata={"each": CHANGES}
    )  # your own changes

    def __post_init__(self) -> None:
        is_colour = len(self.fill) == 3 and all(0 <= level <= 255 for level in self.fill)
        require(not self.fill or is_colour, "fill", list(self.fill), "three numbers between 0 and 255, or empty")
        require(bool(self.resize), "resize", list(self.resize), "at least one way to resize")
        require(0 < self.until <= 1, "until", self.until, "above 0, at most 1")

    @property
    def moves(self) -> dict[str, Expand | Crop | SsdCrop | Zoom]:
        return {name: getattr(self, name) for name in MOVES if getattr(self, name)}

    @property
    def mixes(self) -> dict[str, Mosaic | CopyPaste | Mixup]:
        return {name: getattr(self, name) for name in MIXES if getattr(self, name)}

    @property
    def unmixed(self) -> "Augment":
        return replace(self, mosaic=None, copy_paste=None, mixup=None)

    @property
    def partners(self) -> int:
        """How many other examples may be mixed into one."""
        return sum(mix.partners for mix in self.mixes.values())

    def mixed_steps(self, steps: int) -> int:
        """Return how many of a run's steps, from its first, may mix examples."""
        return math.ceil(round(self.until * steps, 6))

    @property
    def cuts(self) -> bool:
        """Whether less than the whole image may be shown."""
        return any(move.cuts for move in self.moves.values())

    @property
    def shows_beyond(self) -> bool:
        """Whether something beside the image may be shown."""
        return any(move.shows_beyond for move in self.moves.values())

    @property
    def added(self) -> dict[str, Change]:
        """The changes that bring along what they do, by name; those that are off are left out."""
        names = (one.name for one in fields(self) if one.name not in (*MOVES, *MIXES, *REPAINTS))
        return {name: change for name in names if isinstance(change := getattr(self, name), Change)} | dict(self.parts)
