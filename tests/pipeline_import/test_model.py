"""Files of that API -> settings of this project."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.config.run import Run
from bakeoff.object_detection_api.pipeline import Imported, imported

Variant = Callable[..., Run]
FILES = Path(__file__).parent / "files"
TF1, TF2 = (FILES / name for name in ("tf1.config", "tf2.config"))


def read(path: Path, *changes: tuple[str, str]) -> Imported:
    """The file with some of its text replaced."""
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return imported(text.encode(), path.name)


def line_of(path: Path, text: str, *, last: bool = False) -> int:
    lines = [number for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if text in line]
    return lines[-1 if last else 0]


def test_a_file_of_tensorflow_2_becomes_the_option_of_its_model(variant: Variant) -> None:
    found = read(TF2)
    run = variant(**found.settings)
    assert run.model == variant(model="ssd_mobilenet_v2_fpnlite_320").model
    lr, train, optimizer = (found.settings[group] for group in ("lr", "train", "optimizer"))
    assert (lr["kind"], lr["peak"], lr["warmup_steps"], lr["warmup_from"]) == ("cosine", 0.08, 1000, 0.026666)
    assert lr["total_steps"] is None  # the run's length, which is the same
    assert (optimizer["kind"], optimizer["momentum"], optimizer["nesterov"]) == ("momentum", 0.9, False)
    assert (train["batch_size"], train["steps"], train["ema_decay"]) == (128, 50000, 0.0)
    assert train["init"] == {"weights": "imagenet"}
    assert train["augment"]["turn"] == {"mirror": 0.5}
    assert train["augment"]["crop"] == {
        "kind": "single", "min_object_covered": 0.0, "min_aspect_ratio": 0.75, "max_aspect_ratio": 3.0,
        "min_area": 0.75, "max_area": 1.0, "min_seen": 0.0, "untouched": 0.0, "when_empty": "keep",
    }  # fmt: skip


def test_what_is_not_carried_over_is_listed_by_line() -> None:
    assert read(TF2).report == [
        f"tf2.config:{line_of(TF2, text, last=last)}: {said}"
        for text, last, said in [
            ("inplace_batchnorm", False, "model.ssd.inplace_batchnorm_update: not carried over: steers how that API computes, not what"),
            ("num_classes", False, "model.ssd.num_classes: not carried over: comes from data/records and its manifest"),
            ("use_matmul_gather", False, "model.ssd.matcher.argmax_matcher.use_matmul_gather: not carried over: steers how that API computes, not what"),
            ("fine_tune_checkpoint:", False, "train_config.fine_tune_checkpoint: a placeholder; train.init.weights: imagenet in its place"),
            ("sync_replicas", False, "train_config.sync_replicas: not carried over: steers how that API computes, not what"),
            ("startup_delay", False, "train_config.startup_delay_steps: not carried over: steers how that API computes, not what"),
            ("replicas_to_agg", False, "train_config.replicas_to_aggregate: not carried over: steers how that API computes, not what"),
            ("max_number", False, "train_config.max_number_of_boxes: not carried over: deprecated: that API itself does not read it"),
            ("unpad_ground", False, "train_config.unpad_groundtruth_tensors: not carried over: steers how that API computes, not what"),
            ("label_map_path", False, "train_input_reader.label_map_path: not carried over: comes from data/records and its manifest"),
            ("tf_record_input", False, "train_input_reader.tf_record_input_reader: not carried over: comes from data/records and its manifest"),
            ("label_map_path", True, "eval_input_reader.label_map_path: not carried over: comes from data/records and its manifest"),
            ("tf_record_input", True, "eval_input_reader.tf_record_input_reader: not carried over: comes from data/records and its manifest"),
        ]
    ]  # fmt: skip


def test_a_file_of_tensorflow_1_keeps_its_figures(variant: Variant) -> None:
    found = read(TF1)
    assert variant(**(found.settings | {"train": found.settings["train"] | {"steps": 9000}}))
    model = found.settings["model"]
    assert (model["kind"], model["input_size"], model["num_maps"], model["depthwise_maps"]) == (
        "ssd_multibox", 300, 6, True,
    )  # fmt: skip
    assert model["backbone"] == {
        "name": "mobilenet_v2", "depth_multiplier": 0.75, "min_depth": 16, "override_hyperparameters": False,
    }  # fmt: skip
    assert model["mining"] == {
        "max_examples": 3000, "max_overlap": 0.99, "ranked_by": "classes", "max_negatives_per_positive": 3,
        "min_negatives_per_image": 3,
    }  # fmt: skip
    assert (model["loss"]["classes"], model["loss"]["background_below"]) == ("sigmoid", 0.4)
    assert (model["suppression"]["max_detections"], model["suppression"]["max_detections_per_class"]) == (100, 50)
    assert (model["predictor"]["kernel"], model["predictor"]["class_bias"], model["predictor"]["dropout"]) == (3, 0, 0)
    lr = found.settings["lr"]
    assert (lr["kind"], lr["peak"], lr["decay_factor"], lr["decay_steps"]) == ("exponential", 0.0008, 0.95, 2000)
    assert lr["staircase"] is True
    assert found.settings["optimizer"] == {
        "kind": "rmsprop", "momentum": 0.9, "rho": 0.9, "epsilon": 1.0, "clip_norm": 0.0,
    }  # fmt: skip
    train = found.settings["train"]
    assert "steps" not in train
    assert train["init"] == {"weights": "ssd_mobilenet_v2_coco/model.ckpt", "warm_start": ["backbone", "neck"]}
    assert train["ema_decay"] == 0.9999


@pytest.mark.parametrize(
    "text, said",
    [
        ("batch_norm_trainable", "model.ssd.feature_extractor.batch_norm_trainable: not carried over: that API has dropped"),
        ("queue_capacity", "train_input_reader.queue_capacity: not carried over: deprecated: that API itself does not"),
        ("shuffle_buffer_size", "train_input_reader.shuffle_buffer_size: not carried over: the memory group and the order"),
        ("num_examples", "eval_config.num_examples: not carried over: deprecated"),
        ("num_readers", "eval_input_reader.num_readers: not carried over: the memory group"),
        ("optimizer {", "train_config.optimizer.use_moving_average: is not there, which means true there; train.ema_decay"),
        ("ssd {", "model.ssd.encode_background_as_zeros: the background is coded otherwise here: with sigmoids it is a row"),
    ],
)  # fmt: skip
def test_old_files_say_what_they_lose(text: str, said: str) -> None:
    [found] = [line for line in read(TF1).report if said in line]
    assert found.startswith(f"tf1.config:{line_of(TF1, text)}: {said}")


OLD = {  # a change of tf1.config: what is said of it, and what is in its place
    ("type: 'ssd_mobilenet_v2'", "type: 'ssd_mobilenet_v1_ppn'"): (
        "feature_extractor.type: there is no 'ssd_mobilenet_v1_ppn' here; ssd_multibox with mobilenet_v1 stands",
        lambda model: model["backbone"]["name"] == "mobilenet_v1" and model["input_size"] == 288,
    ),
    ("type: 'ssd_mobilenet_v2'", "type: 'ssd_resnet50_v1_ppn'"): (
        "feature_extractor.type: there is no 'ssd_resnet50_v1_ppn' here; ssd_multibox with mobilenet_v2 stands",
        lambda model: model["anchors"]["min_scale"] == 0.2,
    ),
    ("num_layers: 6", "num_layers: 5"): (
        "model.ssd.num_classes: not carried over",
        lambda model: model["num_maps"] == 5,
    ),
    ("min_depth: 16", "num_layers: 4 min_depth: 16"): (
        "ssd_anchor_generator.num_layers: not carried over: the network has 4 maps, and anchors on each",
        lambda model: model["num_maps"] == 4,
    ),
    ("num_layers: 6", "num_layers: 6 height_stride: [16, 32] width_stride: [16, 32]"): (
        "ssd_anchor_generator.height_stride: not carried over: there is no counterpart here",
        lambda model: model["num_maps"] == 6,
    ),
    ("weighted_sigmoid { }", "weighted_sigmoid { anchorwise_output: true }"): (
        "weighted_sigmoid.anchorwise_output: not carried over: that API itself does not read it",
        lambda model: model["loss"]["classes"] == "sigmoid",
    ),
    ("batch_norm_trainable: true", "pad_to_multiple: 32"): (
        "model.ssd.feature_extractor.pad_to_multiple: not carried over: there is no counterpart here",
        lambda model: True,
    ),
    ("num_layers_before_predictor: 0", "num_layers_before_predictor: 2"): (
        "model.ssd.num_classes: not carried over",  # without a depth that API leaves the layers out
        lambda model: model["predictor"]["layers_before"] == 0,
    ),
    ("use_dropout: false", "use_dropout: true"): (
        "model.ssd.num_classes: not carried over",
        lambda model: model["predictor"]["dropout"] == 0.2,
    ),
    ("kernel_size: 3", "kernel_size: 1 use_depthwise: true"): (
        "convolutional_box_predictor.use_depthwise: a depthwise convolution of kernel 1 only scales; left out here",
        lambda model: not model["predictor"]["depthwise"],
    ),
    ("convolutional_box_predictor {", "weight_shared_convolutional_box_predictor { depth: 64 #"): (
        "model.ssd.box_predictor: weight_shared_convolutional_box_predictor does not go with this network here",
        lambda model: model["predictor"]["kernel"] == 3,
    ),
    ("# A robotics", "graph_rewriter { quantization { delay: 48000 } } # A robotics"): (
        "tf1.config:1: graph_rewriter: not carried over: there is no training for quantised weights here",
        lambda model: True,
    ),
}  # fmt: skip
OWN_LINES = """        min_depth: 0
        max_depth: 0
"""


@pytest.mark.parametrize("change", OLD, ids=lambda change: change[1][:40])
def test_what_old_files_have_besides_gets_the_nearest_and_is_said(
    change: tuple[str, str], variant: Callable[..., Run]
) -> None:
    said, holds = OLD[change]
    shared = "weight_shared" in change[1]
    gone = [(OWN_LINES, ""), ("        apply_sigmoid_to_scores: false\n", "")] if shared else []
    found = read(TF1, change, *gone)
    assert [line for line in found.report if said in line], "\n".join(found.report)
    assert holds(found.settings["model"])
    assert variant(model=found.settings["model"]).model  # and it is a network that can be built


def test_a_cosine_that_ends_before_the_run_is_said() -> None:
    found = read(TF2, ("num_steps: 50000", "num_steps: 60000"))
    line = line_of(TF2, "num_steps")
    said = (
        f"tf2.config:{line}: train_config.num_steps: the rate would be 0 from step 50000 on; lower train.steps to that"
    )
    assert said in found.report
    assert (found.settings["train"]["steps"], found.settings["lr"]["total_steps"]) == (60000, 50000)


def test_a_burn_in_without_a_rate_of_its_own_is_at_the_first_rate() -> None:
    found = read(TF1, ("decay_steps: 2000", "decay_steps: 2000 burnin_steps: 500 min_learning_rate: 1e-6"))
    lr = found.settings["lr"]
    assert (lr["burn_in_steps"], lr["burn_in_rate"], lr["floor"]) == (500, None, 1e-6)
    own = read(
        TF1, ("decay_steps: 2000", "decay_steps: 2000 burnin_steps: 500 burnin_learning_rate: .0001 staircase: false")
    )
    assert (own.settings["lr"]["burn_in_rate"], own.settings["lr"]["staircase"]) == (0.0001, False)


def test_frozen_variables_are_said() -> None:
    found = read(TF1, ("# num_steps: 200000", "freeze_variables: 'FeatureExtractor'"))
    [line] = [line for line in found.report if "freeze_variables" in line]
    assert line.endswith("train.trainable says what is trained, by the names that networks have here")


def test_a_file_without_a_length_says_so() -> None:
    said = "tf1.config: train_config.num_steps: is not there; say train.steps or train.epochs in params.yaml"
    assert said in read(TF1).report
    cosine = read(TF2, ("num_steps: 50000", "# no steps"))
    assert cosine.settings["train"]["steps"] == 50000
    assert (
        "tf2.config: train_config.num_steps: is not there; train.steps: 50000, where the cosine ends" in cosine.report
    )


FOCAL = "weighted_sigmoid_focal { alpha: 0.25 gamma: 2.0 }"
REPLACED = {  # a change of tf2.config: what is said of it, and what is in its place
    ("type: 'ssd_mobilenet_v2_fpn_keras'", "type: 'ssd_resnet101_v1_fpn_keras'"): (
        "model.ssd.feature_extractor.type: there is no 'ssd_resnet101_v1_fpn_keras' here; ssd_fpn with resnet50 stands",
        lambda model: model["backbone"]["name"] == "resnet50" and not model["pyramid"]["depthwise"],
    ),
    ("height: 320 width: 320", "height: 320 width: 300"): (
        "model.ssd.image_resizer.fixed_shape_resizer: inputs are square here: 320 x 320 for 320 x 300",
        lambda model: model["input_size"] == 320,
    ),
    ("height: 320 width: 320", "height: 300 width: 300"): (
        "model.ssd.image_resizer: mobilenet_v2 here wants a multiple of 32: 288 for 300",
        lambda model: model["input_size"] == 288,
    ),
    ("fixed_shape_resizer { height: 320 width: 320 }", "keep_aspect_ratio_resizer { max_dimension: 512 min_dimension: 9 }"): (
        "model.ssd.image_resizer.keep_aspect_ratio_resizer: images are brought to 512 x 512 here",
        lambda model: model["input_size"] == 512,
    ),
    ("fixed_shape_resizer { height: 320 width: 320 }", "identity_resizer { }"): (
        "model.ssd.image_resizer: images are brought to a square here; 300 x 300 for want of one",
        lambda model: model["input_size"] == 288,
    ),
    (FOCAL, "bootstrapped_sigmoid { alpha: 0.1 }"): (
        "classification_loss.bootstrapped_sigmoid: there is no such loss on classes here; a focal loss stands in its place",
        lambda model: "classes" not in model["loss"],
    ),
    (FOCAL, "weighted_sigmoid_focal { gamma: 2.0 }"): (
        "weighted_sigmoid_focal.alpha: without one both sides weigh 1; said here as 0.5 with twice the class weight",
        lambda model: model["loss"]["focal_alpha"] == 0.5 and model["loss"]["class_weight"] == 2.0,
    ),
    (FOCAL, "weighted_softmax { }"): (
        "model.ssd.post_processing.score_converter: the loss asks for SOFTMAX here, not SIGMOID",
        lambda model: model["loss"]["classes"] == "softmax",
    ),
    ("weighted_smooth_l1 { }", "weighted_giou { }"): (
        "localization_loss.weighted_giou: there is no such loss on boxes here; weighted_smooth_l1 stands in its place",
        lambda model: "smooth_l1_delta" not in model["loss"],
    ),
    ("iou_similarity { }", "ioa_similarity { }"): (
        "model.ssd.similarity_calculator: there is no ioa_similarity here; overlap (iou_similarity) is used",
        lambda model: True,
    ),
    ("faster_rcnn_box_coder { y_scale: 10.0 x_scale: 10.0 height_scale: 5.0 width_scale: 5.0 }", "square_box_coder { y_scale: 7.0 }"): (
        "model.ssd.box_coder: there is no square_box_coder here; faster_rcnn_box_coder stands in its place",
        lambda model: model["box_scales"] == [10.0, 10.0, 5.0, 5.0],
    ),
    ("fpn { min_level: 3 max_level: 7 additional_layer_depth: 128 }", "bifpn { min_level: 3 max_level: 7 num_iterations: 3 num_filters: 64 }"): (
        "model.ssd.feature_extractor.bifpn: there is no two-way pyramid here; a plain one of its levels stands",
        lambda model: model["pyramid"]["depth"] == 64,
    ),
    ("fpn { min_level: 3 max_level: 7", "fpn { min_level: 3 max_level: 6"): (
        "multiscale_anchor_generator.min_level: not carried over: the network has levels 3 to 6, and anchors on each",
        lambda model: model["pyramid"]["max_level"] == 6,
    ),
    ("type: 'ssd_mobilenet_v2_fpn_keras'", "type: 'ssd_mobilenet_v2_keras'"): (
        "model.ssd.anchor_generator: multiscale_anchor_generator does not go with this network here; its own anchors stay",
        lambda model: model["kind"] == "ssd_multibox" and model["anchors"] == {},
    ),
    ("initializer { random_normal_initializer { stddev: 0.01 mean: 0.0 } }", "initializer { variance_scaling_initializer { } }"): (
        "conv_hyperparams.initializer: there is no variance_scaling_initializer here; random_normal of 0.01 stands",
        lambda model: "initializer" not in model["convolutions"],
    ),
    ("activation: RELU_6", "activation: SWISH"): (
        "model.ssd.feature_extractor.conv_hyperparams.activation: there is no SWISH here; RELU_6 stands in its place",
        lambda model: "activation" not in model["convolutions"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", REPLACED, ids=lambda change: change[1][:40])
def test_what_has_no_counterpart_gets_the_nearest_and_is_said(change: tuple[str, str], variant: Variant) -> None:
    said, holds = REPLACED[change]
    found = read(TF2, change)
    assert [line for line in found.report if said in line], "\n".join(found.report)
    assert all(re.match(r"tf2\.config:\d+: ", line) for line in found.report)
    assert holds(found.settings["model"])
    assert variant(**found.settings).model  # and it is a network that can be built


def test_the_demos_own_network_keeps_its_own_scales() -> None:
    text = b"model { ssd { feature_extractor { type: 'bakeoff_ssd' } box_coder { faster_rcnn_box_coder { y_scale: 5 } } } }"
    assert (
        "p.config:1: model.ssd.box_coder: this network codes boxes by 10.0, 10.0, 5.0, 5.0"
        in imported(text, "p.config").report
    )


def test_the_smallest_file_gets_that_apis_defaults(variant: Variant) -> None:
    found = imported(b"model { ssd { } }", "p.config")
    assert found.settings["train"]["batch_size"] == 32
    assert found.settings["model"]["kind"] == "ssd_multibox"
    assert "p.config:1: train_config.optimizer: the file says none, and that API would refuse it; momentum here" in (
        found.report
    )
    assert variant(**(found.settings | {"train": found.settings["train"] | {"steps": 10}}))
