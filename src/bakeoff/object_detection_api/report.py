"""What an import could not carry over, or only in another form, by line of the file."""

from dataclasses import dataclass, field

from bakeoff.object_detection_api.block import Block, Left
from bakeoff.object_detection_api.values import Value, default_of

# What this project always does. A field with this value says nothing new; without an entry the proto's default counts.
SAME_HERE: dict[tuple[str, str], Value] = {
    ("BatchNorm", "scale"): True,
    ("ConvolutionalBoxPredictor", "box_code_size"): 4,
    ("EvalConfig", "metrics_set"): "coco_detection_metrics",
    ("InputReader", "num_epochs"): 1,
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
    "TrainConfig.use_bfloat16": "say train.mixed_precision: true if the machine gains from it",
    "TrainConfig.keep_checkpoint_every_n_hours": "train.checkpoint_every_steps decides that here",
    "TrainConfig.load_all_detection_checkpoint_vars": COMPUTING,
    "TrainConfig.run_fine_tune_checkpoint_dummy_computation": COMPUTING,
}
DEPRECATED = f"deprecated: {UNREAD}"
REMOVED = "that API has dropped this field"
NO_COUNTERPART = "there is no counterpart here"


@dataclass
class Report:
    """Lines `key: what became of it`, each with its line in the file."""

    lines: list[tuple[int, str]] = field(default_factory=list)

    def lost(self, block: Block, name: str, reason: str) -> None:
        self._add(block.line_of(name), f"{block.key_of(name)}: not carried over: {reason}")

    def changed(self, block: Block, name: str, text: str) -> None:
        """Carried over, but not as it stands."""
        self._add(block.line_of(name), f"{block.key_of(name)}: {text}")

    def general(self, text: str) -> None:
        self._add(0, text)

    def leftover(self, left: Left) -> None:
        """Of a field that no part of the importer asked for."""
        if left.field is None:
            self._add(left.line, f"{left.key}: not carried over: {REMOVED}")
        elif left.field.deprecated:
            self._add(left.line, f"{left.key}: not carried over: {DEPRECATED}")
        elif isinstance(left.value, Block) or left.value != _same_here(left):
            name = f"{left.message}.{left.field.name}"
            reason = REASONS.get(name) or REASONS.get(left.message) or NO_COUNTERPART
            self._add(left.line, f"{left.key}: not carried over: {reason}")

    def _add(self, line: int, text: str) -> None:
        self.lines.append((line, text))


def _same_here(left: Left) -> Value | None:
    assert left.field
    given = SAME_HERE.get((left.message, left.field.name))
    if given is None and not left.field.repeated:
        return default_of(left.field.default, left.field.type)
    return given
