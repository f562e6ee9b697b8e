"""S3D-G: Inception v1 over space and time, its convolutions split into 1xkxk and kx1x1, its features gated."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from bakeoff.foundation.errors import require, require_between
from bakeoff.learning.networks.network import Fit, Parts, Sampling, require_classifier, require_width

if TYPE_CHECKING:
    import keras


@dataclass(frozen=True)
class S3dG:
    """https://arxiv.org/abs/1712.04851; without `gating` it is S3D."""

    task: ClassVar[str] = "video"
    background: ClassVar[bool] = False
    auxiliary_weight: ClassVar[float] = 0.0
    smallest_input: ClassVar[int] = 32
    beyond_lite: ClassVar[tuple[str, ...]] = ("AvgPool3D", "MaxPool3D")  # which TensorFlow Lite has not
    input_size: int = 224
    frames: int = 64
    sampling: Sampling = field(default_factory=Sampling)
    depth_multiplier: float = 1.0
    min_depth: int = 16  # channels that no layer goes below
    first_temporal_kernel: int = 3  # frames that the first convolution looks at
    gating: bool = True
    dropout: float = 0.2
    batch_norm_momentum: float = 0.99
    batch_norm_epsilon: float = 0.001
    label_smoothing: float = 0.0
    central_crop: float = 1.0  # share of each side that is looked at outside training
    fit: Fit = "stretch"  # or with grey beside an image that is no square

    def __post_init__(self) -> None:
        require_between(self, frames=(1, 512), min_depth=(1, 64))
        require_width("depth_multiplier", self.depth_multiplier)
        kernel = self.first_temporal_kernel
        require(kernel in (1, 3, 5, 7), "first_temporal_kernel", kernel, "1, 3, 5 or 7")
        epsilon = self.batch_norm_epsilon
        require(0 < epsilon < 1, "batch_norm_epsilon", epsilon, "above 0 and under 1")
        require_classifier(self)

    @property
    def parts(self) -> Parts:
        """The backbone also layer by layer and block by block, to be set free from the top down."""
        steps = ("conv2d_1a", "conv2d_2b", "conv2d_2c", "mixed_3", "mixed_4", "mixed_5")
        gates = {"gating": ("*.gate/*",)} if self.gating else {}
        return {
            "backbone": ("conv2d_*", "mixed_*"),
            "head": ("logits/*",),
            "logits": ("logits/*",),
            **{step: (f"{step}*",) for step in steps},
            "temporal": ("*.temporal/*",),
            **gates,
        }

    def build(self, num_classes: int) -> "keras.Model":
        """Clips 0..255 (batch, frames, size, size, 3) -> {"classes": logits (batch, k)}."""
        from bakeoff.learning.networks import s3dg_graph

        return s3dg_graph.build(self, num_classes)
