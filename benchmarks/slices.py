"""Whether slices name what is weak, and nothing where luck alone differs: on the real facts of an evaluation.

    python benchmarks/slices.py [models/evaluation/examples.parquet …] [--draws 1000]     # after `dvc repro`

Facts and true boxes are those of the file. Answers are drawn: of each example by a hardness of its own that knows
nothing of the facts, and again with the darkest quarter of the examples made weak. In how many draws is a slice named,
and how often is the first one named a slice by brightness?
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from bakeoff.evaluation.example_facts import GROUP, OBJECTS
from bakeoff.evaluation.examples_parquet import FACT
from bakeoff.evaluation.slice_significance import CHANCE, ExampleCounts, find_weak
from bakeoff.evaluation.slices import cut_slices

EASY, WEAK = (8, 2), (5, 5)  # Beta distributions of how often an answer is right
SUPERFLUOUS = 0.2  # wrong boxes for each true one
SEED = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=[Path("models/evaluation/examples.parquet")])
    parser.add_argument("--draws", type=int, default=1000)
    arguments = parser.parse_args()
    print("examples  slices  named without a weak slice  named with dark ones weak  brightness first  s a draw")
    for file in arguments.files:
        facts = read_facts(file)
        began = time.perf_counter()
        named = [judge(facts, arguments.draws, is_planted=planted) for planted in (False, True)]
        seconds = (time.perf_counter() - began) / (2 * arguments.draws)
        count, size = len(cut_slices(facts)), len(facts["brightness"])
        (luck, _), (detected, first) = named
        shares = f"{luck:19} of {arguments.draws:<5,}{detected:23} of {arguments.draws:<5,}{first:11}"
        print(f"{size:8,}{count:8}{shares}{seconds:10.3f}  {file}")


def read_facts(file: Path) -> dict[str, np.ndarray]:
    table = pq.read_table(file)
    names = [name for name in table.column_names if name.startswith(FACT)]
    columns = {name.removeprefix(FACT): table[name].to_pylist() for name in names}
    texts = {name: any(isinstance(value, str) for value in values) for name, values in columns.items()}
    return {name: np.array(values, str if texts[name] else np.float64) for name, values in columns.items()}


def judge(facts: dict[str, np.ndarray], draws: int, *, is_planted: bool) -> tuple[int, int]:
    """Return in how many draws a slice is named, and in how many the weakest is one by brightness."""
    draw = np.random.default_rng(SEED)
    slices = cut_slices(facts)
    members = np.stack([one.members for one in slices], axis=1)
    is_group = np.array([one.fact == GROUP for one in slices])
    dark = facts["brightness"] < np.quantile(facts["brightness"], 0.25)
    named = first = 0
    for _ in range(draws):
        comparison = find_weak(answer(draw, facts, dark & is_planted), members, None, is_group)
        weakest = int(np.argmax(comparison.weakness))
        if comparison.chance[weakest] <= CHANCE:
            named += 1
            first += slices[weakest].fact == "brightness"
    return named, first


def answer(draw: np.random.Generator, facts: dict[str, np.ndarray], weak: np.ndarray) -> ExampleCounts:
    size = len(weak)
    hardness = np.where(weak, draw.beta(*WEAK, size), draw.beta(*EASY, size))
    if OBJECTS not in facts:
        return ExampleCounts("accuracy", (draw.random(size) < hardness).astype(float), np.ones(size))
    objects = facts[OBJECTS]
    detected, superfluous = draw.binomial(objects.astype(int), hardness), draw.poisson(SUPERFLUOUS * objects)
    return ExampleCounts("f1", 2.0 * detected, detected + superfluous + objects)


if __name__ == "__main__":
    main()
