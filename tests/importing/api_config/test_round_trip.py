"""A variant, written as a pipeline.config and imported again, is the same variant."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from bakeoff.config.api_export.pipeline import format_pipeline
from bakeoff.config.compose.whole_run import Run
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.importing.api_config.options import import_pipeline

Variant = Callable[..., Run]
WITH_STEPS = {"num_steps": True}  # export settings under which the file holds the run's length


def again(run: Run, manifest: Manifest, variant: Variant) -> Run:
    """The variant after a way through a pipeline.config."""
    settings = import_pipeline(format_pipeline(run, manifest).encode(), "pipeline.config").settings
    return variant(**settings, export=WITH_STEPS)


def imported_groups(run: Run) -> dict[str, Any]:
    """What a pipeline.config can say of a variant; it has no field for TensorBoard."""
    train = replace(run.train, tensorboard=False)
    return {"train": train} | {group: getattr(run, group) for group in ("model", "lr", "optimizer")}


def test_every_detection_option_comes_back_as_it_was(detector: str, variant: Variant, manifest: Manifest) -> None:
    run = variant(model=detector, export=WITH_STEPS)
    assert imported_groups(again(run, manifest, variant)) == imported_groups(run)


def test_every_recipe_comes_back_as_it_was(
    recipe: dict[str, Any], variant: Variant, manifest: Manifest, request: pytest.FixtureRequest
) -> None:
    """The four starting models of ftc-ml, the FRC recipes, the demo.

    The file has no field for how often to save and for TensorBoard, nor for epochs, an optimizer's decay, look ahead and betas.
    """
    run = variant(**recipe, export=WITH_STEPS)
    back = again(run, manifest, variant)
    assert (back.model, back.lr) == (run.model, run.lr)
    fixed_there = {"weight_decay": 0.0, "nesterov": False, "beta_1": 0.9, "beta_2": 0.999}
    omitted = {key: value for key, value in fixed_there.items() if key in vars(run.optimizer)}
    assert back.optimizer == replace(run.optimizer, **omitted)
    unsaid = {"checkpoint_every_steps": run.train.checkpoint_every_steps, "tensorboard": run.train.tensorboard}
    if run.train.epochs:  # the file counts in steps
        assert back.train.steps == run.derived.steps
        unsaid |= {key: getattr(run.train, key) for key in ("steps", "epochs", "validate_every_epochs")}
    assert replace(back.train, **unsaid) == run.train
    if request.node.callspec.id.startswith("ftc_"):  # nothing is lost, also where the length is only the cosine's end
        assert imported_groups(back) == imported_groups(run)
        assert imported_groups(again(variant(**recipe), manifest, variant)) == imported_groups(run)
        assert run.train.validate_every_steps == 100
    assert _without_comments(format_pipeline(back, manifest)) == _without_comments(format_pipeline(run, manifest))


def _without_comments(text: str) -> str:
    return re.sub(r"\n *#.*", "", text)


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        ({"budget": "4GB"}, None),
        ({"budget": "4GB", "shuffle": "buffer", "shuffle_buffer_size": 256}, {"shuffle_buffer_size": 256}),
        (
            {
                "budget": "4GB",
                "shuffle": "buffer",
                "shuffle_buffer_size": 9,
                "min_after_dequeue": 5,
                "queue_capacity": 7,
            },
            {"shuffle_buffer_size": 9, "min_after_dequeue": 5, "queue_capacity": 7},
        ),
    ],
)
def test_buffers_come_back_as_they_were_and_a_global_shuffle_without_one(
    memory: dict[str, Any], expected: dict[str, int] | None, variant: Variant, manifest: Manifest
) -> None:
    text = format_pipeline(variant(memory=memory), manifest)
    imported_memory = import_pipeline(text.encode(), "pipeline.config").settings.get("memory")
    assert imported_memory == (expected and {"budget": "10GB", "shuffle": "buffer"} | expected)


PAIRS = sorted((Path(__file__).parent / "files/pairs").glob("*.yaml"))


@pytest.mark.parametrize("path", PAIRS, ids=lambda path: path.stem)
def test_the_same_variant_in_both_languages(path: Path, variant: Variant, manifest: Manifest) -> None:
    """A file of settings, and what it is for that API: the one is written as the other, and read back from it."""
    run = variant(**yaml.safe_load(path.read_text(encoding="utf-8")), export=WITH_STEPS)
    expected = path.with_suffix(".config").read_text(encoding="utf-8")
    written = _without_comments("\n" + format_pipeline(run, manifest)).strip()
    assert written[: written.index("\ntrain_input_reader")].strip() == expected.strip()
    assert imported_groups(variant(**import_pipeline(expected.encode(), path.name).settings)) == imported_groups(run)
