"""Hyper-parameters -> keras.Model. The settings here import no TensorFlow; their `build` does."""

from bakeoff.foundation.own_parts import PartTable
from bakeoff.learning.networks.applications import EfficientNetV2B0, InceptionV3, MobileNetV2, MobileNetV3
from bakeoff.learning.networks.cnn import ClipCnn, Cnn
from bakeoff.learning.networks.network import Network
from bakeoff.learning.networks.point_detector import PointDetector
from bakeoff.learning.networks.s3dg import S3dG
from bakeoff.learning.networks.set_detector import SetDetector
from bakeoff.learning.networks.ssd import Ssd
from bakeoff.learning.networks.ssd_fpn import SsdFpn
from bakeoff.learning.networks.ssd_multibox import SsdMultibox
from bakeoff.learning.networks.yolox import Yolox

BUILT_IN: dict[str, type[Network]] = {
    "ssd": Ssd,
    "ssd_multibox": SsdMultibox,
    "ssd_fpn": SsdFpn,
    "point_detector": PointDetector,
    "yolox": Yolox,
    "set_detector": SetDetector,
    "cnn": Cnn,
    "mobilenet_v2": MobileNetV2,
    "mobilenet_v3": MobileNetV3,
    "efficientnet_v2_b0": EfficientNetV2B0,
    "inception_v3": InceptionV3,
    "clip_cnn": ClipCnn,
    "s3dg": S3dG,
}
NETWORKS = PartTable("NETWORKS", BUILT_IN)
