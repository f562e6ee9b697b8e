"""A variant -> its `pipeline.config`: the network, the training, both readers and the evaluation."""

from bakeoff.config.api_export.messages import Noted, Tree, fill, format_comment, format_text, keys
from bakeoff.config.api_export.model import describe_model, is_known
from bakeoff.config.api_export.training import describe_training
from bakeoff.config.compose.whole_run import Run
from bakeoff.dataset.records.manifest import Manifest, Split
from bakeoff.dataset.records.record import TRAIN, VALIDATION
from bakeoff.foundation import workspace

HEAD = (
    "Written by render_config: the variant of models/config/run.yaml in the words of the TF Object Detection API, "
    "which bakeoff itself does not use. Paths are relative to the workspace. An edit here is overwritten: edit "
    "params.yaml or conf/."
)
NO_DETECTOR = "The Object Detection API trains detectors; this variant is none."
UNKNOWN_DETECTOR = (
    "The Object Detection API has no detector like {kind} ({module}): no pipeline.config can describe this variant."
)
LABEL_MAP = workspace.RECORDS / "label_map.pbtxt"
SHUFFLE_SHARE = 0.1  # of the memory budget, for records that wait to be shuffled
MOST_READERS = 64  # that API's own number
SHUFFLED_GLOBALLY = "bakeoff: memory.shuffle: global"  # a comment's words: that API has no such order
PICTURES = keys("", num_visualizations="pictures", min_score_threshold="picture_min_score")
DEPRECATED = (
    "The next two are deprecated: its training programs do not read them; only shuffle_buffer_size costs memory."
)


def format_pipeline(run: Run, manifest: Manifest) -> str:
    """Return the same variant as text of that API, or a comment that gives the reason why that is not possible."""
    network = run.model
    if network.task != "detection":
        return "\n".join(format_comment(NO_DETECTOR)) + "\n"
    if not is_known(network):
        kind = type(network)
        text = UNKNOWN_DETECTOR.format(kind=kind.__qualname__, module=kind.__module__)
        return "\n".join(format_comment(text)) + "\n"
    tree: Tree = {
        "model": describe_model(network, len(manifest.classes), count_background=run.export.count_background),
        "train_config": describe_training(run),
        "train_input_reader": {"shuffle": True} | _describe_reader(run, manifest, TRAIN),
        "eval_config": {
            "metrics_set": ["coco_detection_metrics"],
            "batch_size": Noted("One at a time, for its readers drop the images that don't fill the last batch.", 1),
            **fill(PICTURES, run.evaluate),
            "use_moving_averages": run.train.ema_decay > 0,
        },
        "eval_input_reader": [{"shuffle": False, "num_epochs": 1} | _describe_reader(run, manifest, VALIDATION)],
    }
    parts = ["\n".join(format_comment(HEAD)), *(format_text({name: part}) for name, part in tree.items())]
    return "\n\n".join(parts) + "\n"


def _describe_reader(run: Run, manifest: Manifest, name: str) -> Tree:
    assert run.derived is not None
    split = manifest.splits[name]
    shards = len(split.shards)
    files = workspace.RECORDS / f"{name}-?????-of-{shards:05d}"
    budget, memory = run.derived.memory_budget_bytes, run.memory
    stated = memory.shuffle_buffer_size
    buffer = stated or shuffle_buffer_size(budget, split)
    why = "as stated" if stated else f"at most {SHUFFLE_SHARE:.0%} of the budget, {budget / 1e9:g} GB"
    is_global = memory.shuffle == "global"
    capacity = memory.queue(run.train.batch) or (buffer if is_global else None)
    mark = f"\n{SHUFFLED_GLOBALLY}" if is_global else ""
    return {
        "label_map_path": LABEL_MAP.as_posix(),
        "tf_record_input_reader": {"input_path": [files.as_posix()]},
        "shuffle_buffer_size": Noted(f"Records that wait to be shuffled: {why}.{mark}", buffer),
        "queue_capacity": Noted(DEPRECATED, capacity) if capacity else None,
        "min_after_dequeue": memory.min_after_dequeue or capacity,
        "num_readers": min(shards, MOST_READERS),
        "num_parallel_batches": run.derived.decode_threads,
        "num_prefetch_batches": run.derived.prefetch_batches,
    }


def shuffle_buffer_size(budget_bytes: int, split: Split) -> int:
    """Return how many records fit into their share of the budget; no more than there are."""
    record_bytes = sum(shard.bytes for shard in split.shards) / max(1, split.examples)
    return max(1, min(split.examples, int(budget_bytes * SHUFFLE_SHARE / max(1.0, record_bytes))))
