"""The robots that a person chooses from, and what each takes."""

from pathlib import Path
from typing import get_args

import yaml

from bakeoff.app.web.network_options import list_networks, read_network
from bakeoff.app.web.robots import ROBOTS, find_robot
from bakeoff.export.devices import DeviceName
from support.imports import ROOT


def test_each_device_has_a_row_and_an_option_that_names_it() -> None:
    assert {*ROBOTS} == {*get_args(DeviceName)}
    for option in ROBOTS:
        tree = yaml.safe_load((ROOT / f"conf/export/{option}.yaml").read_text(encoding="utf-8"))
        assert find_robot(tree) is ROBOTS[option]
    assert find_robot({"formats": ["onnx"]}) is None and find_robot(None) is None


def test_a_robot_lists_only_networks_that_it_takes(folder: Path) -> None:
    detectors = list_networks("detection")
    assert {"ssd_small", "point_nano", "ssd_mobilenet_v2_fpnlite_320"} <= {*detectors}
    assert "cnn_small" not in detectors and "cnn_small" in list_networks("classification")
    points = ["point_nano", "point_small"]
    for option, networks in {"photonvision_rk3588": points, "photonvision_rubik": [*points, "yolox_s"]}.items():
        assert ROBOTS[option].list_networks("detection") == networks
        assert ROBOTS[option].sizes == (640,)
        assert "640" in ROBOTS[option].find_obstacle(read_network("point_nano_128"))
    assert "ssd_small" in ROBOTS["limelight_coral"].list_networks("detection")
    assert ROBOTS["ftc_sdk"].list_networks("classification") == []
    assert "cnn_small" in ROBOTS["raspberry_pi"].list_networks("classification")


def test_an_option_has_the_values_of_those_that_it_builds_on_and_a_wrong_one_is_left_out(folder: Path) -> None:
    assert read_network("point_nano_128").width == read_network("point_nano").width == 0.25
    assert read_network("point_nano_128").input_size == 128
    own = folder / "conf/model"
    own.mkdir()
    (own / "broken.yaml").write_text("kind: no_such_network\n", encoding="utf-8")
    (own / "endless.yaml").write_text("defaults: [endless]\nkind: ssd\ninput_size: 128\n", encoding="utf-8")
    assert read_network("broken") is None and read_network("no_such_option") is None
    assert "broken" not in list_networks("detection") and "endless" in list_networks("detection")
