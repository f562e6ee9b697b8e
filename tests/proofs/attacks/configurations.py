"""Any params.yaml, option or words on the command line end in a variant, or in lines that say what to mend."""

import shutil
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from random import Random

from bakeoff.config.compose.compose import compose
from bakeoff.config.compose.variant import parse_variant
from proofs.attacks.campaign import Attempt, Campaign
from support.imports import ROOT
from support.odd_inputs import ODD


def attempts(randoms: Iterable[Random], folder: Path) -> Iterator[Attempt]:
    shutil.copytree(ROOT / "conf", folder / "conf")
    shutil.copy(ROOT / "params.yaml", folder)
    for random in randoms:
        word = f"lr.peak={random.choice(ODD)}"
        yield Attempt(word, partial(render, word))


def render(word: str) -> None:
    composed = compose(Path("params.yaml"), Path("conf"), overrides=[word])
    parse_variant(composed.tree, composed.problems)
    composed.problems.raise_any()


CAMPAIGN = Campaign(1000, attempts)
