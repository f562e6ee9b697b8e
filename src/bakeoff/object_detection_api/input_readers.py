"""`train_input_reader`, `eval_input_reader` and `eval_config` of a variant.

Nothing of them is imported: data, memory and evaluation stay the workspace's own.
"""

from bakeoff import workspace
from bakeoff.object_detection_api.block import Block
from bakeoff.object_detection_api.report import Report
from bakeoff.object_detection_api.text_writer import Lines, block, comment, field
from bakeoff.records.manifest import Manifest, Split
from bakeoff.records.record import TRAIN, VALIDATION
from bakeoff.run.settings import Run

LABEL_MAP = workspace.RECORDS / "label_map.pbtxt"
SHUFFLE_SHARE = 0.1  # of the memory budget, for records that wait to be shuffled
MOST_READERS = 64  # that API's own number
DEPRECATED = (
    "The next two are deprecated: its training programs do not read them; only shuffle_buffer_size costs memory."
)


def written_for_training(run: Run, manifest: Manifest) -> Lines:
    return block("train_input_reader", field("shuffle", True), *_reader(run, manifest, TRAIN))


def written_for_evaluation(run: Run, manifest: Manifest) -> Lines:
    return block(
        "eval_input_reader", field("shuffle", False), field("num_epochs", 1), *_reader(run, manifest, VALIDATION)
    )


def written_evaluation(run: Run) -> Lines:
    return block(
        "eval_config",
        field("metrics_set", "coco_detection_metrics"),
        comment("One at a time, for its readers drop the images that don't fill the last batch."),
        field("batch_size", 1),
        field("num_visualizations", run.evaluate.pictures),
        field("min_score_threshold", run.evaluate.picture_min_score),
        field("use_moving_averages", run.train.ema_decay > 0),
    )


def _reader(run: Run, manifest: Manifest, name: str) -> list[Lines]:
    assert run.derived is not None
    split = manifest.splits[name]
    shards = len(split.shards)
    files = f"{name}-?????-of-{shards:05d}"
    budget, memory = run.derived.memory_budget_bytes, run.memory
    stated = memory.shuffle_buffer_size
    buffer = stated or shuffle_buffer_size(budget, split)
    why = "as stated" if stated else f"at most {SHUFFLE_SHARE:.0%} of the budget, {budget / 1e9:g} GB"
    capacity = memory.queue(run.train.batch) or buffer
    return [
        field("label_map_path", LABEL_MAP.as_posix()),
        block("tf_record_input_reader", field("input_path", (workspace.RECORDS / files).as_posix())),
        comment(f"Records that wait to be shuffled: {why}."),
        field("shuffle_buffer_size", buffer),
        comment(DEPRECATED),
        field("queue_capacity", capacity),
        field("min_after_dequeue", memory.min_after_dequeue or capacity),
        field("num_readers", min(shards, MOST_READERS)),
        field("num_parallel_batches", run.derived.decode_threads),
        field("num_prefetch_batches", run.derived.prefetch_batches),
    ]


def read(root: Block, report: Report) -> None:
    """Looks into the readers, so that the report says each of their fields and why it is left behind."""
    training, evaluation = root.inner("train_input_reader"), root.inners("eval_input_reader")
    if not training.flag("shuffle"):
        report.lost(training, "shuffle", "training examples are always shuffled here")
    for reader in evaluation:
        if reader.flag("shuffle") and reader.has("shuffle"):
            report.lost(reader, "shuffle", "validation examples always come in order here")


def shuffle_buffer_size(budget_bytes: int, split: Split) -> int:
    """Records; no more than there are."""
    record_bytes = sum(shard.bytes for shard in split.shards) / max(1, split.examples)
    return max(1, min(split.examples, int(budget_bytes * SHUFFLE_SHARE / max(1.0, record_bytes))))
