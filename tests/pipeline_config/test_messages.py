"""The tables of that API's messages hold together."""

from collections.abc import Callable

import pytest
from google.protobuf.message import Message

from bakeoff.object_detection_api import schema
from bakeoff.object_detection_api.report import REASONS, SAME_HERE
from bakeoff.object_detection_api.values import default_of

FIELDS = [(message, field) for message, fields in schema.MESSAGES.items() for field in fields.values()]


def test_every_field_has_a_type_that_is_known() -> None:
    known = schema.SCALARS | schema.MESSAGES.keys() | schema.ENUMS.keys()
    assert [(message, field.name) for message, field in FIELDS if field.type not in known] == []


def test_no_number_is_there_twice() -> None:
    for message, fields in schema.MESSAGES.items():
        numbers = [field.number for field in fields.values()]
        assert len(set(numbers)) == len(numbers), message


def test_every_message_can_be_reached_from_the_whole_file() -> None:
    reached, waiting = set(), [schema.ROOT]
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting += [
            field.type for field in schema.MESSAGES[name].values() if field.type in schema.MESSAGES.keys() - reached
        ]
    assert reached == schema.MESSAGES.keys()


@pytest.mark.parametrize("message, field", FIELDS, ids=lambda part: part if isinstance(part, str) else part.name)
def test_defaults_are_protobufs_own(
    message: str, field: schema.FieldType, messages: Callable[[str], type[Message]]
) -> None:
    if field.type in schema.MESSAGES or field.repeated:
        return
    theirs = getattr(messages(message)(), field.name)
    ours = default_of(field.default, field.type)
    if field.type in schema.ENUMS:
        ours = schema.ENUMS[field.type][str(ours)]
    assert theirs == (pytest.approx(ours, rel=1e-6) if field.type == "float" else ours)


def test_the_defaults_that_surprise_people() -> None:
    """Figures of the protos: averaging is on, a cosine warms up for 10,000 steps, stairs are the default."""
    optimizer, cosine = schema.MESSAGES["Optimizer"], schema.MESSAGES["CosineDecayLearningRate"]
    assert optimizer["use_moving_average"].default == "true"
    assert (cosine["warmup_steps"].default, cosine["total_steps"].default) == ("10000", "4000000")
    assert schema.MESSAGES["ExponentialDecayLearningRate"]["staircase"].default == "true"
    assert schema.MESSAGES["RMSPropOptimizer"]["epsilon"].default == "1"
    assert schema.MESSAGES["InputReader"]["shuffle_buffer_size"].default == "2048"
    deprecated = {name for name, field in schema.MESSAGES["InputReader"].items() if field.deprecated}
    assert deprecated == {"queue_capacity", "min_after_dequeue", "prefetch_size", "num_parallel_map_calls"}


def test_every_reason_is_of_a_message_or_field_that_there_is() -> None:
    known = {f"{message}.{field.name}" for message, field in FIELDS} | schema.MESSAGES.keys()
    assert REASONS.keys() - known == set()
    assert {".".join(place) for place in SAME_HERE} - known == set()


def test_groups_of_which_one_can_be_chosen() -> None:
    assert schema.oneofs("LearningRate") == {
        "learning_rate": [
            "constant_learning_rate",
            "exponential_decay_learning_rate",
            "manual_step_learning_rate",
            "cosine_decay_learning_rate",
        ]
    }
    assert schema.oneofs("BatchNorm") == {}
