"""A variant and shares -> the overrides of the sweep that `bakeoff curve` trains: each share with each seed."""

import math
from collections.abc import Iterator, Sequence

from bakeoff.config.compose.whole_run import Run
from bakeoff.experiments.compare.run_row import SEED
from bakeoff.experiments.learning_curve.errors_by_size import SHARE
from bakeoff.experiments.learning_curve.fit import LEAST_LEVELS
from bakeoff.experiments.planning.time_estimate import steps_between_validations
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.learning.input.subset import count_share

LEAST_EXAMPLES = 20


def read_shares(text: str) -> list[float]:
    """Return the shares of `0.12,0.25,0.5,1`.

    Raises WorkspaceError unless they are three or more, above 0, and the largest is 1.
    """
    try:
        shares = sorted({float(part) for part in text.split(",")})
    except ValueError:
        shares = []
    if len(shares) < LEAST_LEVELS or shares[0] <= 0 or shares[-1] != 1:
        rule = f"{LEAST_LEVELS} shares or more up to 1, such as 0.25,0.5,1"
        raise WorkspaceError(f"--shares: must be {rule}, got {text!r}")
    return shares


def make_overrides(run: Run, shares: Sequence[float], seeds: int, same: str) -> list[str]:
    """Return the overrides of the sweep. `run` is the variant on the whole training set."""
    if seeds < 1:
        raise WorkspaceError(f"--seeds: must be 1 or more, got {seeds}")
    require_enough(run, shares[0])
    first = run.seed
    numbers = ",".join(str(first + number) for number in range(seeds))
    overrides = [f"{SHARE}={','.join(f'{share:g}' for share in shares)}", f"{SEED}={numbers}"]
    return [*overrides, *(fix_steps(run) if same == "steps" else ())]


def require_enough(run: Run, smallest: float) -> None:
    """Raise WorkspaceError if a share cannot fill a batch, or holds too few examples of its classes."""
    examples = run.derived.train_examples
    least = max(LEAST_EXAMPLES, 2 * run.derived.num_classes, *(span.batch_size for span in run.derived.phases))
    if (count := count_share(examples, smallest)) < least:
        enough = math.ceil(100 * least / examples) / 100
        more = f"--shares from {enough:g} on, or more data" if enough <= 0.5 else "more data"
        raise WorkspaceError(
            f"no statement: {smallest:.0%} of {examples:,} training examples are {count}, "
            f"{least} are needed; take {more}"
        )


def fix_steps(run: Run) -> Iterator[str]:
    """Yield overrides that give every share as many steps as the whole set, with the same rates and validation passes.

    Epochs become steps, because an epoch of a small share is short. A run of few steps would learn little for that
    reason alone.
    """
    train = run.train
    if any(phase.epochs is not None for phase in train.phases):
        raise WorkspaceError(
            "--same steps: must have phases whose length is in steps, got some in epochs; "
            "--same epochs trains each share for as many epochs"
        )
    if train.epochs is not None:
        yield f"train.steps={run.derived.steps}"
        yield "train.epochs=null"
    if train.validate_every_epochs is not None:
        yield f"train.validate_every_steps={steps_between_validations(run, run.derived.phases[0].batch_size)}"
        yield "train.validate_every_epochs=null"
    if getattr(run.lr, "decay_epochs", None) is not None:
        yield f"lr.decay_steps={run.lr.decay_steps}"  # type: ignore[attr-defined]
        yield "lr.decay_epochs=null"
