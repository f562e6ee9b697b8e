"""Set detectors so small that tests can build and train them."""

from bakeoff.learning.networks.set_detector import Denoising, NoSuppression, SetDetector

SMALL = SetDetector(
    input_size=64, width=0.25, channels=32, encoder_feedforward=32, depth=0.34, queries=20, layers=2, feedforward=32,
    points=(2, 2), denoising=Denoising(queries=12), suppression=NoSuppression(min_score=0.3),
)  # fmt: skip
SMALLEST = SetDetector(
    input_size=64, backbone="atto", encoder="lite", version="deim_v2", width=0.25, channels=32, depth=0.34,
    queries=20, layers=2, feedforward=32, points=(2, 1), denoising=Denoising(queries=12),
)  # fmt: skip
