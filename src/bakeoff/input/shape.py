"""What a batch looks like and how many of them may wait."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    task: str
    size: int  # the network's input side, in pixels
    frames: int  # 1 for images
    batch_size: int
    decode_threads: int
    prefetch_batches: int
    several_labels: int = 0  # how many classes, if an example may have several of them; 0: each has one label
