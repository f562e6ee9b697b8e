"""Whether a curve predicts well: fitted at 12, 25 and 50 % of the data, does its interval hold what 100 % brings?

    python benchmarks/curve.py                                        # handwritten digits, a minute
    python benchmarks/curve.py --data data/raw/signs                  # a folder's images

Each of the ten draws has its own sides of training and validation, its own shares and its own first weights. A point is
the mean of three seeds, as `bakeoff curve` takes by default. All trainings have the same number of steps. The fit was
made with draws from 100 on (`--first 100`); the draws from 0 to 9 judge it.
"""

import argparse
import sys
from pathlib import Path

from shares import Lab, load_images

from bakeoff.experiments.learning_curve.fit import Level, fit
from bakeoff.learning.input.subset import count_share, draw_share

SHARES = (0.12, 0.25, 0.5, 1.0)


def main() -> None:
    arguments = parse_arguments()
    lab = Lab(*load_images(arguments.data, arguments.side), steps=arguments.steps)
    draws = range(arguments.first, arguments.first + arguments.draws)
    held = sum(report(draw, measure(lab, draw, arguments.seeds)) for draw in draws)
    print(f"the interval held what 100 % brought in {held} of {arguments.draws} draws")


def measure(lab: Lab, draw: int, seeds: int) -> list[Level]:
    """Return the errors of each share."""
    lab.part(draw)
    errors: dict[float, list[float]] = {share: [] for share in SHARES}
    for seed in range(1000 * draw, 1000 * draw + seeds):
        for share, share_errors in errors.items():
            lab.train(draw_share(len(lab.labels), share, seed), seed)
            share_errors.append(1 - lab.accuracy())
    return [Level(count_share(len(lab.labels), share), tuple(share_errors)) for share, share_errors in errors.items()]


def report(draw: int, levels: list[Level]) -> bool:
    """Print what a draw gave and what the curve predicted, and return whether the interval held it."""
    *before, last = levels
    predicted = fit(before).predict(last.examples, len(last.errors))
    is_held = predicted.low <= last.mean <= predicted.high
    means = ", ".join(f"{level.mean:.3f} at {level.examples}" for level in levels)
    interval = f"{predicted.middle:.3f} ({predicted.low:.3f} to {predicted.high:.3f})"
    gain = fit(levels).gain(2 * last.examples)
    print(
        f"  draw {draw}: error {means}; predicted {interval}: {'held' if is_held else 'NOT held'}; "
        f"twice the data {gain.middle:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})",
        flush=True,
    )
    return is_held


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", type=Path, help="a folder with one of images for each class (digits of scikit-learn)")
    add("--side", type=int, default=16, help="pixels of a folder's images, once they are small and grey (16)")
    add("--steps", type=int, default=600, help="of each training (600)")
    add("--seeds", type=int, default=3, help="of each point (3)")
    add("--draws", type=int, default=10, help="curves (10)")
    add("--first", type=int, default=0, help="the number of the first draw (0)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
