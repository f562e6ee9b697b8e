"""What is told of a network, against counts worked out by hand, and that it is told only once."""

import json
from pathlib import Path

import pytest

import bakeoff.config.facts
from bakeoff.config.facts import Facts, facts_of
from bakeoff.networks.cnn import Cnn

SMALL = Cnn(input_size=16, width=0.25)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    return facts_of(SMALL, 3, tmp_path_factory.mktemp("facts"))


def test_the_last_layer_of_a_classifier_has_a_row_for_every_channel(told: Facts) -> None:
    shapes = {variable.path: variable.shape for variable in told.variables}
    assert shapes["classes/kernel"] == (32, 3) and shapes["classes/bias"] == (3,)  # a quarter of 128 channels


def test_statistics_of_batch_norms_are_parameters_that_no_gradient_changes(told: Facts) -> None:
    frozen = {variable.path for variable in told.variables if not variable.trainable}
    assert frozen and all("moving_" in path for path in frozen)
    learned = told.trainable((), SMALL)
    assert learned == told.parameters - sum(variable.size for variable in told.variables if variable.path in frozen)


def test_parameters_of_a_part_are_those_of_its_variables(told: Facts) -> None:
    assert told.trainable(("head",), SMALL) == 32 * 3 + 3
    assert told.trainable(("head", "backbone"), SMALL) == told.trainable((), SMALL)


def test_activations_count_at_least_the_image_and_every_map(told: Facts) -> None:
    """Maps of 8, 4 and 2 pixels a side with 8, 16 and 32 channels stand among the layers' outputs."""
    assert told.activation_bytes >= 4 * (16 * 16 * 3 + 8 * 8 * 8 + 4 * 4 * 16 + 2 * 2 * 32)


def test_what_is_known_is_read_and_not_told_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: Facts) -> None:
    assert facts_of(SMALL, 3, tmp_path) == told
    monkeypatch.setattr(bakeoff.config.facts, "_told", None)
    assert facts_of(SMALL, 3, tmp_path) == told


def test_a_file_that_a_crash_cut_off_is_told_again(tmp_path: Path, told: Facts) -> None:
    facts_of(SMALL, 3, tmp_path)
    [file] = tmp_path.glob("*.json")
    file.write_text(file.read_text()[:50], encoding="utf-8")
    assert facts_of(SMALL, 3, tmp_path) == told
    assert json.loads(file.read_text())["variables"]


def test_other_classes_and_other_settings_are_other_facts(tmp_path: Path, told: Facts) -> None:
    assert facts_of(SMALL, 4, tmp_path).parameters == told.parameters + 33
    assert facts_of(Cnn(input_size=32, width=0.25), 3, tmp_path).activation_bytes > told.activation_bytes
    assert len(list(tmp_path.glob("*.json"))) == 2
