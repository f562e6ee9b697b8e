"""How often `bakeoff gate` blocks, passes and cannot tell, in pull requests whose truth is known.

    python benchmarks/gate.py --worlds 10000                    # prints the table; about 20 minutes
    python benchmarks/gate.py --worlds 10000 --write docs/gate.md

A pull request is a classifier A with 80 % right and a classifier B that turns some of its answers, on 100 to 800
examples that are drawn anew. B loses so much in truth: nothing, just what it may (0.02), twice and four times that.
Each is judged as the command does it, by a paired bootstrap. Then the power: of pull requests about which the gate
cannot tell, with as many examples as it asked for, how many get a verdict.
"""

import argparse
from collections import Counter
from pathlib import Path
from statistics import NormalDist

import numpy as np
from bench import write
from result import describe_machine

from bakeoff.experiments.compare.found_words import find_interval
from bakeoff.experiments.compare.paired_bootstrap import compare_scores
from bakeoff.experiments.gate.gate_verdict import ERROR, POWER, Check, Outcome, check_metric, count_more
from bakeoff.learning.metrics.classification import Answer, ClassificationScore

TARGET = "benchmarks/gate.py"
ALLOWED = 0.02
RIGHT = 0.8
TURNED = 0.12  # of the answers that A has right, B turns so many at the most
LOSSES = (0.0, ALLOWED, 2 * ALLOWED, 4 * ALLOWED)
SIZES = (100, 200, 400, 800)
SAMPLES = 400
HEAD = "| B loses in truth | not worse | worse | cannot tell |\n|---|---|---|---|"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table between the marks of this page")
    arguments = parser.parse_args()
    draw = np.random.default_rng(52)
    rows = [HEAD]
    for loss in LOSSES:
        counts = Counter(
            judge(draw, SIZES[world % len(SIZES)], loss).outcome for world in range(arguments.worlds // len(LOSSES))
        )
        shares = [describe_share(counts[outcome], sum(counts.values())) for outcome in Outcome]
        rows.append(f"| {loss:g} | {' | '.join(shares)} |")
        print(rows[-1], flush=True)
    text = "\n".join([f"{arguments.worlds:,} pull requests of which the metric may lose {ALLOWED:g}.\n", *rows])
    text += f"\n\n{describe_power(draw, arguments.worlds // 20)}\n\n{describe_machine()}."
    print(text)
    if arguments.write:
        write(arguments.write, TARGET, text)


def judge(draw: np.random.Generator, examples: int, loss: float) -> Check:
    a, b = draw_answers(draw, examples, loss)
    names = [str(number) for number in range(examples)]
    found = compare_scores(score(a), score(b), names, SAMPLES).numbers["accuracy"]
    return check_metric("accuracy", found, ALLOWED, (examples, examples))


def draw_answers(draw: np.random.Generator, examples: int, loss: float) -> tuple[np.ndarray, np.ndarray]:
    a = draw.random(examples) < RIGHT
    gained = (RIGHT * TURNED - loss) / (1 - RIGHT)
    return a, a ^ (draw.random(examples) < np.where(a, TURNED, gained))


def score(right: np.ndarray) -> ClassificationScore:
    return ClassificationScore(
        ("cat", "dog"), tuple(Answer(1, 1 if yes else 2, 0.9, 0.9, int(not yes)) for yes in right)
    )


def describe_power(draw: np.random.Generator, worlds: int) -> str:
    """Ask for as many examples as the true deviation wants, and count the verdicts."""
    start, spread = 200, 2 * RIGHT * TURNED
    reach = NormalDist().inv_cdf(1 - ERROR)
    examples = start + (count_more(ALLOWED, (spread / start) ** 0.5, reach, (start, start)) or 0)
    decided = sum(judge(draw, examples, 0.0).outcome is Outcome.NOT_WORSE for _ in range(worlds))
    share = describe_share(decided, worlds)
    return (
        f"With the {examples:,} examples that a change without a loss needs for a verdict in {POWER:.0%} of cases, "
        f"{share} of {worlds:,} got it."
    ).replace("80%", "80 %")


def describe_share(count: int, of: int) -> str:
    """A share with its 95 % interval, by Wilson."""
    share, (low, high) = count / of, find_interval(count, of)
    return f"{share:.1%} ({low:.1%} to {high:.1%})".replace("%", " %")


if __name__ == "__main__":
    main()
