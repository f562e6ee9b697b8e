"""D-FINE (arXiv:2410.13842) and the small DEIMv2 (arXiv:2509.20787): a detector whose answers are a set of boxes.

A backbone (HGNetV2), an encoder that mixes its maps, and a decoder: queries start from the best cells of the maps, and
each layer moves the sides of their boxes. Matching gives every true box a query of its own, so nothing is suppressed
afterwards. Layers have the names of the published code (Apache-2.0), so that its weights load by name.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from bakeoff.foundation.errors import require, require_between
from bakeoff.learning.networks.detector_settings import STRIDES, GridDetector, Suppression
from bakeoff.learning.networks.network import Fit, Parts, require_momentum
from bakeoff.learning.networks.tiles import Tiles

if TYPE_CHECKING:
    import keras

    from bakeoff.learning.networks.heads.head import Head

MOST_WEIGHT = 1000
COARSEST = {"b0": 32, "pico": 16, "femto": 16, "atto": 16}  # stride of the last map of the backbone
HEADS = 8  # of attention
BINS = 33  # of the distribution of a side


@dataclass(frozen=True)
class SetMatching:
    """What it costs that a query finds a box; the Hungarian method chooses the cheapest pairs of all."""

    class_weight: float = 2.0
    box_weight: float = 5.0  # of |x| + |y| + |width| + |height|, shares of the image
    overlap_weight: float = 2.0  # of -GIoU
    overlap_power: float | None = None  # a pair costs -score * IoU ** this, without weights; 4 in DEIMv2's last epochs

    def __post_init__(self) -> None:
        power = self.overlap_power
        require(power is None or 0 <= power <= 20, "overlap_power", power, "between 0 and 20, or null")
        keys = ("class_weight", "box_weight", "overlap_weight")
        require_between(self, **dict.fromkeys(keys, (0, MOST_WEIGHT)))
        require(any(getattr(self, key) for key in keys), "class_weight", 0, "above 0, or another weight of matching")


@dataclass(frozen=True)
class SetLoss:
    """The loss of every layer of the decoder and of the encoder, each over the number of boxes or of pairs."""

    classes: Literal["varifocal", "matched"] = "varifocal"  # arXiv:2008.13367, or MAL of DEIM (arXiv:2412.04234)
    background_weight: float = 0.75  # of classes that are not there, times score ** gamma
    gamma: float = 2.0  # `matched`: also the power of the overlap that a score is to be
    pairs: Literal["union", "layer"] = "union"  # boxes learn from pairs of all layers together, or of their own
    class_weight: float = 1.0
    box_weight: float = 5.0
    overlap_weight: float = 2.0
    distribution_weight: float = 0.15  # FGL: cross-entropy with the two bins around the true side; 0: without
    distillation_weight: float = 1.5  # DDF: every layer learns the last one's distributions; 0: without

    def __post_init__(self) -> None:
        weights = ("class_weight", "box_weight", "overlap_weight", "distribution_weight", "distillation_weight")
        require_between(self, background_weight=(0, 1), gamma=(0, 20), **dict.fromkeys(weights, (0, MOST_WEIGHT)))


@dataclass(frozen=True)
class Denoising:
    """Queries beside the others in training, which start from true boxes with noise and are to find them again."""

    queries: int = 100  # at least one group of two for every box; 0: none
    class_noise: float = 0.5  # half of this is the share of classes that are drawn anew
    box_noise: float = 1.0  # of half a width or height, for the ones to find a box; twice that for the others

    def __post_init__(self) -> None:
        require_between(self, queries=(0, 1000), class_noise=(0, 1), box_noise=(0, 1))


@dataclass(frozen=True)
class NoSuppression(Suppression):
    """Detections may overlap as they like, for every box has one query of its own."""

    max_overlap: float = 1.0
    max_detections: int = 100


@dataclass(frozen=True)
class SetDetector(GridDetector):
    layouts: ClassVar[tuple[str, ...]] = ("detections",)
    answers_in_maps: ClassVar[bool] = False
    lost_in_int8: ClassVar[str] = "places of points and sides"
    parts: ClassVar[Parts] = {
        "backbone": ("backbone.*",),
        "neck": ("encoder.*",),
        "head": ("decoder/*",),
        "head.classes": ("decoder/*_score_head*", "decoder/decoder.denoising_class_embed*"),
        "head.boxes": ("decoder/*_bbox_head*",),
    }
    input_size: int = 640
    backbone: Literal["b0", "pico", "femto", "atto"] = "b0"
    width: float = 1.0  # of the channels of the backbone
    levels: int = 2  # maps that the decoder looks at: of strides 16 and 32, or of 8, too
    version: Literal["d_fine", "deim_v2"] = "d_fine"  # of the blocks of encoder and decoder
    encoder: Literal["hybrid", "lite"] = "hybrid"  # lite: of DEIMv2's smallest, whose backbone ends at stride 16
    channels: int = 128  # of encoder and decoder
    encoder_feedforward: int = 512
    expansion: float = 0.34  # of the channels inside a block of the encoder, as a share of half of `channels`
    depth: float = 0.5  # of three pairs of convolutions in a block of the encoder
    queries: int = 300
    layers: int = 3  # of the decoder
    feedforward: int = 512
    points: tuple[int, ...] = (6, 6)  # that a query looks at in each map, of each of 8 heads
    batch_norm_momentum: float = 0.9
    matching: SetMatching = field(default_factory=SetMatching)
    loss: SetLoss = field(default_factory=SetLoss)
    denoising: Denoising = field(default_factory=Denoising)
    suppression: NoSuppression = field(default_factory=NoSuppression)
    tiles: Tiles | None = None
    fit: Fit = "stretch"  # or with grey beside an image that is no square

    def __post_init__(self) -> None:
        self.require_grid()
        is_lite = self.encoder == "lite"
        version_fits = not is_lite or self.version == "deim_v2"
        require(version_fits, "version", self.version, "deim_v2 with encoder: lite")
        backbone_fits = (COARSEST[self.backbone] == 16) == is_lite
        require(backbone_fits, "backbone", self.backbone, "pico, femto or atto with encoder: lite, b0 with hybrid")
        require(2 <= self.levels <= (2 if is_lite else 3), "levels", self.levels, "2, or 3 with encoder: hybrid")
        require_between(self, channels=(16, 1024), expansion=(0.01, 4), depth=(0.01, 4), layers=(1, 12))
        require(self.channels % HEADS == 0, "channels", self.channels, f"a multiple of {HEADS}")
        require_between(self, encoder_feedforward=(8, 8192), feedforward=(8, 8192))
        cells = sum((self.input_size // stride) ** 2 for stride in self.strides)
        require(1 <= self.queries <= min(cells, 1000), "queries", self.queries, f"between 1 and {min(cells, 1000)}")
        points_fit = len(self.points) == self.levels and all(1 <= number <= 64 for number in self.points)
        require(points_fit, "points", list(self.points), f"{self.levels} whole numbers of 1 to 64, one for each level")
        require_momentum(self.batch_norm_momentum)

    @property
    def strides(self) -> tuple[int, ...]:
        return STRIDES[-self.levels :]

    def head(self) -> "Head":
        from bakeoff.learning.networks.heads.set_head import SetHead

        return SetHead(self)

    def build(self, num_classes: int) -> "keras.Model":
        """Images 0..255 (n, size, size, 3) -> {"boxes": (n, queries, 4) x, y of the middle, width, height, shares of
        the image, "classes": (n, queries, k) logits}. Shown the targets in training, it also answers what the losses
        need (`sets/decoder.py`).
        """
        from bakeoff.learning.networks.sets import set_graph

        return set_graph.build(self, num_classes)
