"""What a file of that API may have wrong, and what is said of it."""

import re
from pathlib import Path

import pytest

from bakeoff.errors import ConfigError
from bakeoff.object_detection_api.pipeline import MOST_BYTES, imported

TF2 = Path(__file__).parent / "files/tf2.config"


def read(*changes: tuple[str, str]) -> None:
    """The file with some of its text replaced."""
    text = TF2.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    imported(text.encode(), TF2.name)


@pytest.mark.parametrize(
    "change, said",
    [
        (("matcher {", "macher {"), "tf2.config:9: model.ssd.macher: no such field; did you mean 'matcher'? one of: "),
        (("num_classes: 90", "num_classes: many"), "tf2.config:7: model.ssd.num_classes: must be a whole number, at most 2147483647, got many"),
        (("batch_size: 128", "batch_size: -1"), "train_config.batch_size: must be a whole number, 0 or more, at most 4294967295, got -1"),
        (("batch_size: 128", "batch_size: 1e9"), "train_config.batch_size: must be a whole number"),
        (("gamma: 2.0", "gamma: nan"), "weighted_sigmoid_focal.gamma: must be a finite number, got nan"),
        (("gamma: 2.0", "gamma: 1e400"), "weighted_sigmoid_focal.gamma: must be a finite number, got 1e400"),
        (("gamma: 2.0", "gamma: 'two'"), "weighted_sigmoid_focal.gamma: must be a number, got 'two'"),
        (("activation: RELU_6", "activation: RELU6"), "conv_hyperparams.activation: no such choice RELU6; did you mean 'RELU_6'? one of: NONE, RELU, RELU_6, SWISH"),
        (("freeze_batchnorm: false", "freeze_batchnorm: no"), "tf2.config:6: model.ssd.freeze_batchnorm: must be true or false, got no"),
        (("type: 'ssd_mobilenet_v2_fpn_keras'", "type: ssd"), "model.ssd.feature_extractor.type: must be a text in quotes, got ssd"),
        (("freeze_batchnorm: false", "freeze_batchnorm: false freeze_batchnorm: true"), "model.ssd.freeze_batchnorm: is there twice, first in line 6; it holds one true or false"),
        (("freeze_batchnorm: false", "freeze_batchnorm: [false]"), "model.ssd.freeze_batchnorm: is no list; it holds one true or false"),
        (("freeze_batchnorm: false", "freeze_batchnorm { }"), "model.ssd.freeze_batchnorm: must be true or false, got a block { }"),
        (("similarity_calculator { iou_similarity { } }", "similarity_calculator: 'iou'"), "model.ssd.similarity_calculator: must be a block { }, got 'iou'"),
        (("optimizer {", "optimizer { adam_optimizer { }"), "train_config.optimizer.momentum_optimizer: cannot stand beside adam_optimizer (line "),
        (("  ssd {", "  faster_rcnn {"), "tf2.config:4: model: only `ssd` can be carried over, got a faster_rcnn model"),
        (("  ssd {", "  center_net {"), "tf2.config:4: model: only `ssd` can be carried over, got a center_net model"),
        (("model {", "item {"), "tf2.config: not a pipeline.config: it has no block `model { ssd { … } }`"),
        (("      score_converter: SIGMOID\n    }\n", "      score_converter: SIGMOID\n"), "not protobuf text format: the block opened in line 3 is never closed"),
    ],
)  # fmt: skip
def test_a_mistake_is_said_with_its_line(change: tuple[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        read(change)


def test_of_very_many_mistakes_the_first_are_said() -> None:
    with pytest.raises(ConfigError) as refused:
        imported(b"model { ssd { " + b"x: 1\n" * 1000 + b"} }", "p.config")
    lines = str(refused.value).splitlines()
    assert len(lines) == 31
    assert lines[0].startswith("p.config:1: model.ssd.x: no such field")
    assert lines[-1] == "p.config: and 970 more"


def test_all_mistakes_come_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        read(("matcher {", "macher {"), ("num_steps: 50000", "num_steps: 5.5"), ("gamma: 2.0", "gama: 2"))
    lines = str(refused.value).splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        "model.ssd.macher",
        "model.ssd.loss.classification_loss.weighted_sigmoid_focal.gama",
        "train_config.num_steps",
    ]
    assert all(re.match(r"tf2\.config:\d+: ", line) for line in lines)


@pytest.mark.parametrize(
    "content, said",
    [
        (b"model { ssd { num_classes: " + b"9" * 900_000 + b"x } }", "p.config:1: not protobuf text format: not a number: '999"),
        (b"a" * 900_000 + b" { }", "p.config:1: not protobuf text format: a name must have at most 200 letters, got aaa"),
        (b"\x00\x01\x02", "p.config: a binary file; pipeline.config is a text"),
        (b"\xff\xfe\x00m", "p.config: not a text in UTF-8 (byte 0); pipeline.config is one"),
        (b"", "p.config: not a pipeline.config: it has no block `model { ssd { … } }`"),
        (b"# YAML\nmodel:\n  ssd:\n    num_classes: 3\n", "p.config:3: not protobuf text format: a field's name must stand here, got ':'; it looks like YAML"),
        (b"model:\n  ssd: 3\n", "p.config:2: not protobuf text format: a field's name must stand here, got ':'; it looks like YAML"),
        (b'{"model": {"ssd": {}}}', "p.config:1: not protobuf text format: a field's name must stand here, got '{'; it looks like JSON"),
        (b"item { id: 1 name: 'ball' }", "p.config: not a pipeline.config: it has no block"),
        (b"model { }", "p.config:1: model: only `ssd` can be carried over, got no model"),
        (b" " * (MOST_BYTES + 1), f"p.config: must be at most {MOST_BYTES:,} bytes, got more; is it a pipeline.config?"),
        (b"model {" * 10_000, "p.config:1: not protobuf text format: blocks must not be nested deeper than 64"),
        (b"model { ssd { } } train_config { num_steps: " + b"9" * 400_000 + b" }", "train_config.num_steps: must be a whole number"),
    ],
    ids=["a number before a letter", "a name", "binary", "utf-16", "empty", "yaml", "short yaml", "json", "label map", "no model", "too long", "too deep", "too large a number"],
)  # fmt: skip
def test_what_is_no_pipeline_config_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        imported(content, "p.config")
    assert said in str(refused.value)
    assert len(str(refused.value)) < 1000
