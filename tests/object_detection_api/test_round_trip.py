"""A variant, written as a pipeline.config and imported again, is the same variant."""

from collections.abc import Callable
from typing import Any

import pytest

from bakeoff.config.run import Run
from bakeoff.object_detection_api.pipeline import imported, pipeline_config
from bakeoff.records.manifest import Manifest

Variant = Callable[..., Run]
SAID = {"num_steps": True}  # export settings under which the file holds the run's length


def again(run: Run, manifest: Manifest, variant: Variant) -> Run:
    """The variant after a way through a pipeline.config."""
    found = imported(pipeline_config(run, manifest).encode(), "pipeline.config").settings
    return variant(**found, export=SAID)


def same(one: Run, other: Run) -> None:
    for group in ("model", "lr", "optimizer", "train"):
        assert getattr(one, group) == getattr(other, group)


def test_every_detection_option_comes_back_as_it_was(detector: str, variant: Variant, manifest: Manifest) -> None:
    run = variant(model=detector, export=SAID)
    same(again(run, manifest, variant), run)


FTC_ML = {  # starting model: option, batch, warm-up, rate, rate to start from
    "SSD MobileNet v2 320x320": ("ssd_mobilenet_v2_300", 32, 2000, 0.8, 0.1333),
    "SSD MobileNet V2 FPNLite 320x320": ("ssd_mobilenet_v2_fpnlite_320", 32, 1000, 0.08, 0.02667),
    "SSD MobileNet V1 FPN 640x640": ("ssd_mobilenet_v1_fpn_640", 16, 2000, 0.04, 0.01333),
    "SSD MobileNet V2 FPNLite 640x640": ("ssd_mobilenet_v2_fpnlite_640", 16, 1000, 0.08, 0.02667),
}


@pytest.mark.parametrize("name", FTC_ML)
def test_the_starting_models_of_ftc_ml_come_back_as_they_were(name: str, variant: Variant, manifest: Manifest) -> None:
    model, batch_size, warmup, peak, start = FTC_ML[name]
    run = variant(
        model=model,
        lr={"kind": "cosine", "peak": peak, "warmup_steps": warmup, "warmup_from": start},
        optimizer={"kind": "momentum", "momentum": 0.9, "nesterov": False},
        train={"batch_size": batch_size, "steps": 3000, "augment": {"mirror": 0.5}},
        export=SAID,
    )
    same(again(run, manifest, variant), run)
    assert pipeline_config(again(run, manifest, variant), manifest) == pipeline_config(run, manifest)


CHANGES: dict[str, dict[str, Any]] = {
    "softmax with hard examples": {
        "loss": {"classes": "softmax"},
        "mining": {"max_examples": 64, "max_overlap": 0.7, "ranked_by": "both", "min_negatives_per_image": 2},
    },
    "hard examples as the paper has them": {"loss": {"classes": "sigmoid"}, "mining": {}},
    "weights of the loss": {
        "loss": {
            "class_weight": 0.5, "box_weight": 2.0, "background_weight": 0.25, "smooth_l1_delta": 0.111,
            "divide_by_matches": False, "divide_boxes_by_code_size": True, "focal_alpha": 0.75, "focal_gamma": 1.5,
        }
    },
    "a gap in matching": {"loss": {"matched_from": 0.6, "background_below": 0.3, "match_every_box": False}},
    "suppression": {
        "suppression": {"min_score": 0.2, "max_overlap": 0.3, "max_detections": 80, "max_detections_per_class": 20}
    },
    "box scales": {"box_scales": [8.0, 9.0, 4.0, 3.0]},
    "convolutions": {
        "convolutions": {
            "activation": "relu", "initializer": "truncated_normal", "initial_deviation": 0.03, "l2_weight": 0.0,
            "batch_norm_momentum": 0.9, "batch_norm_epsilon": 0.01,
        },
        "predictor_convolutions": {"activation": "relu", "l2_weight": 1e-3},
    },
    "backbone": {
        "backbone": {
            "name": "mobilenet_v1", "depth_multiplier": 0.75, "min_depth": 8, "override_hyperparameters": False
        }
    },
}  # fmt: skip
OF_PYRAMIDS: dict[str, dict[str, Any]] = {
    "anchors": {"anchors": {"scale": 3.0, "aspect_ratios": [0.5, 1.7], "scales_per_octave": 3}},
    "levels": {"pyramid": {"min_level": 2, "max_level": 6, "depth": 64}},
    "heads": {"predictor": {"depth": 64, "layers_before": 2, "kernel": 5, "dropout": 0.2, "class_bias": -2.0}},
}
OF_MAPS: dict[str, dict[str, Any]] = {
    "anchors": {
        "anchors": {
            "min_scale": 0.1, "max_scale": 0.8, "aspect_ratios": [1.0, 1.5], "interpolated_scale_aspect_ratio": 0.0,
            "reduce_boxes_in_lowest_layer": False,
        }
    },
    "maps": {"num_maps": 4, "depthwise_maps": True},
    "heads": {"predictor": {"kernel": 3, "depthwise": True, "layers_before": 1, "max_depth": 64, "dropout": 0.1}},
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES.keys() | OF_PYRAMIDS.keys())
def test_a_pyramid_detector_comes_back_as_it_was(name: str, variant: Variant, manifest: Manifest) -> None:
    tree = {"kind": "ssd_fpn", "input_size": 320} | (CHANGES | OF_PYRAMIDS)[name]
    run = variant(model=tree, export=SAID)
    same(again(run, manifest, variant), run)


@pytest.mark.parametrize("name", CHANGES.keys() | OF_MAPS.keys())
def test_a_plain_detector_comes_back_as_it_was(name: str, variant: Variant, manifest: Manifest) -> None:
    tree = {"kind": "ssd_multibox", "input_size": 320} | (CHANGES | OF_MAPS)[name]
    run = variant(model=tree, export=SAID)
    same(again(run, manifest, variant), run)


TRAINING: dict[str, dict[str, Any]] = {
    "adam": {"optimizer": {"kind": "adam", "epsilon": 1e-3}},
    "clipped": {"optimizer": {"kind": "momentum", "nesterov": False, "momentum": 0.8, "clip_norm": 10.0}},
    "averaged": {"train": {"batch_size": 4, "steps": 500, "ema_decay": 0.999}, "lr": {"kind": "constant", "peak": 0.1}},
    "from a checkpoint": {"train": {"batch_size": 4, "steps": 5000, "init": {"weights": "zoo/ckpt-0"}}},
    "from a checkpoint's backbone": {
        "train": {"batch_size": 4, "steps": 5000, "init": {"weights": "model.ckpt-7", "warm_start": ["backbone"]}}
    },
    "from a checkpoint's backbone and neck": {
        "train": {"batch_size": 4, "steps": 5000, "init": {"weights": "ckpt-1", "warm_start": ["backbone", "neck"]}}
    },
    "changed colours and crops": {
        "train": {
            "batch_size": 4,
            "steps": 5000,
            "augment": {
                "mirror": 0.3, "zoom_in": 0.7, "zoom_out": 1.5, "stretch": 1.3, "brightness": 0.15, "contrast": 0.3,
                "saturation": 0.45, "hue": 0.1,
            },
        }
    },
    "crops alone": {"train": {"batch_size": 4, "steps": 5000, "augment": {"zoom_in": 0.5, "stretch": 2.0}}},
    "zoomed out alone": {"train": {"batch_size": 4, "steps": 5000, "augment": {"zoom_out": 4.0}}},
}  # fmt: skip


@pytest.mark.parametrize("name", TRAINING)
def test_training_comes_back_as_it_was(name: str, variant: Variant, manifest: Manifest) -> None:
    run = variant(**TRAINING[name], export=SAID)
    same(again(run, manifest, variant), run)
