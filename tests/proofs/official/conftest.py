"""Detection variants on as many images as COCO has, for what is written for the Object Detection API."""

import pytest

from bakeoff.dataset.records.manifest import Manifest, Shard, Split
from support.detector_variants import variant

__all__ = ["manifest", "variant"]


@pytest.fixture(scope="session")
def manifest() -> Manifest:
    """No sample asks for a batch that these cannot fill."""

    def split(name: str, examples: int) -> Split:
        shard = Shard(f"{name}-00000-of-00001", examples, examples * 50_000, name)
        return Split(examples, examples * 640 * 480 * 3, 1, {"ball": examples}, (shard,))

    return Manifest(
        "detection", ("ball",), {"train": split("train", 118_000), "validation": split("validation", 5_000)}
    )
