"""A variant, written as a pipeline.config and imported again, is the same variant."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bakeoff.config.api_export.pipeline import format_pipeline
from bakeoff.config.compose.whole_run import Run
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.importing.api_config.options import import_pipeline

Variant = Callable[..., Run]
WITH_STEPS = {"num_steps": True}  # export settings under which the file holds the run's length


def again(run: Run, manifest: Manifest, variant: Variant) -> Run:
    """The variant after a way through a pipeline.config."""
    settings = import_pipeline(format_pipeline(run, manifest).encode(), "pipeline.config").settings
    return variant(**settings, export=WITH_STEPS)


def imported_groups(run: Run) -> dict[str, Any]:
    """What a pipeline.config can say of a variant."""
    return {group: getattr(run, group) for group in ("model", "lr", "optimizer", "train")}


def test_every_detection_option_comes_back_as_it_was(detector: str, variant: Variant, manifest: Manifest) -> None:
    run = variant(model=detector, export=WITH_STEPS)
    assert imported_groups(again(run, manifest, variant)) == imported_groups(run)


def test_every_recipe_comes_back_as_it_was(
    recipe: dict[str, Any], variant: Variant, manifest: Manifest, request: pytest.FixtureRequest
) -> None:
    """The four starting models of ftc-ml, the FRC recipes, the demo.

    The file has no field for how often to save, nor for an optimizer's decay, look ahead and betas.
    """
    run = variant(**recipe, export=WITH_STEPS)
    back = again(run, manifest, variant)
    assert (back.model, back.lr) == (run.model, run.lr)
    fixed_there = {"weight_decay": 0.0, "nesterov": False, "beta_1": 0.9, "beta_2": 0.999}
    omitted = {key: value for key, value in fixed_there.items() if key in vars(run.optimizer)}
    assert back.optimizer == replace(run.optimizer, **omitted)
    assert replace(back.train, checkpoint_every_steps=run.train.checkpoint_every_steps) == run.train
    if request.node.callspec.id.startswith("ftc_"):  # nothing is lost, also where the length is only the cosine's end
        assert imported_groups(back) == imported_groups(run)
        assert imported_groups(again(variant(**recipe), manifest, variant)) == imported_groups(run)
        assert run.train.validate_every_steps == 100
    assert _without_comments(format_pipeline(back, manifest)) == _without_comments(format_pipeline(run, manifest))


def _without_comments(text: str) -> str:
    return re.sub(r"\n *#.*", "", text)


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        ({"budget": "4GB"}, None),
        ({"budget": "4GB", "shuffle": "buffer", "shuffle_buffer_size": 256}, {"shuffle_buffer_size": 256}),
        (
            {
                "budget": "4GB",
                "shuffle": "buffer",
                "shuffle_buffer_size": 9,
                "min_after_dequeue": 5,
                "queue_capacity": 7,
            },
            {"shuffle_buffer_size": 9, "min_after_dequeue": 5, "queue_capacity": 7},
        ),
    ],
)
def test_buffers_come_back_as_they_were_and_a_global_shuffle_without_one(
    memory: dict[str, Any], expected: dict[str, int] | None, variant: Variant, manifest: Manifest
) -> None:
    text = format_pipeline(variant(memory=memory), manifest)
    imported_memory = import_pipeline(text.encode(), "pipeline.config").settings.get("memory")
    assert imported_memory == (expected and {"budget": "10GB", "shuffle": "buffer"} | expected)


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
    "the background as a class": {"loss": {"background_logit": True, "background_is_class": True}},
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


@pytest.mark.parametrize("name", [*CHANGES, *OF_PYRAMIDS])
def test_a_pyramid_detector_comes_back_as_it_was(name: str, variant: Variant, manifest: Manifest) -> None:
    tree = {"kind": "ssd_fpn", "input_size": 320} | (CHANGES | OF_PYRAMIDS)[name]
    run = variant(model=tree, export=WITH_STEPS)
    assert imported_groups(again(run, manifest, variant)) == imported_groups(run)


@pytest.mark.parametrize("name", [*CHANGES, *OF_MAPS])
def test_a_plain_detector_comes_back_as_it_was(name: str, variant: Variant, manifest: Manifest) -> None:
    tree = {"kind": "ssd_multibox", "input_size": 320} | (CHANGES | OF_MAPS)[name]
    run = variant(model=tree, export=WITH_STEPS)
    assert imported_groups(again(run, manifest, variant)) == imported_groups(run)


CROP = {
    "min_object_covered": 0.3, "min_aspect_ratio": 0.4, "max_aspect_ratio": 2.5, "min_area": 0.2, "max_area": 0.9,
    "min_seen": 0.15, "untouched": 0.25, "when_empty": "keep",
}  # fmt: skip
TRAINING: dict[str, dict[str, Any]] = {
    "adam": {"optimizer": {"kind": "adam", "epsilon": 1e-3}},
    "rates with many digits": {
        "lr": {"kind": "cosine", "peak": 1 / 3, "warmup_steps": 7, "warmup_from": 1 / 7},
        "optimizer": {"kind": "momentum", "nesterov": False, "momentum": 2 / 3},
    },
    "rmsprop": {"optimizer": {"kind": "rmsprop", "rho": 0.8, "momentum": 0.7, "epsilon": 0.1}},
    "clipped": {"optimizer": {"kind": "momentum", "nesterov": False, "momentum": 0.8, "clip_norm": 10.0}},
    "averaged": {"train": {"batch_size": 4, "steps": 500, "ema_decay": 0.999}, "lr": {"kind": "constant", "peak": 0.1}},
    "from a checkpoint": {"train": {"batch_size": 4, "steps": 5000, "init": {"weights": "zoo/ckpt-0", "warm_start": ["backbone", "neck", "head"]}}},
    "from a checkpoint's backbone": {
        "train": {"batch_size": 4, "steps": 5000, "init": {"weights": "data/weights/model.ckpt-7", "warm_start": ["backbone"]}}
    },
    "from a checkpoint's backbone and neck": {
        "train": {"batch_size": 4, "steps": 5000, "init": {"weights": "zoo/ssd/ckpt-1", "warm_start": ["backbone", "neck"]}}
    },
    "changed colours and crops": {
        "train": {
            "batch_size": 4,
            "steps": 5000,
            "augment": {
                "zoom": {"smallest": 0.7, "largest": 1.5, "stretch": 1.3},
                "turn": {"mirror": 0.3, "upside_down": 0.2, "quarter": 0.1},
                "colour": {"brightness": 0.15, "contrast": 0.3, "saturation": 0.45, "hue": 0.1, "grey": 0.2},
            },
        }
    },
    "one crop": {"train": {"batch_size": 4, "steps": 5000, "augment": {"crop": CROP | {"kind": "single"}}}},
    "the API's own crops": {"train": {"batch_size": 4, "steps": 5000, "augment": {"crop": {"kind": "ssd"}}}},
    "other crops": {
        "train": {
            "batch_size": 4,
            "steps": 5000,
            "augment": {"crop": {"kind": "ssd", "ways": [CROP, CROP | {"untouched": 0.75}]}},
        }
    },
    "canvas": {
        "train": {
            "batch_size": 4,
            "steps": 5000,
            "augment": {
                "expand": {"probability": 1, "smallest": 1.25, "largest": 3, "keep_aspect": False},
                "fill": [1, 2.5, 255],
            },
        }
    },
    "canvas of the image's average": {
        "train": {
            "batch_size": 4,
            "steps": 5000,
            "augment": {"expand": {"probability": 1, "largest": 2, "keep_aspect": False}, "fill": []},
        }
    },
    "resized in ways": {
        "train": {
            "batch_size": 4,
            "steps": 5000,
            "augment": {"resize": ["bilinear", "nearest", "bicubic", "area"]},
        }
    },
    "distorted colours": {
        "train": {
            "batch_size": 4,
            "steps": 5000,
            "augment": {
                "colour": {
                    "brightness": 32 / 255, "contrast": 0.5, "saturation": 0.5, "hue": 0.2,
                    "orders": [["brightness", "contrast", "saturation", "hue"]],
                }
            },
        }
    },
    "zoomed out alone": {"train": {"batch_size": 4, "steps": 5000, "augment": {"zoom": {"largest": 4.0}}}},
}  # fmt: skip


@pytest.mark.parametrize("name", TRAINING)
def test_training_comes_back_as_it_was(name: str, variant: Variant, manifest: Manifest) -> None:
    run = variant(**TRAINING[name], export=WITH_STEPS)
    assert imported_groups(again(run, manifest, variant)) == imported_groups(run)
