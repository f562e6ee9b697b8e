"""What is told of a network, against counts by hand, and what a run may use on this machine; both only once."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import bakeoff.config.compose.network_facts
from bakeoff.config.compose.memory_plan import Limits
from bakeoff.config.compose.network_facts import (
    Facts,
    MachineResources,
    facts_of,
    inspect_machine,
    limits_on_this_machine,
)
from bakeoff.learning.input.memory_budget import Memory
from bakeoff.learning.networks.cnn import Cnn
from support.messages import missing_in

SMALL = Cnn(input_size=16, width=0.25)


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    return facts_of(SMALL, 3, tmp_path_factory.mktemp("facts"))


def test_the_last_layer_of_a_classifier_has_a_row_for_every_channel(counted: Facts) -> None:
    shapes = {variable.path: variable.shape for variable in counted.variables}
    assert shapes["classes/kernel"] == (32, 3) and shapes["classes/bias"] == (3,)  # a quarter of 128 channels


def test_statistics_of_batch_norms_are_parameters_that_no_gradient_changes(counted: Facts) -> None:
    frozen = {variable.path for variable in counted.variables if not variable.trainable}
    assert frozen and all("moving_" in path for path in frozen)
    learned = counted.trainable((), SMALL)
    assert learned == counted.parameters - sum(
        variable.size for variable in counted.variables if variable.path in frozen
    )


def test_parameters_of_a_part_are_those_of_its_variables(counted: Facts) -> None:
    assert counted.trainable(("head",), SMALL) == 32 * 3 + 3
    assert counted.trainable(("head", "backbone"), SMALL) == counted.trainable((), SMALL)


def test_only_the_outputs_from_the_first_layer_on_that_learns_are_kept(counted: Facts) -> None:
    learned = [variable for variable in counted.variables if variable.trainable]
    first, last = learned[0].path, learned[-1].path
    assert counted.kept_share((), SMALL) == 1.0
    assert counted.kept_share((last,), SMALL) < 0.05  # the logits of three classes
    stem = counted.kept_share((first,), SMALL)
    assert 0.5 < stem <= 1.0 and counted.kept_share((first, last), SMALL) == stem
    after = [variable.after_bytes for variable in learned]
    assert after == sorted(after, reverse=True) and after[0] < counted.activation_bytes
    assert after[-1] <= 2 * 4 * 3  # no more than three logits, and what is made of them


def test_activations_count_at_least_the_image_and_every_map(counted: Facts) -> None:
    """Maps of 8, 4 and 2 pixels a side with 8, 16 and 32 channels stand among the layers' outputs."""
    assert counted.activation_bytes >= 4 * (16 * 16 * 3 + 8 * 8 * 8 + 4 * 4 * 16 + 2 * 2 * 32)


def test_what_is_known_is_read_and_not_told_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: Facts
) -> None:
    assert facts_of(SMALL, 3, tmp_path) == counted
    monkeypatch.setattr(bakeoff.config.compose.network_facts, "_build_for_facts", None)
    assert facts_of(SMALL, 3, tmp_path) == counted


def test_a_file_that_a_crash_cut_off_is_told_again(tmp_path: Path, counted: Facts) -> None:
    facts_of(SMALL, 3, tmp_path)
    [file] = tmp_path.glob("*.json")
    file.write_text(file.read_text()[:50], encoding="utf-8")
    assert facts_of(SMALL, 3, tmp_path) == counted
    assert json.loads(file.read_text())["variables"]


def test_other_classes_and_other_settings_are_other_facts(tmp_path: Path, counted: Facts) -> None:
    assert facts_of(SMALL, 4, tmp_path).parameters == counted.parameters + 33
    assert facts_of(Cnn(input_size=32, width=0.25), 3, tmp_path).activation_bytes > counted.activation_bytes
    assert len(list(tmp_path.glob("*.json"))) == 2


HERE = MachineResources(free_bytes=10_070_000_000, total_bytes=16_000_000_000, cores=6, device_free_bytes=8_000_000_000)


class Eyes:
    """Sees a machine, and counts how often it looks."""

    def __init__(self, machine: MachineResources) -> None:
        self.machine, self.looks = machine, 0

    def __call__(self) -> MachineResources:
        self.looks += 1
        return self.machine


def limits(memory: Memory, folder: Path, eyes: Eyes, warnings: list[str] | None = None) -> Limits:
    return limits_on_this_machine(memory, folder, (warnings if warnings is not None else []).append, eyes)


def test_stated_budget_never_looks_at_the_machine(tmp_path: Path) -> None:
    eyes = Eyes(HERE)
    assert limits(Memory("4GB"), tmp_path, eyes) == Limits(4_000_000_000)
    assert limits(Memory("4GB", device_budget="2GB"), tmp_path, eyes) == Limits(4_000_000_000, 2_000_000_000)
    assert eyes.looks == 0 and list(tmp_path.iterdir()) == []


def test_auto_takes_its_share_of_what_is_free_in_whole_tenths_of_a_gigabyte(tmp_path: Path) -> None:
    assert limits(Memory("auto"), tmp_path, Eyes(HERE)) == Limits(8_000_000_000, 0, 6)
    assert limits(Memory("auto", share=0.5), tmp_path, Eyes(HERE)).bytes == 5_000_000_000
    assert limits(Memory("4GB", device_budget="auto"), tmp_path, Eyes(HERE)).device_bytes == 6_400_000_000


def test_auto_stays_what_it_was_while_other_programs_come_and_go(tmp_path: Path) -> None:
    first = limits(Memory("auto"), tmp_path, Eyes(HERE))
    warnings: list[str] = []
    for free in (12_000_000_000, 8_000_000_000):
        assert limits(Memory("auto"), tmp_path, Eyes(replace(HERE, free_bytes=free)), warnings) == first
    assert warnings == []


def test_auto_that_is_not_free_any_more_is_said(tmp_path: Path) -> None:
    limits(Memory("auto"), tmp_path, Eyes(HERE))
    warnings: list[str] = []
    assert limits(Memory("auto"), tmp_path, Eyes(replace(HERE, free_bytes=3_000_000_000)), warnings).bytes == 8 * 10**9
    [warning] = warnings
    assert missing_in(warning, "8.0 GB", "80%", "3.0 GB", f"delete {tmp_path.as_posix()}/machine-") == []


def test_auto_looks_afresh_on_another_machine(tmp_path: Path) -> None:
    limits(Memory("auto"), tmp_path, Eyes(HERE))
    smaller = replace(HERE, free_bytes=2_000_000_000, total_bytes=4_000_000_000)
    assert limits(Memory("auto"), tmp_path, Eyes(smaller)).bytes == 1_600_000_000


def test_what_is_seen_of_this_machine_is_sensible() -> None:
    here = inspect_machine()
    assert 0 < here.free_bytes <= here.total_bytes and here.cores >= 1 and here.device_free_bytes >= 0
