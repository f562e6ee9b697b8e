"""What is written for that API, read by protobuf's own parser against that API's messages."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from bakeoff.config.run import Run
from bakeoff.object_detection_api.input_readers import shuffle_buffer_size
from bakeoff.object_detection_api.pipeline import pipeline_config
from bakeoff.records.manifest import Manifest

Variant = Callable[..., Run]
Parse = Callable[[str], Any]


@pytest.fixture
def written(variant: Variant, manifest: Manifest, parse: Parse) -> Callable[..., tuple[Any, str]]:
    """A variant's pipeline.config as protobuf reads it, and its text with comments on one line."""

    def write(**groups: Any) -> tuple[Any, str]:
        text = pipeline_config(variant(**groups), manifest)
        return parse(text), re.sub(r"\n\s*# ", " ", text)

    return write


def test_every_detection_option_is_a_pipeline_that_protobuf_reads(
    detector: str, variant: Variant, manifest: Manifest, parse: Parse
) -> None:
    run = variant(model=detector)
    text = pipeline_config(run, manifest)
    read = parse(text)
    ssd = read.model.ssd
    assert ssd.image_resizer.fixed_shape_resizer.height == run.model.input_size
    assert ssd.anchor_generator.WhichOneof("anchor_generator_oneof")
    assert ssd.box_predictor.WhichOneof("box_predictor_oneof")
    assert ssd.loss.classification_loss.WhichOneof("classification_loss")
    assert ("that API has to have a feature extractor registered" in re.sub(r"\n\s*# ", " ", text)) == (
        ssd.feature_extractor.type == "bakeoff_ssd"
    )
    assert pipeline_config(variant(model=detector), manifest) == text


def test_the_model_block_has_the_figures_of_the_mobile_retinanet(written: Callable[..., tuple[Any, str]]) -> None:
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
    found = ssd.post_processing.batch_non_max_suppression
    assert (found.score_threshold, found.iou_threshold) == (pytest.approx(1e-8), pytest.approx(0.6))
    assert (found.max_detections_per_class, found.max_total_detections) == (100, 100)
    assert ssd.post_processing.score_converter == 1  # SIGMOID


def test_the_plain_ssd_has_maps_and_heads_of_its_own(written: Callable[..., tuple[Any, str]]) -> None:
    ssd = written(model="ssd_mobilenet_v2_300")[0].model.ssd
    assert ssd.feature_extractor.type == "ssd_mobilenet_v2_keras"
    assert ssd.feature_extractor.num_layers == ssd.anchor_generator.ssd_anchor_generator.num_layers == 6
    assert ssd.anchor_generator.ssd_anchor_generator.reduce_boxes_in_lowest_layer
    assert ssd.box_predictor.convolutional_box_predictor.kernel_size == 1
    assert not ssd.box_predictor.convolutional_box_predictor.use_dropout
    assert ssd.loss.classification_loss.weighted_sigmoid_focal.alpha == 0.75


def test_dropout_is_the_share_that_is_not_kept(written: Callable[..., tuple[Any, str]]) -> None:
    model = {"kind": "ssd_multibox", "input_size": 320, "predictor": {"dropout": 0.2}}
    predictor = written(model=model)[0].model.ssd.box_predictor.convolutional_box_predictor
    assert predictor.use_dropout
    assert predictor.dropout_keep_probability == pytest.approx(0.8)


def test_with_softmax_the_background_is_a_class(written: Callable[..., tuple[Any, str]]) -> None:
    model = {"kind": "ssd_fpn", "input_size": 320, "loss": {"classes": "softmax"}, "mining": {}}
    ssd = written(model=model)[0].model.ssd
    assert not ssd.encode_background_as_zeros
    assert ssd.post_processing.score_converter == 2  # SOFTMAX
    assert ssd.loss.hard_example_miner.num_hard_examples == 3000
    assert ssd.loss.hard_example_miner.loss_type == 1  # CLASSIFICATION


def test_num_classes_is_the_number_of_labels(written: Callable[..., tuple[Any, str]]) -> None:
    read, text = written()
    assert read.model.ssd.num_classes == 3
    assert "that API adds the background itself" in text
    read, text = written(export={"count_background": True})
    assert read.model.ssd.num_classes == 4
    assert "One more than labels (export.count_background)" in text


def test_num_steps_is_a_comment_unless_asked_for(written: Callable[..., tuple[Any, str]]) -> None:
    read, text = written()
    assert not read.train_config.HasField("num_steps")
    assert "num_steps: 3000" in text and "export.num_steps: true says it here" in text
    assert written(export={"num_steps": True})[0].train_config.num_steps == 3000


def test_the_readers_name_our_records_and_labels(written: Callable[..., tuple[Any, str]]) -> None:
    read, _ = written()
    [evaluation] = read.eval_input_reader
    training = read.train_input_reader
    assert list(training.tf_record_input_reader.input_path) == ["data/records/train-?????-of-00004"]
    assert list(evaluation.tf_record_input_reader.input_path) == ["data/records/validation-?????-of-00002"]
    assert training.label_map_path == evaluation.label_map_path == "data/records/label_map.pbtxt"
    assert training.shuffle and not evaluation.shuffle
    assert evaluation.num_epochs == 1 and not training.HasField("num_epochs")


def test_the_memory_knobs_stand_in_both_readers(written: Callable[..., tuple[Any, str]]) -> None:
    read, text = written(memory={"budget": "100GB"})
    assert (read.train_input_reader.shuffle_buffer_size, read.eval_input_reader[0].shuffle_buffer_size) == (1200, 300)
    for reader in (read.train_input_reader, read.eval_input_reader[0]):
        assert reader.queue_capacity == reader.min_after_dequeue == reader.shuffle_buffer_size
        assert reader.num_prefetch_batches >= 1 and reader.num_parallel_batches == 8
    assert (read.train_input_reader.num_readers, read.eval_input_reader[0].num_readers) == (4, 2)
    assert text.count("The next two are deprecated: its training programs do not read them") == 2


def test_memory_knobs_that_are_stated_are_said_as_stated(written: Callable[..., tuple[Any, str]]) -> None:
    knobs = {"shuffle_buffer_size": 256, "queue_capacity": 1000, "min_after_dequeue": 500}
    read, text = written(memory={"budget": "4GB", "shuffle": "buffer", **knobs})
    for reader in (read.train_input_reader, read.eval_input_reader[0]):
        assert {name: getattr(reader, name) for name in knobs} == knobs
    assert text.count("Records that wait to be shuffled: as stated.") == 2


def test_the_shuffle_buffer_fits_into_a_tenth_of_the_budget(manifest: Manifest) -> None:
    split = manifest.splits["train"]  # 1,200 records of 50 kB
    assert shuffle_buffer_size(10_000_000, split) == 20
    assert shuffle_buffer_size(4_000_000_000, split) == 1200
    assert shuffle_buffer_size(1, split) == 1


def test_evaluation_counts_as_coco_does(written: Callable[..., tuple[Any, str]]) -> None:
    read, _ = written(evaluate={"pictures": 7, "picture_min_score": 0.25})
    assert list(read.eval_config.metrics_set) == ["coco_detection_metrics"]
    assert (read.eval_config.batch_size, read.eval_config.num_visualizations) == (1, 7)
    assert read.eval_config.min_score_threshold == 0.25
    assert not read.eval_config.use_moving_averages


def test_the_optimizer_holds_the_schedule(written: Callable[..., tuple[Any, str]]) -> None:
    optimizer = written()[0].train_config.optimizer
    assert optimizer.momentum_optimizer.momentum_optimizer_value == pytest.approx(0.9)
    cosine = optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate
    assert cosine.learning_rate_base == pytest.approx(0.08)
    assert cosine.warmup_learning_rate == pytest.approx(0.02667)
    assert (cosine.total_steps, cosine.warmup_steps) == (3000, 1000)
    assert not optimizer.use_moving_average


def test_averaged_weights_are_asked_for(written: Callable[..., tuple[Any, str]]) -> None:
    read, _ = written(train={"batch_size": 4, "steps": 2000, "ema_decay": 0.99})
    assert read.train_config.optimizer.use_moving_average
    assert read.train_config.optimizer.moving_average_decay == pytest.approx(0.99)
    assert read.eval_config.use_moving_averages


@pytest.mark.parametrize(
    "optimizer, unsaid",
    [
        ({"kind": "momentum"}, "That API cannot say nesterov: true (its momentum is the plain one)."),
        ({"kind": "adam", "beta_1": 0.8}, "That API cannot say beta_1: 0.8, beta_2: 0.999 (its are 0.9 and 0.999)."),
        ({"kind": "adam", "weight_decay": 0.05}, "cannot say weight_decay: 0.05, apart from the gradients"),
    ],
)
def test_what_an_optimizer_cannot_hold_is_named(
    optimizer: dict, unsaid: str, written: Callable[..., tuple[Any, str]]
) -> None:
    assert unsaid in written(optimizer=optimizer)[1]


def test_rmsprop_warns_of_what_tensorflow_2_makes_of_its_decay(written: Callable[..., tuple[Any, str]]) -> None:
    read, text = written(optimizer={"kind": "rmsprop"})
    rmsprop = read.train_config.optimizer.rms_prop_optimizer
    assert (rmsprop.momentum_optimizer_value, rmsprop.decay) == (pytest.approx(0.9), pytest.approx(0.9))
    assert rmsprop.epsilon == 1.0
    assert "hands `decay` to Keras, which divides the rate by 1 + decay * step" in text


def test_an_optimizer_that_can_be_said_has_no_excuse(written: Callable[..., tuple[Any, str]]) -> None:
    assert "cannot" not in written()[1]
    read, text = written(optimizer={"kind": "adam", "epsilon": 0.01, "clip_norm": 5.0})
    assert "cannot" not in text
    assert read.train_config.optimizer.adam_optimizer.epsilon == pytest.approx(0.01)
    assert read.train_config.gradient_clipping_by_norm == 5.0


def test_training_that_cannot_be_said_is_named(written: Callable[..., tuple[Any, str]]) -> None:
    train = {"batch_size": 4, "steps": 2000, "accumulate_batches": 3, "mixed_precision": True, "trainable": ["head"]}
    read, text = written(train=train)
    assert read.train_config.batch_size == 4
    assert "cannot train only head (its update_trainable_variables goes by its own names" in text
    assert "cannot add up the gradients of 3 batches before a step (of 12)" in text
    assert "cannot compute in float16 (its use_bfloat16 is for TPUs)" in text


def test_of_a_run_with_phases_the_first_is_written_and_the_others_are_named(
    written: Callable[..., tuple[Any, str]],
) -> None:
    phases = [
        {"name": "head", "steps": 1500, "trainable": ["head"]},
        {"name": "all", "steps": 2000, "batch_size": 4, "lr": {"kind": "constant", "peak": 0.001}},
    ]
    read, text = written(train={"batch_size": 8, "phases": phases}, export={"num_steps": True})
    assert (read.train_config.batch_size, read.train_config.num_steps) == (8, 1500)
    rate = read.train_config.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate
    assert rate.total_steps == 1500
    assert (
        "This is the first one, 'head'. After it come 'all', 2000 steps of 4, rate 0.001: a copy of this file" in text
    )


@pytest.mark.parametrize(
    "init, kind",
    [
        ({"weights": "zoo/ckpt-0"}, "full"),
        ({"weights": "zoo/ckpt-0", "warm_start": ["backbone"]}, "classification"),
        ({"weights": "zoo/ckpt-0", "warm_start": ["neck", "backbone"]}, "detection"),
    ],
)
def test_the_checkpoint_to_start_from_is_named_with_its_part(
    init: dict, kind: str, written: Callable[..., tuple[Any, str]]
) -> None:
    train = written(train={"batch_size": 4, "steps": 2000, "init": init})[0].train_config
    assert (train.fine_tune_checkpoint, train.fine_tune_checkpoint_type) == ("zoo/ckpt-0", kind)
    assert train.fine_tune_checkpoint_version == 2  # V2


@pytest.mark.parametrize(
    "init, said",
    [
        ({"weights": "imagenet"}, "starts from ImageNet's weights of keras.applications"),
        ({"weights": "models/best.weights.h5"}, "starts from 'models/best.weights.h5', which is no TensorFlow checkpoint"),
    ],
)  # fmt: skip
def test_a_start_that_is_no_checkpoint_is_a_comment(
    init: dict, said: str, written: Callable[..., tuple[Any, str]]
) -> None:
    read, text = written(train={"batch_size": 4, "steps": 2000, "init": init})
    assert not read.train_config.HasField("fine_tune_checkpoint")
    assert said in text


def test_a_pattern_that_cannot_be_said_is_named(written: Callable[..., tuple[Any, str]]) -> None:
    init = {"weights": "ckpt-3", "warm_start": ["block_1_*"]}
    read, text = written(train={"batch_size": 4, "steps": 2000, "init": init})
    assert read.train_config.fine_tune_checkpoint_type == "full"
    assert "That API cannot load by pattern (block_1_*); all is loaded." in text


def test_no_path_is_absolute(written: Callable[..., tuple[Any, str]]) -> None:
    _, text = written()
    assert "Paths are relative to the workspace." in text
    assert not re.search(r'"/', text)
