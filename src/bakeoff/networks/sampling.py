"""Which frames of a clip a network looks at."""

from dataclasses import dataclass
from typing import Literal

from bakeoff.errors import require


@dataclass(frozen=True)
class Sampling:
    cover: Literal["whole", "part"] = "whole"  # frames evenly over the clip, or every `stride`-th from one on
    stride: int = 1
    start: Literal["random", "centred"] = "random"  # of a part, in training; centred outside it
    short: Literal["loop", "hold", "zeros"] = "loop"  # what follows where a clip ends before the part does

    def __post_init__(self) -> None:
        require(1 <= self.stride <= 64, "stride", self.stride, "between 1 and 64")
        require(self.cover == "part" or self.stride == 1, "stride", self.stride, "1 while `cover` is whole")
