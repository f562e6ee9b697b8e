"""Several workers of one training: where they are, and which rows of a batch each takes."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bakeoff.dataset.building.write_shards import write_split
from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import TRAIN
from bakeoff.dataset.sources.synthetic_digits import SingleDigits
from bakeoff.experiments.runs.worker_processes import gather
from bakeoff.foundation.errors import ConfigError, OutOfRange
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.batches import Portion, training_batches
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.shuffle import ExampleOrder
from bakeoff.learning.input.view import Shape
from bakeoff.learning.plan.train_settings import Train
from bakeoff.learning.training.workers import CLUSTER, WorkerAddress, describe_parts, place_of

ADDRESSES = ("10.0.0.1:2222", "10.0.0.2:2222")


def cluster(index: object = 1, kind: str = "worker", **more: list[str]) -> str:
    tree = {"cluster": {"worker": list(ADDRESSES)} | more, "task": {"type": kind, "index": index}}
    return json.dumps(tree)


def test_tf_config_gives_the_place_and_a_place_gives_tf_config() -> None:
    place = place_of({CLUSTER: cluster(1)})
    assert place == WorkerAddress(1, ADDRESSES) and place.count == 2
    assert [place_of(place.environment(rank)) for rank in (0, 1)] == [
        WorkerAddress(0, ADDRESSES),
        WorkerAddress(1, ADDRESSES),
    ]
    assert place_of({}) is place_of({CLUSTER: ""}) is None


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", cluster(2), cluster(-1), cluster("x"), cluster(0, "chief"), cluster(0, ps=["a:1"])]
)
def test_a_tf_config_of_another_kind_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match='^TF_CONFIG: .*{"cluster": {"worker": '):
        place_of({CLUSTER: text})


def test_the_number_of_workers_is_that_of_tf_config() -> None:
    with pytest.raises(ConfigError, match=r"^train\.workers:\D+2\D+TF_CONFIG\D+3$"):
        with gather(3, WorkerAddress(0, ADDRESSES)):
            pass
    with gather(2, WorkerAddress(0, ADDRESSES)) as place:
        assert place == WorkerAddress(0, ADDRESSES)
    with gather(1, None) as place:
        assert place is None


@pytest.mark.parametrize("count", [2, 3])
def test_the_parts_of_all_workers_are_the_batch_and_nobody_reads_what_others_read(
    count: int, tmp_path: Path, open_store: Callable[[Path, Split], RecordReader]
) -> None:
    store = open_store(tmp_path, write_split(SingleDigits(train_examples=12, side=20), TRAIN, tmp_path))
    read, asked = store.read, list[int]()

    def noted(examples: np.ndarray) -> list[bytes | None]:
        asked.extend(examples.tolist())
        return read(examples)

    store.read = noted  # type: ignore[method-assign]

    def images(share: tuple[int, int]) -> list[np.ndarray]:
        batches = training_batches(
            store, Shape("classification", 16, 1, 6, 2, 1), order=ExampleOrder(12, 5), steps=range(1, 5),
            augment=Augment(), encode=lambda example: {}, portion=Portion(first_example=5, share=share),
        )  # fmt: skip
        return [batch["image"].numpy() for batch in batches]

    whole, all_read = images((0, 1)), sorted(asked)
    asked.clear()
    parts = [images((number, count)) for number in range(count)]
    assert {len(part) for shares in parts for part in shares} == {6 // count}
    for step, batch in enumerate(whole):
        np.testing.assert_array_equal(np.concatenate([shares[step] for shares in parts]), batch)
    assert sorted(asked) == all_read


def test_settings_that_workers_cannot_share_are_refused() -> None:
    with pytest.raises(OutOfRange, match=r"devices:\D+1\D+cpu\D+workers\b.*2$"):
        Train(8, steps=1, workers=2, devices=2)
    with pytest.raises(OutOfRange, match="gradient_histograms: .*false.*workers.*True$"):
        Train(8, steps=1, workers=2, tensorboard=True, gradient_histograms=True)
    with pytest.raises(OutOfRange, match=r"workers:\D+1\D+0"):
        Train(8, steps=1, workers=0)


def test_what_must_be_equal_has_names() -> None:
    identity = {"code": "c", "versions": {"keras": "3"}, "records": "r", "seed": 1, "train": {"steps": 2}}
    assert describe_parts(identity) == {
        "the code": '"c"', "the libraries": '{"keras": "3"}', "the records": '"r"',
        "models/config/run.yaml": '{"seed": 1, "train": {"steps": 2}}',
    }  # fmt: skip
