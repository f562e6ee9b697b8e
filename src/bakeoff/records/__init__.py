"""From raw data to TFRecord shards, an index beside each, and a manifest that is written last."""

from bakeoff.records.digits import DigitScenes, MovingDigits, SingleDigits
from bakeoff.records.record import Source

SOURCES: dict[str, type[Source]] = {
    "digit_scenes": DigitScenes,
    "single_digits": SingleDigits,
    "moving_digits": MovingDigits,
}
