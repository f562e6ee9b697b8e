"""That API's messages, as protobuf makes them from the tables, and the text of a tree of their fields."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf import json_format, text_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from bakeoff.config.api_export.messages import (
    OPAQUE,
    SCHEMA,
    WIDTH,
    Noted,
    OneLine,
    Tree,
    format_comment,
    format_text,
    name_of,
    new_message,
)


def all_messages() -> dict[str, Descriptor]:
    """Every message that can be reached from the whole file, by its name."""
    reached: dict[str, Descriptor] = {}
    waiting = [new_message().DESCRIPTOR]
    while waiting:
        kind = waiting.pop()
        reached[name_of(kind)] = kind
        inner = [field.message_type for field in kind.fields if field.message_type]
        waiting += [kind for kind in inner if name_of(kind) not in reached]
    return reached


def test_every_message_can_be_reached_from_the_whole_file() -> None:
    tables = {kind.full_name for kind in all_messages().values()}
    assert tables == {f"object_detection.protos.{name}" for name in _names_in_the_tables()} | {
        f"object_detection.protos.{name}" for name in OPAQUE
    }


def _names_in_the_tables() -> Iterator[str]:
    tables = sorted(SCHEMA.glob("*.txt"))
    assert [table.stem for table in tables] == ["augmentation", "network", "training"]
    for table in tables:
        yield from re.findall(r"^message (\S+)$", table.read_text(encoding="utf-8"), re.MULTILINE)


def default_of(message: str, field: str) -> Any:
    return getattr(new_message(message), field)


def test_the_defaults_that_surprise_people() -> None:
    """Figures of the protos: averaging is on, a cosine warms up for 10,000 steps, stairs are the default."""
    assert default_of("Optimizer", "use_moving_average") is True
    assert default_of("CosineDecayLearningRate", "warmup_steps") == 10_000
    assert default_of("CosineDecayLearningRate", "total_steps") == 4_000_000
    assert default_of("ExponentialDecayLearningRate", "staircase") is True
    assert default_of("RMSPropOptimizer", "epsilon") == 1
    assert default_of("AdamOptimizer", "epsilon") == 1e-8
    assert default_of("InputReader", "shuffle_buffer_size") == 2048
    assert default_of("BidirectionalFeaturePyramidNetworks", "combine_method") == "fast_attention"
    assert default_of("PostProcessing", "score_converter") == 0  # IDENTITY
    reader = new_message("InputReader").DESCRIPTOR
    deprecated = {field.name for field in reader.fields if field.GetOptions().deprecated}
    assert deprecated == {"queue_capacity", "min_after_dequeue", "prefetch_size", "num_parallel_map_calls"}


def test_an_enum_without_a_default_in_its_line_has_its_first_value() -> None:
    jitter = new_message("RandomJitterBoxes").DESCRIPTOR.fields_by_name["jitter_mode"].enum_type
    assert [(value.name, value.number) for value in jitter.values][:5] == [
        ("DEFAULT", 0), ("EXPAND", 1), ("SHRINK", 2), ("EXPAND_SYMMETRIC", 4), ("SHRINK_SYMMETRIC", 5),
    ]  # fmt: skip


def test_groups_of_which_one_can_be_chosen() -> None:
    groups = new_message("LearningRate").DESCRIPTOR.oneofs_by_name
    assert {name: [field.name for field in group.fields] for name, group in groups.items()} == {
        "learning_rate": [
            "constant_learning_rate",
            "exponential_decay_learning_rate",
            "manual_step_learning_rate",
            "cosine_decay_learning_rate",
        ]
    }
    assert not new_message("BatchNorm").DESCRIPTOR.oneofs


def test_a_number_keeps_the_digits_that_the_variant_has() -> None:
    """That API's `float` is a double here, which is the same in text."""
    types = {field.type for kind in all_messages().values() for field in kind.fields}
    assert FieldDescriptor.TYPE_FLOAT not in types
    assert format_text({"moving_average_decay": 2 / 3}, "Optimizer") == f"moving_average_decay: {2 / 3!r}"


def test_a_tree_is_written_as_protobuf_reads_it() -> None:
    name = 'a "b" \\ ü\n\t\x01'
    tree: Tree = {
        "eval_config": {"skip_scores": True, "metrics_set": [name, "c"]},
        "train_config": Noted(
            "Two words.\nA line.",
            {"batch_size": 7, "num_steps": Noted("alone"), "gradient_clipping_by_norm": 1e-05, "freeze_variables": []},
        ),
        "model": {"ssd": {"num_classes": -1, "post_processing": {"score_converter": "SOFTMAX"}}},
        "eval_input_reader": [{}, OneLine(name="a", shuffle=False)],
        "graph_rewriter": {},
    }
    text = format_text(tree)
    assert (
        text
        == r"""
eval_config {
  skip_scores: true
  metrics_set: "a \"b\" \\ ü\n\t\001"
  metrics_set: "c"
}
# Two words.
# A line.
train_config {
  batch_size: 7
  # alone
  gradient_clipping_by_norm: 1e-05
}
model {
  ssd {
    num_classes: -1
    post_processing {
      score_converter: SOFTMAX
    }
  }
}
eval_input_reader {
}
eval_input_reader { shuffle: false name: "a" }
graph_rewriter {
}
""".strip()
    )
    read_back: Any = text_format.Parse(text, new_message())
    assert list(read_back.eval_config.metrics_set) == [name, "c"]
    assert read_back.train_config.gradient_clipping_by_norm == 1e-5
    assert read_back.model.ssd.post_processing.score_converter == 2
    assert read_back.HasField("graph_rewriter") and not read_back.train_config.HasField("num_steps")


@pytest.mark.parametrize(
    "tree, reason",
    [
        ({"modle": {}}, 'has no field named "modle"'),
        ({"model": {"ssd": {}, "center_net": {}}}, "should not have multiple .* oneof fields"),
        ({"train_config": {"batch_size": -1}}, "Value out of range: -1"),
        ({"train_config": {"batch_size": 1.5}}, "Couldn't parse integer: 1.5"),
        ({"train_config": {"fine_tune_checkpoint_version": "V3"}}, "Invalid enum value V3"),
    ],
)
def test_a_tree_that_the_messages_do_not_allow_is_refused(tree: Tree, reason: str) -> None:
    with pytest.raises(json_format.ParseError, match=reason):
        format_text(tree)


def test_long_comments_are_wrapped() -> None:
    lines = format_comment("word " * 60)
    assert len(lines) > 1 and max(map(len, lines)) <= WIDTH + 2
    assert all(line.startswith("# word") for line in lines)
