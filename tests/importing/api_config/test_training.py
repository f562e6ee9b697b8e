"""`train_config` -> settings."""

from support.api_files import TF1, TF2, import_changed, line_of


def test_a_cosine_that_ends_before_the_run_is_said() -> None:
    imported = import_changed(TF2, ("num_steps: 50000", "num_steps: 60000"))
    line = line_of(TF2, "num_steps")
    message = (
        f"tf2.config:{line}: train_config.num_steps: the rate would be 0 from step 50000 on; lower train.steps to that"
    )
    assert message in imported.report
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
    assert line.endswith("train.trainable says what is trained, by the names that networks have here")


def test_a_file_without_a_length_says_so() -> None:
    message = "tf1.config: train_config.num_steps: is not there; say train.steps or train.epochs in params.yaml"
    assert message in import_changed(TF1).report
    cosine = import_changed(TF2, ("num_steps: 50000", "# no steps"))
    assert cosine.settings["train"]["steps"] == 50000
    assert (
        "tf2.config: train_config.num_steps: is not there; train.steps: 50000, where the cosine ends" in cosine.report
    )
