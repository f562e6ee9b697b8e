"""Runs shorter than the intervals of their options, and runs without an end."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from bakeoff.config.compose.checks import Records
from bakeoff.config.compose.compose import Composed, compose
from bakeoff.config.compose.derive import resolve
from bakeoff.config.compose.variant import parse_variant
from bakeoff.config.compose.whole_run import Run, as_tree
from bakeoff.learning.plan.phases import plan_phases
from bakeoff.learning.plan.run_length import is_endless, read_steps
from bakeoff.tracking.results.results import params_of
from support.any_variant import FACTS, MANIFEST
from support.imports import ROOT
from support.messages import missing_in

PARAMS, CONF = ROOT / "params.yaml", ROOT / "conf"
FTC = "experiment=ftc_ssd_mobilenet_v2_320"
RANDOM_WEIGHTS = ("train.init.weights=none", "train.init.warm_start=[]")
OF_PREDECESSORS = sorted(path.stem for path in (CONF / "experiment").glob("f[rt]c_*.yaml"))


def resolved(*overrides: str, conf: Path = CONF, params: Path = PARAMS) -> tuple[Run | None, Composed]:
    composed = compose(params, conf, overrides=overrides)
    draft = parse_variant(composed.tree, composed.problems)
    run = resolve(draft, Records(MANIFEST), composed.problems, facts_of=lambda *_: FACTS, set_by=composed.set_by)
    return run, composed


def shortened(name: str, steps: int, *overrides: str) -> tuple[Run, list[str]]:
    run, composed = resolved(f"experiment={name}", f"train.steps={steps}", *RANDOM_WEIGHTS, *overrides)
    assert run is not None, composed.problems.lines
    return run, [line for line in composed.problems.warnings if "train.steps:" in line]


def refused(*overrides: str, conf: Path = CONF) -> Sequence[str]:
    run, composed = resolved(*overrides, conf=conf)
    assert run is None
    return composed.problems.lines


@pytest.mark.parametrize("name", OF_PREDECESSORS)
@pytest.mark.parametrize("steps", [1, 7, 500])
def test_a_preset_of_a_predecessor_takes_any_length(name: str, steps: int) -> None:
    run, _ = shortened(name, steps)
    [phase] = plan_phases(run)
    assert all(phase.rate(step) > 0 for step in range(steps))
    assert run.train.checkpoint_every_steps <= max(100, steps)


def test_a_short_run_is_all_warm_up_as_in_ftc_ml_with_one_remark() -> None:
    run, remarks = shortened("ftc_ssd_mobilenet_v2_320", 500)
    assert (run.lr.warmup_steps, run.lr.total_steps) == (500, 500)  # type: ignore[attr-defined]
    assert run.lr(0) == 0.1333 and run.lr(250) == pytest.approx((0.1333 + 0.8) / 2)
    [remark] = remarks
    assert not missing_in(remark, "train.steps", "500", "lr.warmup_steps", "2,000", "500")


def test_one_remark_names_all_that_was_cut() -> None:
    run, [remark] = shortened("frc_cosine", 500)
    assert (run.lr.warmup_steps, run.train.checkpoint_every_steps) == (500, 500)  # type: ignore[attr-defined]
    assert run.lr.total_steps == 225000  # type: ignore[attr-defined]
    assert not missing_in(remark, "train.checkpoint_every_steps", "1,000", "500", "lr.warmup_steps", "2,000", "500")


def test_a_value_that_the_command_line_takes_back_is_the_options_again(tmp_path: Path) -> None:
    params = tmp_path / "params.yaml"
    params.write_text(PARAMS.read_text().replace("lr: {use: preset}", "lr: {use: preset, warmup_steps: 3}"))
    overrides = (FTC, "train.steps=500", *RANDOM_WEIGHTS)
    run, _ = resolved(*overrides, params=params)
    assert run is not None and run.lr.warmup_steps == 3  # type: ignore[attr-defined]
    run, _ = resolved(*overrides, "~lr.warmup_steps", params=params)
    assert run is not None and run.lr.warmup_steps == 500  # type: ignore[attr-defined]


def test_a_run_as_long_as_its_options_were_made_for_is_not_cut() -> None:
    run, remarks = shortened("ftc_ssd_mobilenet_v2_320", 3000)
    assert run.lr.warmup_steps == 2000 and not remarks  # type: ignore[attr-defined]


def test_epochs_and_phases_are_cut_too() -> None:
    run, composed = resolved(FTC, "+train.epochs=2", "train.steps=null", *RANDOM_WEIGHTS)
    assert run is not None and run.lr.warmup_steps == run.derived.steps  # type: ignore[attr-defined]
    assert any("train.epochs:" in line for line in composed.problems.warnings)
    phases = "train.phases=[{name: a, steps: 50}, {name: b, steps: 3000}]"
    run, _ = resolved(FTC, "train.steps=null", f"+{phases}", *RANDOM_WEIGHTS)
    assert run is not None
    assert [phase.lr.warmup_steps for phase in run.train.phases if phase.lr] == [50, 2000]  # type: ignore[attr-defined]


def test_what_the_user_set_is_refused_all_at_once() -> None:
    lines = refused(
        FTC, "train.steps=500", *RANDOM_WEIGHTS,
        "lr.warmup_steps=600", "train.checkpoint_every_steps=700",
    )  # fmt: skip
    first, second = sorted(lines)
    assert not missing_in(first, "command line", "lr.warmup_steps", "500", "600")
    assert not missing_in(second, "command line", "train.checkpoint_every_steps", "500", "700")


def test_a_warm_up_leaves_room_for_what_the_user_set_beside_it() -> None:
    run, _ = shortened("ftc_ssd_mobilenet_v2_320", 500, "+lr.hold_steps=100")
    assert (run.lr.warmup_steps, run.lr.hold_steps) == (400, 100)  # type: ignore[attr-defined]
    lines = refused(FTC, "train.steps=500", "+lr.hold_steps=501", *RANDOM_WEIGHTS)
    assert not missing_in("\n".join(lines), "lr.total_steps", "501", "500")


def test_checkpoints_that_the_user_keeps_must_fit_the_cut_interval() -> None:
    lines = refused("experiment=frc_cosine", "train.steps=300", "+train.keep_every_steps=1000", *RANDOM_WEIGHTS)
    assert not missing_in("\n".join(lines), "train.keep_every_steps", "300", "1000")
    run, _ = shortened("frc_cosine", 500, "+train.keep_every_steps=1000")
    assert run.train.keep_every_steps == 1000


def test_an_option_file_of_the_user_is_refused_by_its_line(tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    shutil.copytree(CONF, conf)
    (conf / "lr/mine.yaml").write_text("defaults: [ftc_ssd_mobilenet_v2_320]\nwarmup_steps: 900\n")
    lines = refused(FTC, "lr=mine", "train.steps=500", *RANDOM_WEIGHTS, conf=conf)
    assert not missing_in("\n".join(lines), "lr/mine.yaml:2", "lr.warmup_steps", "500", "900")


def test_an_option_of_the_user_with_the_name_of_a_predecessors_is_his(tmp_path: Path) -> None:
    """As in a workspace of an installed bakeoff, whose conf/ has own options alone."""
    own = tmp_path / "conf/lr/ftc_ssd_mobilenet_v2_320.yaml"
    own.parent.mkdir(parents=True)
    shortened_run, _ = resolved(FTC, "train.steps=500", *RANDOM_WEIGHTS, conf=tmp_path / "conf")
    assert shortened_run is not None
    shutil.copy(CONF / "lr/ftc_ssd_mobilenet_v2_320.yaml", own)
    lines = refused(FTC, "train.steps=500", *RANDOM_WEIGHTS, conf=tmp_path / "conf")
    assert not missing_in("\n".join(lines), own.as_posix(), "lr.warmup_steps", "500", "2000")


def test_a_run_without_an_end_is_resolved_with_its_remarks() -> None:
    run, composed = resolved("train.steps=unlimited", "lr=constant")
    assert run is not None and is_endless(run.derived.steps)
    remarks = "\n".join(composed.problems.warnings)
    assert not missing_in(remarks, "train.steps", "train.max_minutes", "train.early_stopping.patience")
    params = params_of(as_tree(run))
    assert {params[f"derived.{key}"] for key in ("steps", "epochs", "phases.all.steps")} == {"unlimited"}
    assert is_endless(read_steps(params["derived.steps"])) and read_steps("20") == 20
    for end in ("+train.max_minutes=5", "+train.early_stopping={patience: 3}"):
        _, composed = resolved("train.steps=unlimited", "lr=constant", end)
        assert not [line for line in composed.problems.warnings if "train.steps:" in line]


@pytest.mark.parametrize(
    ("schedule", "key"),
    [
        ("cosine", "lr.total_steps"),
        ("cosine", "lr.warmup_steps"),
        ("one_cycle", "lr.total_steps"),
        ("polynomial", "lr.total_steps"),
        ("exponential", "lr.warmup_steps"),
    ],
)
def test_a_schedule_that_needs_an_end_names_the_key_that_gives_it_one(schedule: str, key: str) -> None:
    lines = "\n".join(refused("train.steps=unlimited", f"lr={schedule}"))
    assert not missing_in(lines, f"lr/{schedule}.yaml", f"{key}: ", "unlimited", "null")


def test_a_schedule_with_an_end_of_its_own_stays_at_its_last_rate() -> None:
    run, composed = resolved("experiment=frc_cosine", "train.steps=unlimited", *RANDOM_WEIGHTS)
    assert run is not None and run.lr.total_steps == 225000  # type: ignore[attr-defined]
    assert run.lr(300_000) == 0
    assert [line for line in composed.problems.warnings if not missing_in(line, "lr.total_steps: ", "225,000")]


def test_what_divides_a_run_without_an_end_is_refused() -> None:
    shared = "train.phases=[{name: a}, {name: b}]"
    assert not missing_in("\n".join(refused("train.steps=unlimited", "lr=constant", f"+{shared}")), "train.steps: ")
    mixing = ("train.steps=unlimited", "lr=constant", "+train.augment.mixup={}")
    assert not missing_in("\n".join(refused(*mixing)), "train.augment.until: ", "1", "0.9", "mixup")
    run, _ = resolved(*mixing, "+train.augment.until=1")
    assert run is not None
