"""What a run's training is in that API's words."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from google.protobuf import text_format

from bakeoff.config.api_export.messages import new_message
from bakeoff.config.api_export.pipeline import format_pipeline
from bakeoff.config.compose.whole_run import Run
from bakeoff.dataset.records.manifest import Manifest
from support.messages import missing_in

Write = Callable[..., tuple[Any, str]]


@dataclass(frozen=True)
class ToyOptimizer:
    slots: int = 1


def test_num_steps_is_a_comment_unless_asked_for(written: Write) -> None:
    read, text = written()
    assert not read.train_config.HasField("num_steps")
    assert "num_steps: 3000" in text and "export.num_steps: true says it here" in text
    assert written(export={"num_steps": True})[0].train_config.num_steps == 3000


def test_a_run_without_an_end_has_no_num_steps_as_in_that_api(written: Write) -> None:
    endless = {"train": {"batch_size": 8, "steps": "unlimited"}, "export": {"num_steps": True}}
    for lr in (
        {"kind": "constant", "peak": 0.01},
        {"kind": "exponential", "peak": 0.01, "decay_factor": 0.9, "decay_steps": 100, "warmup_steps": 50},
    ):
        read, text = written(lr=lr, **endless)
        assert not read.train_config.HasField("num_steps") and "num_steps" not in text


@pytest.mark.parametrize(
    "optimizer, unsaid",
    [
        ({"kind": "momentum"}, ("cannot say nesterov: true",)),
        ({"kind": "adam", "beta_1": 0.8}, ("cannot say beta_1: 0.8, beta_2: 0.999", "0.9", "0.999")),
        ({"kind": "adam", "weight_decay": 0.05}, ("cannot say weight_decay: 0.05",)),
    ],
)
def test_what_an_optimizer_cannot_hold_is_named(optimizer: dict, unsaid: tuple[str, ...], written: Write) -> None:
    assert missing_in(written(optimizer=optimizer)[1], *unsaid) == []


def test_rmsprop_warns_of_what_tensorflow_2_makes_of_its_decay(written: Write) -> None:
    assert missing_in(written(optimizer={"kind": "rmsprop"})[1], "`decay`", "1 + decay * step") == []


def test_an_optimizer_that_can_be_written_has_no_comment(written: Write) -> None:
    assert "cannot" not in written()[1]
    assert "cannot" not in written(optimizer={"kind": "adam", "epsilon": 0.01, "clip_norm": 5.0})[1]


def test_an_optimizer_of_ones_own_is_named(variant: Callable[..., Run], manifest: Manifest) -> None:
    """Its rate and its clipping have no place in the file then."""
    text = format_pipeline(replace(variant(), optimizer=ToyOptimizer()), manifest)
    train: Any = text_format.Parse(text, new_message()).train_config
    assert train.optimizer.WhichOneof("optimizer") is None
    assert not train.HasField("gradient_clipping_by_norm")
    assert re.search(r"# .*\bno optimizer.*ToyOptimizer", text)


def test_training_that_cannot_be_written_is_named(written: Write) -> None:
    train = {"batch_size": 4, "steps": 2000, "accumulate_batches": 3, "mixed_precision": True, "trainable": ["head"]}
    read, text = written(train=train)
    assert read.train_config.batch_size == 4
    assert missing_in(text, "cannot train only head", "update_trainable_variables") == []
    assert missing_in(text, "gradients of 3", "12") == []
    assert "cannot compute in float16 (its use_bfloat16 is for TPUs)" in text


def test_of_a_run_with_phases_the_first_is_written_and_the_others_are_named(
    written: Write,
) -> None:
    phases = [
        {"name": "head", "steps": 1500, "trainable": ["head"]},
        {"name": "all", "steps": 2000, "batch_size": 4, "lr": {"kind": "constant", "peak": 0.001}},
    ]
    read, text = written(train={"batch_size": 8, "phases": phases}, export={"num_steps": True})
    assert (read.train_config.batch_size, read.train_config.num_steps) == (8, 1500)
    rate = read.train_config.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate
    assert rate.total_steps == 1500
    assert missing_in(text, "first", "'head'", "'all', 2000 steps of 4, rate 0.001") == []


@pytest.mark.parametrize(
    "init, comment",
    [
        ({"weights": "imagenet"}, ("ImageNet", "keras.applications")),
        ({"weights": "models/best.weights.h5"}, ("'models/best.weights.h5'", "no TensorFlow checkpoint")),
    ],
)  # fmt: skip
def test_a_start_that_is_no_checkpoint_is_a_comment(init: dict, comment: tuple[str, ...], written: Write) -> None:
    read, text = written(train={"batch_size": 4, "steps": 2000, "init": init})
    assert not read.train_config.HasField("fine_tune_checkpoint")
    assert missing_in(text, *comment) == []


def test_a_pattern_that_cannot_be_written_is_named(written: Write) -> None:
    init = {"weights": "ckpt-3", "warm_start": ["block_1_*"]}
    read, text = written(train={"batch_size": 4, "steps": 2000, "init": init})
    assert read.train_config.fine_tune_checkpoint_type == "full"
    assert missing_in(text, "pattern (block_1_*)", "all is loaded") == []
