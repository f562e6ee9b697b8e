"""`auto` in a variant: what it becomes in run.yaml, and that nothing else looks at the machine."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bakeoff.config.compose import auto_batch
from bakeoff.config.compose.network_facts import MachineResources, limits_on_this_machine
from bakeoff.config.compose.variant import read_variant
from bakeoff.config.compose.whole_run import Run
from bakeoff.dataset.records.manifest import Manifest, Shard, Split
from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.plan.phases import training_order
from bakeoff.learning.run_file.read_write import fitting_manifest
from support.imports import ROOT
from support.messages import missing_in

Rendered = Callable[..., Run]
EXAMPLES = 600
PARAMS = """\
data: {{use: digits_single}}
model: {{use: cnn_small}}
memory: {memory}
lr: {{use: constant}}
optimizer: {{use: adam}}
train: {train}
evaluate: {{use: standard}}
export: {{use: saved_model}}
track: {{use: none}}
seed: {seed}
"""
AUTO_BATCH = "{use: small, batch_size: auto}"


def write_records(folder: Path, examples: int = EXAMPLES) -> None:
    folder.mkdir(exist_ok=True)
    shard = Shard("train-00000-of-00001", examples, 1000 * examples, "0")
    split = Split(examples, examples * 48 * 48 * 3, 1, {"0": examples}, (shard,))
    Manifest("classification", tuple("0123456789"), {"train": split, "validation": split}).write(folder)


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("facts")


@pytest.fixture
def rendered(tmp_path: Path, facts: Path, monkeypatch: pytest.MonkeyPatch) -> Rendered:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "conf", "conf")
    shutil.copytree(facts, "facts")
    write_records(Path("records"))

    def render(*, memory: str = "{use: medium}", train: str = "{use: small}", seed: str = "0") -> Run:
        Path("params.yaml").write_text(PARAMS.format(memory=memory, train=train, seed=seed))
        variant = read_variant(Path("params.yaml"), Path("conf"), Path("records"), facts=Path("facts"))
        shutil.copytree("facts", facts, dirs_exist_ok=True, ignore=shutil.ignore_patterns("batch-*", "machine-*"))
        return variant.whole()

    return render


class Tries:
    """In the place of the process: a gigabyte, and ten megabytes for each example."""

    asked: list[int]

    def __init__(self, run: Run, records: Path, budget: int) -> None:
        assert run.train.batch_size == 1
        self.budget = budget

    def __enter__(self) -> "Tries":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def peak(self, batch_size: int) -> int | None:
        self.asked.append(batch_size)
        return 10**9 + 10**7 * batch_size


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> type[Tries]:
    monkeypatch.setattr(Tries, "asked", [], raising=False)
    monkeypatch.setattr(auto_batch, "ChildTries", Tries)
    return Tries


def test_auto_batch_becomes_the_number_that_was_found(rendered: Rendered, tries: type[Tries]) -> None:
    """300 examples would take 4 GB; 256 is the rung below. 10 epochs of 600 examples are then 24 steps."""
    run = rendered(train=AUTO_BATCH)
    assert run.train.batch == 256
    assert [span.batch_size for span in run.derived.phases] == [256] and run.derived.steps == 24
    because = run.derived.batch_size_because
    assert missing_in(because, "auto", "256", "3.56", "4.00 GB", "384 did not fit") == []
    assert 3.5e9 < run.derived.memory_estimate_bytes <= 4e9


def test_auto_batch_is_not_tried_again(rendered: Rendered, tries: type[Tries]) -> None:
    first = rendered(train=AUTO_BATCH)
    asked = list(tries.asked)
    assert rendered(train=AUTO_BATCH) == first and tries.asked == asked
    assert rendered(train="{use: small, batch_size: auto, augment: {turn: {mirror: 0.5}}}") != first
    assert len(tries.asked) > len(asked)


def test_auto_batch_is_tried_anew_for_eight_bits_and_counted_once(rendered: Rendered, tries: type[Tries]) -> None:
    phases = "phases: [{{name: a, epochs: 1{}}}]}}"
    first = rendered(train="{use: small, epochs: null, batch_size: auto, " + phases.format(""))
    asked = len(tries.asked)
    second = rendered(train="{use: small, epochs: null, batch_size: auto, " + phases.format(", quantize: true"))
    assert len(tries.asked) == 2 * asked and second.train.batch == first.train.batch == 256
    assert second.derived.memory_parts.activations <= first.derived.memory_parts.activations


def test_auto_batch_is_cut_to_the_training_set_and_says_so(rendered: Rendered, tries: type[Tries]) -> None:
    write_records(Path("records"), examples=70)
    run = rendered(train=AUTO_BATCH)
    assert run.train.batch == 70
    assert missing_in(run.derived.batch_size_because, "auto", "70", "1.70", "4.00 GB", "all there is") == []


def test_phase_keeps_a_batch_of_its_own(rendered: Rendered, tries: type[Tries]) -> None:
    phases = "[{name: a, epochs: 1, batch_size: 8}, {name: b, epochs: 1}]"
    run = rendered(train=f"{{use: small, epochs: null, batch_size: auto, phases: {phases}}}")
    assert [span.batch_size for span in run.derived.phases] == [8, 256]


def test_budget_into_which_no_batch_fits_is_said(
    rendered: Rendered, tries: type[Tries], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tries, "peak", lambda self, size: None)
    with pytest.raises(ConfigError, match=r"memory\.budget: must be more.*'4GB'.*\b1\b"):
        rendered(train=AUTO_BATCH)
    assert list(Path("facts").glob("batch-*")) == []  # nothing is kept for the next time


def test_budget_into_which_no_batch_fits_is_said_with_what_one_takes_if_there_is_so_much(
    rendered: Rendered, tries: type[Tries], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended when it went over 4 GB, it is let go on where the machine has more."""
    monkeypatch.setattr("bakeoff.foundation.machine.available_memory", lambda: 9 * 10**9)
    monkeypatch.setattr(Tries, "peak", lambda self, size: 5 * 10**9 + size if self.budget > 5 * 10**9 else None)
    with pytest.raises(ConfigError, match=r"memory\.budget: .*\b5001MB.*'4GB'.*\b1\b"):
        rendered(train=AUTO_BATCH)


def test_budget_too_small_for_a_batch_of_one_says_the_least_that_works(rendered: Rendered) -> None:
    with pytest.raises(ConfigError, match=r"memory\.budget: .*\b\d+MB .*train\.batch_size=1\b.*'600MB'$"):
        rendered(memory="{use: low, budget: 600MB}", train=AUTO_BATCH)


def test_mistakes_elsewhere_are_said_before_anything_is_tried(rendered: Rendered, tries: type[Tries]) -> None:
    with pytest.raises(ConfigError, match=r"params\.yaml:6: train\.trainable: 'hed' matches no variable"):
        rendered(train="{use: small, batch_size: auto, trainable: [hed]}")
    assert tries.asked == []


def test_auto_batch_over_all_devices_is_refused(rendered: Rendered) -> None:
    with pytest.raises(ConfigError, match=r"train\.devices: .*\bcpu\b.*batch_size .*auto.*'all'$"):
        rendered(train="{use: small, batch_size: auto, devices: all}")


@pytest.mark.parametrize("option", sorted(path.stem for path in (ROOT / "conf/memory").glob("*.yaml")))
def test_only_the_option_auto_looks_at_the_machine(
    option: str, rendered: Rendered, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[None] = []

    def look() -> MachineResources:
        looks.append(None)
        return MachineResources(free_bytes=7 * 10**9, total_bytes=9 * 10**9, cores=3, device_free_bytes=0)

    seeing = partial(limits_on_this_machine, inspect=look)
    monkeypatch.setattr("bakeoff.config.compose.variant.limits_on_this_machine", seeing)
    run = rendered(memory=f"{{use: {option}}}")
    assert len(looks) == (option == "auto")
    if option == "auto":
        assert (run.derived.memory_budget_bytes, run.derived.decode_threads) == (5_600_000_000, 3)


def test_windows_of_the_buffer_are_derived(rendered: Rendered) -> None:
    knobs = "queue_capacity: 1000, min_after_dequeue: 1000, shuffle_buffer_size: 256"
    run = rendered(memory=f"{{use: low, shuffle: buffer, {knobs}}}")
    assert run.derived.shuffle_windows == training_order(run).windows == (256, EXAMPLES)
    assert run.derived.memory_parts.shuffling == (256 + EXAMPLES) * 1200
    assert training_order(rendered(memory="{use: low}")).windows == ()


@pytest.mark.parametrize(("split", "key"), [("train", "train_examples"), ("validation", "validation_examples")])
def test_records_of_another_build_are_refused_before_the_first_step(split: str, key: str, rendered: Rendered) -> None:
    derived = rendered().derived
    changed = {"train": 599, "validation": 600} if split == "train" else {"train": 600, "validation": 599}
    splits = {name: Split(count, 1, 1, {}, (Shard("a", count, 1, ""),)) for name, count in changed.items()}
    Manifest("classification", tuple("0123456789"), splits).write(Path("records"))
    message = rf"^models/config/run\.yaml: was rendered for 600 {split} examples, records has 599; run `dvc repro`$"
    with pytest.raises(ConfigError, match=message):
        fitting_manifest(Path("records"), derived)


def test_mistake_in_the_seed_is_reported_though_a_batch_is_to_be_tried(rendered: Rendered, tries: type[Tries]) -> None:
    with pytest.raises(ConfigError, match=r"seed: .*'x'$"):
        rendered(train=AUTO_BATCH, seed="x")


def test_batch_smaller_than_the_number_of_workers_is_reported(rendered: Rendered) -> None:
    with pytest.raises(ConfigError, match=r"train\.batch_size: must be divisible by train\.workers=2, got 1$"):
        rendered(train="{use: small, batch_size: 1, workers: 2}")
