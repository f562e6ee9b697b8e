"""Each field of a pipeline.config comes back as it was, or a line names it."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from bakeoff.config.api_export.messages import OPAQUE, name_of
from bakeoff.config.compose.whole_run import Run
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.foundation.errors import ConfigError
from proofs.official.protos_there import compare
from support.api_files import TF1, TF2
from support.carried import OWN, names_of, parse, write_again
from support.messages import missing_in

Variant = Callable[..., Run]
BASES = {"tf1": TF1.read_text(encoding="utf-8"), "tf2": TF2.read_text(encoding="utf-8")}
RATE = "exponential_decay_learning_rate {"
COSINE = "warmup_steps: 1000"
FLIP, CROP = "random_horizontal_flip { }", "ssd_random_crop { }"
FOCAL = "weighted_sigmoid_focal { alpha: 0.25 gamma: 2.0 }"
PATH = 'fine_tune_checkpoint: "ssd_mobilenet_v2_coco/model.ckpt"'
TYPE = 'fine_tune_checkpoint_type: "detection"'
CLASSES = "num_classes: 38"
NORM_OF_HEADS = "          batch_norm { train: true, scale: true, center: true, decay: 0.9997, epsilon: 0.001, }\n"
EQUAL = [  # a file, and changes of it after which every field of model and train_config comes back or is named
    ("tf1", ()),
    ("tf2", ()),
    ("tf1", [("num_classes: 38", "num_classes: 38 encode_background_as_zeros: true")]),
    ("tf2", [("encode_background_as_zeros: true", "encode_background_as_zeros: false")]),
    ("tf2", [("encode_background_as_zeros: true", "add_background_class: false encode_background_as_zeros: true")]),
    ("tf1", [(RATE, f"{RATE} burnin_steps: 500")]),
    ("tf1", [(RATE, f"{RATE} burnin_steps: 500 burnin_learning_rate: 0.0008")]),
    ("tf1", [(CROP, "rgb_to_gray { }")]),
    ("tf1", [(CROP, "random_pad_image { pad_color: [1, 2, 3] }")]),
    ("tf1", [(CROP, "random_vertical_flip { probability: 0.25 }")]),
]


def differences(text: str, variant: Variant, manifest: Manifest) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return what differs in model and train_config, by field, and the import's lines."""
    again, lines = write_again(text.encode(), "p.config", variant, manifest)
    differing = compare(parse(text), parse(again))
    return {key: values for key, *values in differing if not key.startswith(OWN)}, lines


def changed(name: str, changes: Any) -> str:
    text = BASES[name]
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(("name", "changes"), EQUAL, ids=lambda value: str(value)[-40:])
def test_a_field_comes_back_as_it_was(name: str, changes: Any, variant: Variant, manifest: Manifest) -> None:
    usual, _ = differences(BASES[name], variant, manifest)
    differing, lines = differences(changed(name, changes), variant, manifest)
    assert differing.keys() <= usual.keys()
    assert all(names_of(key, lines) for key in differing)


NAMED = [  # a file, a change of it, the field that does not come back, and its line
    ("tf1", "dropout_keep_probability: 0.8", "dropout_keep_probability: 0.5", "dropout_keep_probability",
     ("not carried over", "use_dropout")),
    ("tf2", COSINE, "warmup_steps: 0", "warmup_learning_rate", ("not carried over", "warmup_steps: 0")),
    ("tf1", RATE, f"{RATE} burnin_learning_rate: 0.1", "burnin_learning_rate", ("not carried over", "burnin_steps")),
    ("tf2", "use_moving_average: false", "use_moving_average: false moving_average_decay: 0.5", "moving_average_decay",
     ("not carried over", "use_moving_average")),
    ("tf1", "max_detections_per_class: 50", "max_detections_per_class: 200", "max_detections_per_class",
     ("100 here", "200")),
    ("tf1", "min_depth: 0\n", "min_depth: 8\n", "max_depth", ("8 here", "0", "min_depth")),
    ("tf1", TYPE, f"{TYPE} load_all_detection_checkpoint_vars: true", "load_all_detection_checkpoint_vars",
     ("heads too", "train.init.warm_start")),
    ("tf1", TYPE, "from_detection_checkpoint: true", "from_detection_checkpoint", ("fine_tune_checkpoint_type: 'detection'",)),
    ("tf1", PATH, PATH, "fine_tune_checkpoint_version", ("both versions",)),
    ("tf2", FOCAL, "weighted_sigmoid_focal { }", "classification_weight", ("twice", "alpha")),
    ("tf1", FLIP, "random_adjust_hue { }", "data_augmentation_options",
     ("order", "ssd_random_crop, random_adjust_hue")),
    ("tf1", FLIP, CROP, "data_augmentation_options.ssd_random_crop", ("twice",)),
    ("tf1", CROP, "random_crop_pad_image { }", "data_augmentation_options.random_crop_pad_image", ("train.augment.zoom",)),
    ("tf1", TYPE, f"{TYPE} use_bfloat16: true", "use_bfloat16", ("not carried over", "TPUs")),
    ("tf1", CLASSES, f"{CLASSES} add_background_class: false", "encode_background_as_zeros",
     ("true", "without add_background_class")),
    ("tf1", NORM_OF_HEADS, "", "conv_hyperparams.batch_norm", ("not there", "heads")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "old", "new", "field", "parts"), NAMED, ids=lambda value: value[:40] if isinstance(value, str) else ""
)
def test_a_field_that_does_not_come_back_is_named(
    name: str, old: str, new: str, field: str, parts: tuple[str, ...], variant: Variant, manifest: Manifest
) -> None:
    differing, lines = differences(changed(name, [(old, new)]), variant, manifest)
    assert [text for key, text in lines if key.endswith(f".{field}") and not missing_in(text, *parts)], lines
    assert all(names_of(key, lines) for key in differing)


def test_a_number_without_steps_is_a_constant_rate(variant: Variant, manifest: Manifest) -> None:
    rate = "manual_step_learning_rate { initial_learning_rate: 0.25 }"
    text = f"""model {{ ssd {{ feature_extractor {{ type: 'ssd_mobilenet_v1_keras' }} }} }}
        train_config {{ optimizer {{ adam_optimizer {{ learning_rate {{ {rate} }} }} }} }}"""
    _, lines = differences(text, variant, manifest)
    [text] = [text for key, text in lines if key.endswith("manual_step_learning_rate")]
    assert missing_in(text, "constant", "no steps") == []


@pytest.mark.parametrize(
    ("background", "parts"),
    [
        ("encode_background_as_zeros: true", ("encode_background_as_zeros: false", "softmax", "class 0")),
        ("add_background_class: false", ("add_background_class: true", "softmax", "class 0")),
    ],
)  # fmt: skip
def test_softmax_has_the_background_as_class_0(
    background: str, parts: tuple[str, ...], variant: Variant, manifest: Manifest
) -> None:
    changes = [("weighted_sigmoid { }", "weighted_softmax { }"), ("num_classes: 38", f"num_classes: 38 {background}")]
    _, lines = differences(changed("tf1", changes), variant, manifest)
    said = [f"{key.rpartition('.')[2]}: {text}" for key, text in lines]
    assert [line for line in said if not missing_in(line, *parts)], said


def other_values(field: FieldDescriptor, now: Any) -> list[Any]:
    if field.enum_type:
        return [value.number for value in field.enum_type.values if value.number != now]
    if field.type == FieldDescriptor.TYPE_BOOL:
        return [not now]
    if field.type == FieldDescriptor.TYPE_STRING:
        return ["x"]
    return [now / 2 if now else 0.25] if field.type == FieldDescriptor.TYPE_DOUBLE else [now + 1]


def variations(message: Message) -> Iterator[Message]:
    """Yield copies that differ in one field each, of this message or of one inside."""
    for field in message.DESCRIPTOR.fields:
        if field.message_type and name_of(field.message_type) in OPAQUE:
            continue
        value = getattr(message, field.name)
        if field.message_type and not field.is_repeated and message.HasField(field.name):
            yield from _inner_variations(message, field.name, value, None)
        elif field.message_type and field.is_repeated:
            for place, one in enumerate(value):
                yield from _inner_variations(message, field.name, one, place)
        elif field.message_type:
            changed = copy.deepcopy(message)
            getattr(changed, field.name).SetInParent()
            yield changed
        else:
            for other in other_values(field, value[0] if field.is_repeated and value else value if value else 0):
                changed = copy.deepcopy(message)
                changed.ClearField(field.name)
                text_format.Merge(f"{field.name}: {other!r}".replace("True", "true").replace("False", "false"), changed)
                yield changed


def _inner_variations(message: Message, name: str, inner: Message, place: int | None) -> Iterator[Message]:
    for other in variations(inner):
        changed = copy.deepcopy(message)
        target = getattr(changed, name) if place is None else getattr(changed, name)[place]
        target.CopyFrom(other)
        yield changed


@pytest.mark.slow
@pytest.mark.parametrize("name", BASES)
def test_whatever_field_is_another_comes_back_or_is_named(name: str, variant: Variant, manifest: Manifest) -> None:
    base = parse(BASES[name])
    carried, unnamed = 0, []
    for number, message in enumerate(variations(base)):
        text = text_format.MessageToString(message)
        try:
            differing, lines = differences(text, variant, manifest)
        except ConfigError:
            continue  # a value that is refused is named, too
        carried += 1
        unnamed += [(number, key, values) for key, values in differing.items() if not names_of(key, lines)]
    assert carried > 150
    assert unnamed == []
