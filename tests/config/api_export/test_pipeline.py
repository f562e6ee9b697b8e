"""What is written for that API, read by protobuf against that API's messages."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pytest

from bakeoff.config.api_export.pipeline import format_pipeline, shuffle_buffer_size
from bakeoff.config.compose.whole_run import Run
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.learning.networks.anchors import Anchors
from bakeoff.learning.networks.cnn import Cnn
from bakeoff.learning.networks.ssd import Ssd
from support.messages import missing_in

Variant = Callable[..., Run]
Write = Callable[..., tuple[Any, str]]


def test_only_the_demos_network_has_to_be_taught(written: Write) -> None:
    assert "feature extractor registered as 'bakeoff_ssd'" in written(model="ssd_small")[1]
    assert "feature extractor registered" not in written()[1]


@dataclass(frozen=True)
class ToyDetector:
    """A class of one's own, as the guide adds one."""

    task: ClassVar[str] = "detection"
    input_size: int = 64
    anchors: Anchors = field(default_factory=Anchors)


@dataclass(frozen=True)
class WiderSsd(Ssd):
    """Built otherwise than the class that it takes its settings from."""


@pytest.mark.parametrize("network", [ToyDetector(), WiderSsd()], ids=lambda network: type(network).__name__)
def test_a_detector_of_ones_own_is_a_comment_that_names_its_class(
    network: Any, variant: Variant, manifest: Manifest
) -> None:
    text = format_pipeline(replace(variant(), model=network), manifest)
    assert all(line.startswith("# ") for line in text.splitlines())
    kind = type(network)
    said = text.replace("\n# ", " ")
    assert missing_in(said, "# ", f"no detector like {kind.__name__} ({kind.__module__})", "pipeline.config") == []


def test_a_variant_that_detects_nothing_is_a_comment(variant: Variant, manifest: Manifest) -> None:
    text = format_pipeline(replace(variant(), model=Cnn()), manifest)
    assert re.fullmatch(r"# .*\bdetectors\b.*\bnone\b.*\n", text)


def test_num_classes_is_the_number_of_labels(written: Write) -> None:
    read, text = written()
    assert read.model.ssd.num_classes == 3
    assert "adds the background" in text
    read, text = written(export={"count_background": True})
    assert read.model.ssd.num_classes == 4
    assert "One more than labels (export.count_background)" in text


def test_the_readers_name_our_records_and_labels(written: Write) -> None:
    read, _ = written()
    [evaluation] = read.eval_input_reader
    training = read.train_input_reader
    assert list(training.tf_record_input_reader.input_path) == ["data/records/train-?????-of-00004"]
    assert list(evaluation.tf_record_input_reader.input_path) == ["data/records/validation-?????-of-00002"]
    assert training.label_map_path == evaluation.label_map_path == "data/records/label_map.pbtxt"
    assert training.shuffle and not evaluation.shuffle
    assert evaluation.num_epochs == 1 and not training.HasField("num_epochs")


def test_the_memory_knobs_stand_in_both_readers(written: Write) -> None:
    read, text = written(memory={"budget": "100GB"})
    assert (read.train_input_reader.shuffle_buffer_size, read.eval_input_reader[0].shuffle_buffer_size) == (1200, 300)
    for reader in (read.train_input_reader, read.eval_input_reader[0]):
        assert reader.queue_capacity == reader.min_after_dequeue == reader.shuffle_buffer_size
        assert reader.num_prefetch_batches >= 1 and reader.num_parallel_batches == 8
    assert (read.train_input_reader.num_readers, read.eval_input_reader[0].num_readers) == (4, 2)
    assert text.count("two are deprecated") == 2


def test_memory_knobs_that_are_stated_are_written_as_stated(written: Write) -> None:
    knobs = {"shuffle_buffer_size": 256, "queue_capacity": 1000, "min_after_dequeue": 500}
    read, text = written(memory={"budget": "4GB", "shuffle": "buffer", **knobs})
    for reader in (read.train_input_reader, read.eval_input_reader[0]):
        assert {name: getattr(reader, name) for name in knobs} == knobs
    assert text.count("shuffled: as stated") == 2


def test_the_shuffle_buffer_fits_into_a_tenth_of_the_budget(manifest: Manifest) -> None:
    split = manifest.splits["train"]  # 1,200 records of 50 kB
    assert shuffle_buffer_size(10_000_000, split) == 20
    assert shuffle_buffer_size(4_000_000_000, split) == 1200
    assert shuffle_buffer_size(1, split) == 1


def test_evaluation_counts_as_coco_does(written: Write) -> None:
    read, _ = written(evaluate={"pictures": 7, "picture_min_score": 0.25})
    assert list(read.eval_config.metrics_set) == ["coco_detection_metrics"]
    assert (read.eval_config.batch_size, read.eval_config.num_visualizations) == (1, 7)
    assert read.eval_config.min_score_threshold == 0.25
    assert not read.eval_config.use_moving_averages
    averaged = written(train={"batch_size": 4, "steps": 2000, "ema_decay": 0.99})[0]
    assert averaged.eval_config.use_moving_averages


def test_no_path_is_absolute(written: Write) -> None:
    _, text = written()
    assert "relative to the workspace" in text
    assert not re.search(r'"/', text)
