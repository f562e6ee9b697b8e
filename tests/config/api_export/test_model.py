"""What a detector is in that API's words."""

from collections.abc import Callable
from typing import Any

import pytest

Write = Callable[..., tuple[Any, str]]


def test_the_model_block_has_the_figures_of_the_mobile_retinanet(written: Write) -> None:
    """Those of that API's own file for it, field by field."""
    ssd = written(model="ssd_mobilenet_v2_fpnlite_320")[0].model.ssd
    extractor = ssd.feature_extractor
    assert (extractor.type, extractor.use_depthwise) == ("ssd_mobilenet_v2_fpn_keras", True)
    assert (extractor.fpn.min_level, extractor.fpn.max_level, extractor.fpn.additional_layer_depth) == (3, 7, 128)
    assert (extractor.min_depth, extractor.depth_multiplier) == (16, 1.0)
    assert extractor.override_base_feature_extractor_hyperparams
    predictor = ssd.box_predictor.weight_shared_convolutional_box_predictor
    assert (predictor.depth, predictor.num_layers_before_predictor, predictor.kernel_size) == (128, 4, 3)
    assert (predictor.use_depthwise, predictor.share_prediction_tower, predictor.use_dropout) == (True, True, False)
    assert predictor.class_prediction_bias_init == pytest.approx(-4.6)
    for hyperparams in (extractor.conv_hyperparams, predictor.conv_hyperparams):
        assert hyperparams.activation == 2  # RELU_6
        assert hyperparams.regularizer.l2_regularizer.weight == pytest.approx(0.00004)
        assert hyperparams.initializer.random_normal_initializer.stddev == pytest.approx(0.01)
        norm = hyperparams.batch_norm
        assert (norm.scale, norm.decay, norm.epsilon) == (True, pytest.approx(0.997), pytest.approx(0.001))
    anchors = ssd.anchor_generator.multiscale_anchor_generator
    assert (anchors.min_level, anchors.max_level, anchors.anchor_scale, anchors.scales_per_octave) == (3, 7, 4.0, 2)
    assert list(anchors.aspect_ratios) == [1.0, 2.0, 0.5]
    coder = ssd.box_coder.faster_rcnn_box_coder
    assert (coder.y_scale, coder.x_scale, coder.height_scale, coder.width_scale) == (10, 10, 5, 5)
    matcher = ssd.matcher.argmax_matcher
    assert (matcher.matched_threshold, matcher.unmatched_threshold) == (0.5, 0.5)
    assert matcher.force_match_for_each_row and matcher.negatives_lower_than_unmatched
    assert ssd.similarity_calculator.HasField("iou_similarity")
    focal = ssd.loss.classification_loss.weighted_sigmoid_focal
    assert (focal.alpha, focal.gamma) == (0.25, 2.0)
    assert ssd.loss.localization_loss.weighted_smooth_l1.delta == 1.0
    assert (ssd.loss.classification_weight, ssd.loss.localization_weight) == (1.0, 1.0)
    assert ssd.normalize_loss_by_num_matches and ssd.normalize_loc_loss_by_codesize
    assert ssd.encode_background_as_zeros
    suppression = ssd.post_processing.batch_non_max_suppression
    assert (suppression.score_threshold, suppression.iou_threshold) == (pytest.approx(1e-8), pytest.approx(0.6))
    assert (suppression.max_detections_per_class, suppression.max_total_detections) == (100, 100)
    assert ssd.post_processing.score_converter == 1  # SIGMOID


def test_the_plain_ssd_has_maps_and_heads_of_its_own(written: Write) -> None:
    ssd = written(model="ssd_mobilenet_v2_300")[0].model.ssd
    assert ssd.feature_extractor.type == "ssd_mobilenet_v2_keras"
    assert ssd.feature_extractor.num_layers == ssd.anchor_generator.ssd_anchor_generator.num_layers == 6
    assert ssd.anchor_generator.ssd_anchor_generator.reduce_boxes_in_lowest_layer
    assert ssd.box_predictor.convolutional_box_predictor.kernel_size == 1
    assert not ssd.box_predictor.convolutional_box_predictor.use_dropout
    assert ssd.loss.classification_loss.weighted_sigmoid_focal.alpha == 0.75


def test_dropout_is_the_share_that_is_not_kept(written: Write) -> None:
    model = {"kind": "ssd_multibox", "input_size": 320, "predictor": {"dropout": 0.2}}
    predictor = written(model=model)[0].model.ssd.box_predictor.convolutional_box_predictor
    assert predictor.use_dropout
    assert predictor.dropout_keep_probability == pytest.approx(0.8)


def test_with_softmax_the_background_is_a_class(written: Write) -> None:
    model = {"kind": "ssd_fpn", "input_size": 320, "loss": {"classes": "softmax"}, "mining": {}}
    ssd = written(model=model)[0].model.ssd
    assert not ssd.encode_background_as_zeros
    assert ssd.post_processing.score_converter == 2  # SOFTMAX
    assert ssd.loss.hard_example_miner.num_hard_examples == 3000
    assert ssd.loss.hard_example_miner.loss_type == 1  # CLASSIFICATION


def test_num_classes_is_the_number_of_labels(written: Write) -> None:
    read, text = written()
    assert read.model.ssd.num_classes == 3
    assert "adds the background" in text
    read, text = written(export={"count_background": True})
    assert read.model.ssd.num_classes == 4
    assert "One more than labels (export.count_background)" in text
