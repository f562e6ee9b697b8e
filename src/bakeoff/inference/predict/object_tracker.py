"""Detections of a film, frame after frame -> which of them are one and the same object, by a number of its own.

The rule is that of ByteTrack (https://arxiv.org/abs/2110.06864): sure detections are matched first, and unsure ones may
then keep an object that is half hidden, but never begin one. A box is expected where its last movement takes it; that
movement is smoothed by an alpha-beta filter. NumPy alone is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bakeoff.export.nms_numpy import Predictions
from bakeoff.learning.networks.tile_merge import box_overlaps

SURE, UNSURE = 0.5, 0.1  # scores; a detection below the second is ignored
SECONDS_LOST = 1.0  # that an object may stay unseen and keep its number
FITS, FITS_UNSURE = 0.2, 0.5  # least overlap of a detection with where the object is expected
PLACE_GAIN, SPEED_GAIN = 0.8, 0.4  # shares of a detection's offset by which place and speed are corrected
NO_TRACK = 0


@dataclass
class ObjectTrack:
    label: int
    box: np.ndarray  # (4,) ymin xmin ymax xmax, where it is expected in this frame
    speed: np.ndarray = field(default_factory=lambda: np.zeros(4))  # of its middle, for a frame
    number: int = NO_TRACK  # from its second detection on
    unseen: int = 0  # frames

    def advance(self) -> None:
        self.box = self.box + self.speed
        self.unseen += 1

    def correct(self, box: np.ndarray) -> None:
        off = box - self.box
        middle = np.tile((off[:2] + off[2:]) / 2, 2)
        self.box = self.box + PLACE_GAIN * off
        self.speed = self.speed + SPEED_GAIN * middle
        self.unseen = 0


class Tracks:
    """The objects of one film. `follow` is called for each frame, in order."""

    def __init__(self, rate: float, sure: float = SURE) -> None:
        self._most_unseen = max(1, round(rate * SECONDS_LOST))
        self._sure = sure
        self._tracks: list[ObjectTrack] = []
        self._numbers = 0
        self._is_first = True

    def follow(self, detections: Predictions) -> list[int]:
        """Return the number of the object of each detection; `NO_TRACK` for what belongs to none, or none yet."""
        boxes, labels, scores = detections["boxes"].astype(float), detections["classes"], detections["scores"]
        for track in self._tracks:
            track.advance()
        owners: dict[int, ObjectTrack] = {}
        sure = [row for row, score in enumerate(scores) if score >= self._sure]
        unsure = [row for row, score in enumerate(scores) if UNSURE <= score < self._sure]
        free = list(self._tracks)
        for rows, least in ((sure, FITS), (unsure, FITS_UNSURE)):
            candidates = free if rows is sure else [track for track in free if track.number and track.unseen == 1]
            matched = _match(candidates, rows, boxes, labels, least)
            for row, track in matched:
                track.correct(boxes[row])
                owners[row] = track
            free = [track for track in free if all(track is not other for _, other in matched)]
        for track in owners.values():
            track.number = track.number or self._count()
        for row in sure:
            if row not in owners:
                owners[row] = ObjectTrack(
                    int(labels[row]), boxes[row], number=self._count() if self._is_first else NO_TRACK
                )
                self._tracks.append(owners[row])
        self._tracks = [track for track in self._tracks if track.unseen <= (self._most_unseen if track.number else 0)]
        self._is_first = False
        return [owners[row].number if row in owners else NO_TRACK for row in range(len(boxes))]

    def _count(self) -> int:
        self._numbers += 1
        return self._numbers


def _match(
    tracks: Sequence[ObjectTrack], rows: Sequence[int], boxes: np.ndarray, labels: np.ndarray, least: float
) -> list[tuple[int, ObjectTrack]]:
    """Pair detections with tracks of their class, the pair that overlaps most first."""
    if not tracks or not rows:
        return []
    overlaps = box_overlaps(np.stack([track.box for track in tracks])[:, None], boxes[list(rows)][None])
    same = np.array([track.label for track in tracks])[:, None] == labels[list(rows)][None]
    overlaps = np.where(same, overlaps, -1.0)
    pairs = []
    while overlaps.size and (best := int(overlaps.argmax())) >= 0 and overlaps.flat[best] >= least:
        track, row = divmod(best, len(rows))
        pairs.append((rows[row], tracks[track]))
        overlaps[track, :], overlaps[:, row] = -1.0, -1.0
    return pairs
