"""Names and images of a split's examples, from their records: what the page shows of them."""

from collections.abc import Callable

import numpy as np

from bakeoff.records.wire import Value, decode_features


class Originals:
    def __init__(self, read: Callable[[np.ndarray], list[bytes]], examples: int) -> None:
        self._read, self._examples = read, examples

    def names(self) -> list[str]:
        """Of all examples, in order; each is read by itself, so that a large split needs no memory."""
        found = (self._features(number)["image/filename"] for number in range(self._examples))
        return [name.decode("utf-8", "backslashreplace") for [name] in found if isinstance(name, bytes)]

    def image(self, number: int) -> bytes:
        """The encoded image; of a clip the middle one."""
        features = self._features(number)
        frames = features.get("image/encoded") or features["clip/frames"]
        frame = frames[len(frames) // 2]
        assert isinstance(frame, bytes)
        return frame

    def _features(self, number: int) -> dict[str, Value]:
        [data] = self._read(np.array([number]))
        return decode_features(data)
