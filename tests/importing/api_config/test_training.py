"""`train_config` -> settings."""

from support.api_files import TF1, TF2, import_changed, line_of
from support.messages import missing_in


def test_a_cosine_that_ends_before_the_run_is_said() -> None:
    imported = import_changed(TF2, ("num_steps: 50000", "num_steps: 60000"))
    line = line_of(TF2, "num_steps")
    parts = f"tf2.config:{line}: train_config.num_steps: ", "0", "50000", "train.steps"
    assert [line for line in imported.report if not missing_in(line, *parts)]
    assert (imported.settings["train"]["steps"], imported.settings["lr"]["total_steps"]) == (60000, 50000)


def test_a_burn_in_without_a_rate_of_its_own_is_at_the_first_rate() -> None:
    imported = import_changed(TF1, ("decay_steps: 2000", "decay_steps: 2000 burnin_steps: 500 min_learning_rate: 1e-6"))
    lr = imported.settings["lr"]
    assert (lr["burn_in_steps"], lr["burn_in_rate"], lr["floor"]) == (500, None, 1e-6)
    own = import_changed(
        TF1, ("decay_steps: 2000", "decay_steps: 2000 burnin_steps: 500 burnin_learning_rate: .0001 staircase: false")
    )
    assert (own.settings["lr"]["burn_in_rate"], own.settings["lr"]["staircase"]) == (0.0001, False)


def test_frozen_variables_are_said() -> None:
    imported = import_changed(TF1, ("# num_steps: 200000", "freeze_variables: 'FeatureExtractor'"))
    [line] = [line for line in imported.report if "freeze_variables" in line]
    assert "train.trainable" in line


def test_a_file_without_a_length_trains_until_it_is_stopped() -> None:
    parts = "tf1.config: train_config.num_steps: ", "not there", "train.steps: unlimited", "params.yaml"
    commented = import_changed(TF1)
    assert [line for line in commented.report if not missing_in(line, *parts)]
    assert commented.settings["train"]["steps"] == "unlimited"
    cosine = import_changed(TF2, ("num_steps: 50000", "# no steps"))
    assert cosine.settings["train"]["steps"] == 50000
    parts = "tf2.config: train_config.num_steps: ", "not there", "train.steps: 50000", "cosine"
    assert [line for line in cosine.report if not missing_in(line, *parts)]
