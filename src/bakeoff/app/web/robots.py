"""The robots that a model can be trained for: one table for the steps Train and Robot.

Which file a robot takes is `conf/export/<option>.yaml`; what it can run is `export/devices.py`; how the file gets onto
it is `export/device_guides.py`. Here is what a person reads who has to choose.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.app.web.network_options import list_networks
from bakeoff.export import hailo
from bakeoff.export.device_guides import GUIDES, Guide
from bakeoff.export.devices import DEVICES, DeviceName
from bakeoff.learning.networks.network import Fit


@dataclass(frozen=True)
class Robot:
    option: DeviceName  # of conf/export/, which `export.device` has, too
    name: str
    sentence: str  # what one has to know who chooses it

    @property
    def guide(self) -> Guide:
        return GUIDES[self.option]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the sides of its input in pixels; nothing: any."""
        return DEVICES[self.option].sizes

    @property
    def fit(self) -> Fit | None:
        """Return how a frame gets into the network's square there; None where its user decides."""
        return DEVICES[self.option].fit

    @property
    def least_photos(self) -> int:
        """Return how many photos a model must have learned from, for its maker's compiler to see enough of them."""
        return hailo.LEAST if DEVICES[self.option].is_hailo else 0

    def find_obstacle(self, network: Any) -> str:
        """Return why it cannot run a network with these settings; empty: it can."""
        return DEVICES[self.option].find_obstacle(network)

    def list_networks(self, task: str) -> list[str]:
        """Return the options of conf/model/ for a task that it takes."""
        return [name for name, network in list_networks(task).items() if not self.find_obstacle(network)]


ROBOTS: Mapping[str, Robot] = {
    robot.option: robot
    for robot in (
        Robot(
            "limelight_coral",
            "Limelight with a Coral",
            "The file goes through Google's compiler, then into a Neural Detector pipeline. A Limelight 3A takes it as "
            "it is.",
        ),
        Robot(
            "photonvision_rk3588",
            "PhotonVision on an Orange Pi 5",
            "It takes only networks with the outputs of YOLOv8, at 640 pixels. They train long without a GPU.",
        ),
        Robot(
            "photonvision_rubik",
            "PhotonVision on a Rubik Pi 3",
            "It takes only networks with the outputs of YOLOv8, at 640 pixels. They train long without a GPU.",
        ),
        Robot(
            "ftc_sdk",
            "FTC SDK up to 9.2",
            "The Control Hub or phone runs the file itself. Later SDKs have no TensorFlow: choose the Limelight there.",
        ),
        Robot(
            "raspberry_pi",
            "Raspberry Pi",
            "It takes every network, and so does any small computer with Linux. Small ones are faster.",
        ),
        Robot(
            "hailo8l",
            "Raspberry Pi with a Hailo-8L (13 TOPS)",
            "Hailo's compiler makes the chip's file of what is exported; Hailo gives it to those who register.",
        ),
        Robot(
            "hailo8",
            "Raspberry Pi with a Hailo-8 (26 TOPS)",
            "Hailo's compiler makes the chip's file of what is exported; Hailo gives it to those who register.",
        ),
        Robot("oak", "OAK camera", "Luxonis' converter makes the camera's file of model.onnx."),
    )
}


def find_robot(export: Mapping[str, Any] | None) -> Robot | None:
    """Return the robot that a variant's `export` is for; None if it names none."""
    return ROBOTS.get(str((export or {}).get("device")))
