"""A pipeline.config's values by name, and a report of what could not be carried over as it stands.

ssd = Block(message, place).inner("model").inner("ssd")
ssd.inner("loss").get("classification_weight")   # the file's value, or that API's default
report.drop_unused(root)                         # what the importer had no use for
"""

import re
import struct
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from bakeoff.config.api_export.messages import Key, name_of
from bakeoff.importing.api_config.pipeline_reader import FieldLocation

Settings = dict[str, Any]  # by dotted keys
FLOAT_DIGITS = 9  # significant digits from which a number may be a float32 written out in full
# What this project always does. A field with this value says nothing new; without an entry that API's default counts.
SAME_HERE: dict[str, bool | int | str] = {
    "BatchNorm.scale": True,
    "ConvolutionalBoxPredictor.box_code_size": 4,
    "EvalConfig.metrics_set": "coco_detection_metrics",
    "InputReader.num_epochs": 1,
}
RECORDS = "comes from data/records and its manifest"
MEMORY = "the memory group and the order of the records decide that here"
COMPUTING = "steers how that API computes, not what"
TRAINABLE = "train.trainable says what is trained, by the names that networks have here"
UNREAD = "that API itself does not read it"
REASONS: dict[str, str] = {  # of a field `Message.field`, or of all fields of a message
    "BatchNorm": "batch norms learn and follow the statistics here",
    "EvalConfig": "the groups evaluate and track decide that here",
    "TrainEvalPipelineConfig.graph_rewriter": "there is no training for quantised weights here",
    "InputReader": MEMORY,
    "InputReader.label_map_path": RECORDS,
    "InputReader.tf_record_input_reader": RECORDS,
    "InputReader.num_epochs": "a run reads as many epochs as its steps need",
    "InputReader.load_instance_masks": "there are no masks here",
    "InputReader.max_number_of_boxes": "no box is dropped here",
    "InputReader.sample_1_of_n_examples": "every example counts here",
    "Hyperparams.regularize_depthwise": "depthwise kernels have no weight penalty here",
    "Hyperparams.force_use_bias": "convolutions before a batch norm have no bias here",
    "Ssd.num_classes": RECORDS,
    "Ssd.inplace_batchnorm_update": COMPUTING,
    "Ssd.freeze_batchnorm": "batch norms learn and follow the statistics here",
    "ArgMaxMatcher.use_matmul_gather": COMPUTING,
    "SigmoidFocalClassificationLoss.anchorwise_output": UNREAD,
    "WeightedSigmoidClassificationLoss.anchorwise_output": UNREAD,
    "WeightedSmoothL1LocalizationLoss.anchorwise_output": UNREAD,
    "BatchNonMaxSuppression": "suppression here is the plain one, within each class",
    "BatchNonMaxSuppression.use_static_shapes": COMPUTING,
    "TrainConfig.freeze_variables": TRAINABLE,
    "TrainConfig.update_trainable_variables": TRAINABLE,
    "TrainConfig.sync_replicas": COMPUTING,
    "TrainConfig.replicas_to_aggregate": COMPUTING,
    "TrainConfig.startup_delay_steps": COMPUTING,
    "TrainConfig.unpad_groundtruth_tensors": COMPUTING,
    "TrainConfig.use_bfloat16": "that API computes so on TPUs only; train.mixed_precision: true halves numbers here",
    "TrainConfig.keep_checkpoint_every_n_hours": "train.checkpoint_every_steps decides that here",
    "TrainConfig.run_fine_tune_checkpoint_dummy_computation": COMPUTING,
}
DEPRECATED = f"deprecated: {UNREAD}"
REMOVED = "that API has dropped this field"
NO_COUNTERPART = "there is no counterpart here"


class Block:
    """A message and where it stands: as protobuf has it, one that is not there is one without any field."""

    def __init__(self, message: Message, place: FieldLocation, key: str = "") -> None:
        self._message, self._place, self.key = message, place, key

    def has(self, name: str) -> bool:
        return self._field(name).name in self._place.fields

    def get(self, name: str) -> Any:
        """Return the file's value, or the default; of a repeated field all values, of an enum the name."""
        field, value = self._field(name), getattr(self._message, name)
        self._place.used.add(name)
        return [_plain(field, one) for one in value] if field.is_repeated else _plain(field, value)

    def take(self, table: Mapping[str, Any]) -> Settings:
        """Return the settings that the fields of a table hold. A value that has no name here is left out.

        Of blocks of which one can be chosen, only the chosen one is looked into.
        """
        settings: Settings = {}
        for name, entry in table.items():
            if isinstance(entry, Key):
                ours = {theirs: ours for ours, theirs in (entry.names or {}).items()}
                value = self.get(name)
                if not ours or value in ours:
                    settings[entry.setting] = ours.get(value, value) if ours else value
            elif isinstance(entry, dict) and (self.has(name) or not self._field(name).containing_oneof):
                settings |= self.inner(name).take(entry)
        return settings

    def inner(self, name: str) -> "Block":
        self._place.used.add(name)
        place = self._place.fields.get(name, [FieldLocation(self._place.spot)])[0]
        return Block(getattr(self._message, name), place, self.key_of(name))

    def inners(self, name: str) -> "list[Block]":
        self._place.used.add(name)
        pairs = zip(getattr(self._message, name), self._place.fields.get(name, []), strict=True)
        return [Block(message, place, self.key_of(name)) for message, place in pairs]

    def chosen(self) -> str | None:
        """Return which field is set of those that exclude each other; no message has several such groups."""
        return self._message.WhichOneof(self._message.DESCRIPTOR.oneofs[0].name)

    def line_of(self, name: str) -> int:
        return self._place.fields.get(name, [self._place])[0].spot.line

    def key_of(self, name: str) -> str:
        return f"{self.key}.{name}" if self.key else name

    def pass_over(self, *names: str | None) -> None:
        """Count fields as asked for, with all that is inside."""
        for name in filter(None, names):
            self._place.used.add(name)
            if self._field(name).message_type:
                for place in self._place.fields.get(name, []):
                    _use_all(place)

    def unused(self) -> Iterator[tuple[int, str, str, FieldDescriptor | None, Any]]:
        """Yield line, key, `Message.field`, field (None: removed) and value of what was not asked for.

        Of a block that nobody looked into it is only the block itself.
        """
        kind = self._message.DESCRIPTOR
        for name, places in self._place.fields.items():
            field = kind.fields_by_name.get(name)
            values: Any = getattr(self._message, name) if field else None
            if not (field and field.is_repeated):
                values = [values]
            for one, place in zip(values, places, strict=True):
                if name not in self._place.used:
                    value = one if field is None or field.message_type else _plain(field, one)
                    yield place.spot.line, self.key_of(name), f"{name_of(kind)}.{name}", field, value
                elif field and field.message_type:
                    yield from Block(one, place, self.key_of(name)).unused()

    def _field(self, name: str) -> FieldDescriptor:
        return self._message.DESCRIPTOR.fields_by_name[name]


class ConversionReport:
    """Lines `key: what became of it`, each with its line in the file; 0: of the whole file.

    What this project lacks is refused with the nearest that it has, or replaced by that if `takes_nearest`.
    """

    def __init__(self, *, takes_nearest: bool = False) -> None:
        self.lines: list[tuple[int, str]] = []
        self.refusals: list[tuple[int, str]] = []
        self.takes_nearest = takes_nearest

    def add(self, text: str) -> None:
        self.lines.append((0, text))

    def drop(self, block: Block, name: str, reason: str) -> None:
        self.lines.append((block.line_of(name), f"{block.key_of(name)}: not carried over: {reason}"))

    def change(self, block: Block, name: str, text: str) -> None:
        """Report a field that is carried over, but not as it stands; without a name, the block with all its fields."""
        key = block.key_of(name) if name else block.key
        self.lines.append((block.line_of(name), f"{key}: {text}"))

    def stand_in(self, block: Block, name: str, known: Collection[str], nearest: str) -> bool:
        """Return whether a block holds what is not known here, and report that `nearest` stands in its place."""
        inner = block.inner(name)
        if (chosen := inner.chosen()) is None or chosen in known:
            return False
        inner.pass_over(chosen)
        self.change(block, name, f"there is no {chosen} here; {nearest} stands in its place")
        return True

    def replace(self, block: Block, name: str, missing: str, nearest: str) -> None:
        """Report that there is no `missing` here, for which `nearest` stands; refuse the file unless that is wanted."""
        key = block.key_of(name)
        if self.takes_nearest:
            self.lines.append(
                (block.line_of(name), f"{key}: there is no {missing} here; {nearest} stands in its place")
            )
        else:
            text = f"there is no {missing} here; the nearest is {nearest}, which --nearest puts in its place"
            self.refusals.append((block.line_of(name), f"{key}: {text}"))

    def drop_unused(self, root: Block) -> None:
        """Report what no part of the importer asked for, unless it says what is so here anyway."""
        for line, key, name, field, value in root.unused():
            if field is None:
                reason = REMOVED
            elif field.GetOptions().deprecated:
                reason = DEPRECATED
            elif not field.message_type and value == SAME_HERE.get(name, _plain(field, field.default_value)):
                continue
            else:
                reason = REASONS.get(name) or REASONS.get(name.rpartition(".")[0]) or NO_COUNTERPART
            self.lines.append((line, f"{key}: not carried over: {reason}"))


def nest(settings: Settings) -> Settings:
    """Return settings by dotted keys, such as loss.focal_alpha, as a tree."""
    tree: Settings = {}
    for key, value in settings.items():
        *path, last = key.split(".")
        inner = tree
        for name in path:
            inner = inner.setdefault(name, {})
        inner[last] = value
    return tree


def shorten(number: float) -> float:
    """Return 0.8 for 0.800000011920929, which is how protobuf writes the float32 nearest to 0.8.

    A number that merely has many digits stays what it is.
    """
    digits = len(re.sub(r"e.*|[-+.]", "", repr(number)).lstrip("0"))
    if digits < FLOAT_DIGITS:
        return number
    try:
        in_float32 = struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return number
    if f"{in_float32:.{digits}g}" != f"{number:.{digits}g}":
        return number
    candidates = (float(f"{in_float32:.{precision}g}") for precision in range(6, FLOAT_DIGITS))
    return next((short for short in candidates if struct.unpack("f", struct.pack("f", short))[0] == in_float32), number)


def _plain(field: FieldDescriptor, value: Any) -> Any:
    if field.enum_type:
        return field.enum_type.values_by_number[value].name
    return shorten(value) if isinstance(value, float) else value


def _use_all(place: FieldLocation) -> None:
    place.used.update(place.fields)
    for places in place.fields.values():
        for inner in places:
            _use_all(inner)
