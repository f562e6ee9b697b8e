"""Whole files of that API -> settings of this project, and what of them is lost."""

from collections.abc import Callable

import pytest
import yaml

from bakeoff.config.compose.whole_run import Run
from bakeoff.foundation.errors import ConfigError
from bakeoff.importing.api_config.options import check_settings, import_pipeline
from support.api_files import TF1, TF2, import_changed, line_of
from support.imports import ROOT
from support.messages import missing_in

Variant = Callable[..., Run]


def test_a_file_of_tensorflow_2_becomes_the_option_of_its_model(variant: Variant) -> None:
    assert variant(**import_changed(TF2).settings).model == variant(model="ssd_mobilenet_v2_fpnlite_320").model


def test_what_is_not_carried_over_is_listed_by_line() -> None:
    named = [
        ("inplace_batchnorm", False, "model.ssd.inplace_batchnorm_update: not carried over", "how that API"),
        ("num_classes", False, "model.ssd.num_classes: not carried over", "data/records"),
        ("use_matmul_gather", False, "model.ssd.matcher.argmax_matcher.use_matmul_gather: not carried over", "how that API"),
        ("fine_tune_checkpoint:", False, "train_config.fine_tune_checkpoint: ", "placeholder", "train.init.weights: imagenet"),
        ("sync_replicas", False, "train_config.sync_replicas: not carried over", "how that API"),
        ("startup_delay", False, "train_config.startup_delay_steps: not carried over", "how that API"),
        ("replicas_to_agg", False, "train_config.replicas_to_aggregate: not carried over", "how that API"),
        ("max_number", False, "train_config.max_number_of_boxes: not carried over", "deprecated"),
        ("unpad_ground", False, "train_config.unpad_groundtruth_tensors: not carried over", "how that API"),
        ("label_map_path", False, "train_input_reader.label_map_path: not carried over", "data/records"),
        ("tf_record_input", False, "train_input_reader.tf_record_input_reader: not carried over", "data/records"),
        ("label_map_path", True, "eval_input_reader.label_map_path: not carried over", "data/records"),
        ("tf_record_input", True, "eval_input_reader.tf_record_input_reader: not carried over", "data/records"),
    ]  # fmt: skip
    for line, (text, last, *parts) in zip(import_changed(TF2).report, named, strict=True):
        assert missing_in(line, f"tf2.config:{line_of(TF2, text, last=last)}: ", *parts) == []


@pytest.mark.parametrize(
    "text, parts",
    [
        ("batch_norm_trainable", ("model.ssd.feature_extractor.batch_norm_trainable: not carried over", "dropped")),
        ("queue_capacity", ("train_input_reader.queue_capacity: ", "memory.queue_capacity: 1000")),
        ("num_examples", ("eval_config.num_examples: not carried over", "deprecated")),
        ("num_readers", ("eval_input_reader.num_readers: not carried over", "memory group")),
        ("optimizer {", ("train_config.optimizer.use_moving_average: ", "not there", "true", "train.ema_decay")),
        ("num_classes", ("model.ssd.num_classes: not carried over", "data/records")),
    ],
)  # fmt: skip
def test_old_files_say_what_they_lose(text: str, parts: tuple[str, ...]) -> None:
    [line] = [line for line in import_changed(TF1).report if parts[0] in line]
    assert missing_in(line, f"tf1.config:{line_of(TF1, text)}: ", *parts) == []


def test_numbers_of_the_readers_memory_are_taken_along() -> None:
    """The three lines of the FRC recipe; what a file does not say stays as it is."""
    shipped = yaml.safe_load((ROOT / "conf/memory/frc.yaml").read_text(encoding="utf-8"))
    assert import_changed(TF1).settings["memory"] == shipped
    alone = import_changed(TF1, ("  queue_capacity: 1000\n", ""), ("  min_after_dequeue: 1000\n", ""))
    assert alone.settings["memory"] == {"budget": "10GB", "shuffle": "buffer", "shuffle_buffer_size": 256}
    nothing = import_changed(TF2, ("train_input_reader: {", "train_input_reader: { queue_capacity: 0"))
    assert "memory" not in import_changed(TF2).settings | nothing.settings


def test_a_queue_that_cannot_hold_what_it_must_is_refused_in_the_files_name() -> None:
    imported = import_changed(TF1, ("min_after_dequeue: 1000", "min_after_dequeue: 1001"))
    with pytest.raises(ConfigError, match=r"^tf1\.config: memory\.queue_capacity: .*min_after_dequeue=1001\D+1000"):
        check_settings(imported.settings | {"train": imported.settings["train"] | {"steps": 9}}, "tf1.config")


def test_the_smallest_file_gets_that_apis_defaults(variant: Variant) -> None:
    imported = import_pipeline(b"model { ssd { feature_extractor { type: 'ssd_mobilenet_v2_keras' } } }", "p.config")
    assert imported.settings["train"]["batch_size"] == 32
    assert imported.settings["model"]["kind"] == "ssd_multibox"
    parts = "p.config:1: train_config.optimizer: ", "none", "momentum"
    assert [line for line in imported.report if not missing_in(line, *parts)]
    assert variant(**(imported.settings | {"train": imported.settings["train"] | {"steps": 10}}))
