"""`model { ssd { … } }` -> settings of a detector."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.config.api_export.messages import format_text
from bakeoff.config.api_export.model import describe_model
from bakeoff.config.compose.whole_run import Run
from bakeoff.foundation.errors import ConfigError
from bakeoff.importing.api_config.options import import_pipeline
from bakeoff.learning.networks.ssd_fpn import SsdFpn
from support.api_files import TF1, TF2, import_changed
from support.messages import missing_in

Variant = Callable[..., Run]


OWN_LINES = """        min_depth: 0
        max_depth: 0
"""
OLD = {  # a change of tf1.config: what is said of it, and what is in its place
    ("type: 'ssd_mobilenet_v2'", "type: 'ssd_mobilenet_v1_ppn'"): (
        ("feature_extractor.type: ", "'ssd_mobilenet_v1_ppn'", "'ssd_mobilenet_v1_keras'"),
        lambda model: model["backbone"]["name"] == "mobilenet_v1" and model["input_size"] == 300,
    ),
    ("type: 'ssd_mobilenet_v2'", "type: 'ssd_resnet50_v1_ppn'"): (
        ("feature_extractor.type: ", "'ssd_resnet50_v1_ppn'", "'ssd_mobilenet_v2_keras'"),
        lambda model: model["anchors"]["min_scale"] == 0.2,
    ),
    ("num_layers: 6", "num_layers: 5"): (
        ("model.ssd.feature_extractor.num_layers: ", "not there", "5"),
        lambda model: model["num_maps"] == 5,
    ),
    ("min_depth: 16", "num_layers: 4 min_depth: 16"): (
        ("ssd_anchor_generator.num_layers: not carried over", "4"),
        lambda model: model["num_maps"] == 4,
    ),
    ("num_layers: 6", "num_layers: 6 height_stride: [16, 32] width_stride: [16, 32]"): (
        ("ssd_anchor_generator.height_stride: not carried over", "no counterpart"),
        lambda model: model["num_maps"] == 6,
    ),
    ("weighted_sigmoid { }", "weighted_sigmoid { anchorwise_output: true }"): (
        ("weighted_sigmoid.anchorwise_output: not carried over", "not read it"),
        lambda model: model["loss"]["classes"] == "sigmoid",
    ),
    ("batch_norm_trainable: true", "pad_to_multiple: 32"): (
        ("model.ssd.feature_extractor.pad_to_multiple: not carried over", "no counterpart"),
        lambda model: True,
    ),
    ("num_layers_before_predictor: 0", "num_layers_before_predictor: 2"): (
        ("num_layers_before_predictor: 0 ", "without a depth"),
        lambda model: model["predictor"]["layers_before"] == 0,
    ),
    ("use_dropout: false", "use_dropout: true"): (
        ("model.ssd.num_classes: not carried over",),
        lambda model: model["predictor"]["dropout"] == 0.2,
    ),
    ("kernel_size: 3", "kernel_size: 1 use_depthwise: true"): (
        ("convolutional_box_predictor.use_depthwise: ", "kernel 1", "left out"),
        lambda model: not model["predictor"]["depthwise"],
    ),
    ("convolutional_box_predictor {", "weight_shared_convolutional_box_predictor { depth: 64 #"): (
        ("model.ssd.box_predictor: ", "weight_shared_convolutional_box_predictor", "not go"),
        lambda model: model["predictor"]["kernel"] == 3,
    ),
    ("# A robotics", "graph_rewriter { quantization { delay: 48000 } } # A robotics"): (
        ("tf1.config:1: graph_rewriter: not carried over", "quantised"),
        lambda model: True,
    ),
}  # fmt: skip
FOCAL = "weighted_sigmoid_focal { alpha: 0.25 gamma: 2.0 }"
REPLACED = {  # a change of tf2.config: what is said of it, and what is in its place
    ("type: 'ssd_mobilenet_v2_fpn_keras'", "type: 'ssd_resnet101_v1_fpn_keras'"): (
        ("feature_extractor.use_depthwise: ", "resnet101", "full convolutions"),
        lambda model: model["backbone"]["name"] == "resnet101" and not model["pyramid"]["depthwise"],
    ),
    ("height: 320 width: 320", "height: 320 width: 300"): (
        ("model.ssd.image_resizer.fixed_shape_resizer: ", "320 x 320 for 320 x 300"),
        lambda model: model["input_size"] == 320,
    ),
    ("height: 320 width: 320", "height: 300 width: 300"): (
        ("model.ssd.image_resizer: ", "mobilenet_v2", "32", "288 for 300"),
        lambda model: model["input_size"] == 288,
    ),
    ("fixed_shape_resizer { height: 320 width: 320 }", "keep_aspect_ratio_resizer { max_dimension: 512 min_dimension: 9 }"): (
        ("model.ssd.image_resizer.keep_aspect_ratio_resizer: ", "512 x 512"),
        lambda model: model["input_size"] == 512 and "fit" not in model,
    ),
    ("fixed_shape_resizer { height: 320 width: 320 }", "keep_aspect_ratio_resizer { max_dimension: 512 min_dimension: 512 pad_to_max_dimension: true }"): (
        ("model.ssd.image_resizer.keep_aspect_ratio_resizer: ", "fit: letterbox", "middle", "grey 128 for 0, 0, 0"),
        lambda model: model["input_size"] == 512 and model["fit"] == "letterbox",
    ),
    ("fixed_shape_resizer { height: 320 width: 320 }", "identity_resizer { }"): (
        ("model.ssd.image_resizer: ", "square", "300 x 300"),
        lambda model: model["input_size"] == 288,
    ),
    (FOCAL, "bootstrapped_sigmoid { alpha: 0.1 }"): (
        ("classification_loss: ", "no bootstrapped_sigmoid", "focal"),
        lambda model: "classes" not in model["loss"],
    ),
    (FOCAL, "weighted_sigmoid_focal { gamma: 2.0 }"): (
        ("weighted_sigmoid_focal.alpha: ", "weigh 1", "0.5", "twice"),
        lambda model: model["loss"]["focal_alpha"] == 0.5 and model["loss"]["class_weight"] == 2.0,
    ),
    (FOCAL, "weighted_softmax { }"): (
        ("model.ssd.post_processing.score_converter: ", "SOFTMAX", "not SIGMOID"),
        lambda model: model["loss"]["classes"] == "softmax",
    ),
    ("weighted_smooth_l1 { }", "weighted_giou { }"): (
        ("localization_loss: ", "no weighted_giou", "weighted_smooth_l1"),
        lambda model: "smooth_l1_delta" not in model["loss"],
    ),
    ("iou_similarity { }", "ioa_similarity { }"): (
        ("model.ssd.similarity_calculator: ", "no ioa_similarity", "iou_similarity"),
        lambda model: True,
    ),
    ("faster_rcnn_box_coder { y_scale: 10.0 x_scale: 10.0 height_scale: 5.0 width_scale: 5.0 }", "square_box_coder { y_scale: 7.0 }"): (
        ("model.ssd.box_coder: ", "no square_box_coder", "faster_rcnn_box_coder"),
        lambda model: model["box_scales"] == [10.0, 10.0, 5.0, 5.0],
    ),
    ("fpn { min_level: 3 max_level: 7 additional_layer_depth: 128 }", "bifpn { min_level: 3 max_level: 7 num_iterations: 3 num_filters: 64 }"): (
        ("model.ssd.feature_extractor.bifpn: ", "two-way pyramid", "plain one"),
        lambda model: model["pyramid"]["depth"] == 64,
    ),
    ("fpn { min_level: 3 max_level: 7", "fpn { min_level: 3 max_level: 6"): (
        ("multiscale_anchor_generator.max_level: not carried over", "3 to 6"),
        lambda model: model["pyramid"]["max_level"] == 6,
    ),
    ("type: 'ssd_mobilenet_v2_fpn_keras'", "type: 'ssd_mobilenet_v2_keras'"): (
        ("model.ssd.anchor_generator: ", "multiscale_anchor_generator", "not go"),
        lambda model: model["kind"] == "ssd_multibox" and model["anchors"] == {},
    ),
    ("initializer { random_normal_initializer { stddev: 0.01 mean: 0.0 } }", "initializer { variance_scaling_initializer { } }"): (
        ("conv_hyperparams.initializer: ", "no variance_scaling_initializer", "random_normal of 0.01"),
        lambda model: "initializer" not in model["convolutions"],
    ),
    ("activation: RELU_6", "activation: SWISH"): (
        ("model.ssd.feature_extractor.conv_hyperparams.activation: ", "no SWISH", "RELU_6"),
        lambda model: "activation" not in model["convolutions"],
    ),
}  # fmt: skip


CHANGES = [(TF1, change) for change in OLD] + [(TF2, change) for change in REPLACED]


@pytest.mark.parametrize(
    ("file", "change"), CHANGES, ids=lambda value: value[1][:40] if isinstance(value, tuple) else ""
)
def test_what_has_no_counterpart_gets_the_nearest_and_is_said(
    file: Path, change: tuple[str, str], variant: Variant
) -> None:
    named, holds = (OLD | REPLACED)[change]
    shared = "weight_shared" in change[1]
    gone = [(OWN_LINES, ""), ("        apply_sigmoid_to_scores: false\n", "")] if shared else []
    imported = import_changed(file, change, *gone, takes_nearest=True)
    assert [line for line in imported.report if not missing_in(line, *named)], "\n".join(imported.report)
    assert all(re.match(rf"{re.escape(file.name)}:(\d+:)? ", line) for line in imported.report)
    assert holds(imported.settings["model"])
    assert variant(model=imported.settings["model"]).model  # and it is a network that can be built


TYPE = "type: 'ssd_mobilenet_v2_fpn_keras'"
FPN = "fpn { min_level: 3 max_level: 7 additional_layer_depth: 128 }"
NO_SUCH_NETWORK = {  # a change of tf2.config: what is missing, and the nearest
    (TYPE, "type: 'ssd_efficientnet-b0_bifpn_keras'"): ("'ssd_efficientnet-b0_bifpn_keras'", "'ssd_mobilenet_v2_fpn_keras'"),
    (TYPE, ""): ("without a type", "'ssd_mobilenet_v2_fpn_keras'"),
    (FPN, "bifpn { num_filters: 64 }"): ("two-way pyramid", "plain one"),
}  # fmt: skip


@pytest.mark.parametrize("change", NO_SUCH_NETWORK, ids=lambda change: change[1][:40])
def test_a_network_that_is_not_here_is_refused_with_the_nearest(change: tuple[str, str]) -> None:
    missing, nearest = NO_SUCH_NETWORK[change]
    place = r"^tf2\.config:\d+: model\.ssd\.feature_extractor"
    with pytest.raises(ConfigError, match=rf"{place}.*: .*{missing}.*nearest.*{nearest}.*--nearest"):
        import_changed(TF2, change)


def test_a_network_is_refused_in_one_line_with_its_pyramid_and_replaced_with_it() -> None:
    changes = (TYPE, "type: 'ssd_efficientnet-b3_bifpn_keras'"), (FPN, "bifpn { num_filters: 88 }")
    with pytest.raises(ConfigError) as refused:
        import_changed(TF2, *changes)
    [line] = str(refused.value).splitlines()
    assert not missing_in(line, "model.ssd.feature_extractor.type", "'ssd_efficientnet-b3_bifpn_keras'", "two-way")
    replaced = import_changed(TF2, *changes, takes_nearest=True)
    assert replaced.settings["model"]["pyramid"]["depth"] == 88
    assert [line for line in replaced.report if not missing_in(line, "feature_extractor.bifpn: ", "plain")]


def test_a_name_of_tensorflow_1_becomes_that_of_tensorflow_2() -> None:
    named = "model.ssd.feature_extractor.type: ", "'ssd_mobilenet_v2_keras'", "TensorFlow 2"
    [line] = [line for line in import_changed(TF1).report if not missing_in(line, *named)]
    assert "pyramid" not in line
    named = "model.ssd.feature_extractor.type: ", "'ssd_mobilenet_v2_fpn_keras'", "TensorFlow 2", "pyramid"
    report = import_changed(TF2, (TYPE, "type: 'ssd_mobilenet_v2_fpn'")).report
    assert [line for line in report if not missing_in(line, *named)]


def test_a_letterbox_that_was_written_is_read_as_one_of_the_same_grey() -> None:
    model = replace(SsdFpn(), fit="letterbox", input_size=256)
    written = format_text({"model": describe_model(model, 3, count_background=False)})
    assert "# That API places an image at the top left" in written
    imported = import_pipeline(written.encode(), "p.config")
    assert (imported.settings["model"]["fit"], imported.settings["model"]["input_size"]) == ("letterbox", 256)
    [line] = [line for line in imported.report if "keep_aspect_ratio_resizer" in line]
    assert missing_in(line, "p.config:", "fit: letterbox", "middle") == [] and "grey" not in line


def test_the_demos_own_network_keeps_its_own_scales() -> None:
    text = b"model { ssd { feature_extractor { type: 'bakeoff_ssd' } box_coder { faster_rcnn_box_coder { y_scale: 5 } } } }"
    named = "p.config:1: model.ssd.box_coder: ", "10.0, 10.0, 5.0, 5.0"
    assert [line for line in import_pipeline(text, "p.config").report if not missing_in(line, *named)]
