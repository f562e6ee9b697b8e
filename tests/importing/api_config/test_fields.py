"""Values of a file by name, and what is said of those that nobody asked for."""

import pytest
from google.protobuf import text_format

from bakeoff.config.api_export.messages import keys, name_of, new_message
from bakeoff.importing.api_config.fields import REASONS, SAME_HERE, Block, ConversionReport, shorten
from bakeoff.importing.api_config.pipeline_reader import find_places
from support.messages import missing_in


def block_of(text: str) -> Block:
    place, mistakes = find_places(text)
    assert mistakes == []
    return Block(text_format.Parse(text, new_message(), allow_unknown_field=True), place)


def test_every_reason_is_of_a_message_or_field_that_there_is() -> None:
    for place in [*REASONS, *SAME_HERE]:
        message, _, field = place.partition(".")
        assert not field or field in new_message(message).DESCRIPTOR.fields_by_name, place


def test_a_field_that_the_file_lacks_has_that_apis_default_and_the_line_of_its_block() -> None:
    optimizer = block_of("\ntrain_config { batch_size: 3 }").inner("train_config").inner("optimizer")
    assert (optimizer.get("use_moving_average"), optimizer.get("moving_average_decay")) == (True, 0.9999)
    assert not optimizer.has("use_moving_average")
    assert optimizer.inner("adam_optimizer").get("epsilon") == 1e-8
    assert (optimizer.key, optimizer.line_of("use_moving_average")) == ("train_config.optimizer", 2)


def test_an_enum_is_its_name_and_a_repeated_field_a_list() -> None:
    root = block_of("train_config { fine_tune_checkpoint_version: 2 } eval_config { metrics_set: ['a', 'b'] }")
    assert root.inner("train_config").get("fine_tune_checkpoint_version") == "V2"
    assert root.inner("eval_config").get("metrics_set") == ["a", "b"]


def test_what_nobody_asked_for_is_reported_unless_it_is_so_here_anyway() -> None:
    root = block_of(
        "graph_rewriter { quantization { delay: 3 } }\n"
        "eval_config { metrics_set: 'coco_detection_metrics' save_graph: true max_evals: 9 batch_size: 1 }\n"
        "train_config { batch_size: 3 bias_grad_multiplier: 0.0 learning { } }".replace("learning { }", "num_steps: 5")
    )
    assert root.inner("train_config").take(keys("train", batch_size="batch")) == {"train.batch": 3}
    root.inner("eval_config")
    report = ConversionReport()
    report.drop_unused(root)
    named = [
        (1, ("graph_rewriter: not carried over", "quantised")),
        (2, ("eval_config.save_graph: not carried over", "groups evaluate and track")),
        (2, ("eval_config.max_evals: not carried over", "deprecated")),
        (3, ("train_config.num_steps: not carried over", "no counterpart")),
    ]
    assert [line for line, _ in report.lines] == [line for line, _ in named]
    assert [missing_in(text, *parts) for (_, text), (_, parts) in zip(report.lines, named, strict=True)] == [[]] * 4


def test_what_is_passed_over_is_not_reported_with_all_that_is_inside() -> None:
    root = block_of("train_config { optimizer { adam_optimizer { epsilon: 1 } } num_steps: 5 }")
    root.pass_over("train_config")
    assert list(root.unused()) == []


@pytest.mark.parametrize(
    "number, short",
    [
        (0.800000011920929, 0.8),
        (0.0007999999797903, 0.0008),
        (0.30000001192092896, 0.3),
        (1 / 3, 1 / 3),  # merely has many digits
        (123456.789012, 123456.789012),
        (1e300, 1e300),
        (1.2345678901e300, 1.2345678901e300),
        (0.0, 0.0),
    ],
)
def test_a_float32_written_out_in_full_is_the_number_that_was_meant(number: float, short: float) -> None:
    assert shorten(number) == short


def test_a_message_is_named_as_in_that_apis_files() -> None:
    schedule = new_message("ManualStepLearningRate").DESCRIPTOR.fields_by_name["schedule"].message_type
    assert name_of(schedule) == "ManualStepLearningRate.LearningRateSchedule"
