"""Whether `bakeoff next` chooses better than chance: the same number of labels more, by each, and which learns more.

    python benchmarks/next.py                                # handwritten digits, a minute
    python benchmarks/next.py --data data/raw/signs          # a folder's images

Each seed draws its own sides and its own first labels. A perceptron learns from these. Then 100 labels more are taken,
once as `next` chooses by that perceptron's uncertainty and features, once at random; both train anew. The accuracy of a
seed is the mean of five trainings with other first weights. A difference is within a seed; its 95 % interval is
Student's over the seeds. The rule was made with seeds from 100 on.
"""

import argparse
import statistics
import sys
from pathlib import Path

import numpy as np
from shares import Lab, load_images
from trials import describe_difference

from bakeoff.inference.active_learning.choose import choose_pictures, measure_uncertainty


def main() -> None:
    arguments = parse_arguments()
    lab = Lab(*load_images(arguments.data, arguments.side), steps=arguments.steps)
    accuracies: dict[str, list[float]] = {"before": [], "random": [], "next": []}
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        for name, value in compare(lab, seed, arguments).items():
            accuracies[name].append(value)
        print(
            f"  seed {seed}: " + ", ".join(f"{name} {values[-1]:.3f}" for name, values in accuracies.items()),
            flush=True,
        )
    means = ", ".join(f"{name} {statistics.fmean(values):.3f}" for name, values in accuracies.items())
    better = [one - other for one, other in zip(accuracies["next"], accuracies["random"], strict=True)]
    print(f"accuracy: {means}; next less random {describe_difference(better)}")


def compare(lab: Lab, seed: int, arguments: argparse.Namespace) -> dict[str, float]:
    """Return the accuracy with the first labels alone, and with those that each way took beside them."""
    lab.part(seed)
    drawn = np.random.default_rng([seed, 3]).permutation(len(lab.labels))
    first, pool = drawn[: arguments.labels], drawn[arguments.labels :]
    lab.train(first, seed)
    unsure = np.array([measure_uncertainty({"probabilities": row}) for row in lab.probabilities(lab.images[pool])])
    features = lab.features(lab.images[pool])
    taken = pool[
        [place for place, _ in choose_pictures(unsure, features, lab.features(lab.images[first]), arguments.more)]
    ]
    sets = {"before": first, "random": drawn[: arguments.labels + arguments.more], "next": np.append(first, taken)}
    return {name: train_several(lab, numbers, seed, arguments.repeats) for name, numbers in sets.items()}


def train_several(lab: Lab, numbers: np.ndarray, seed: int, repeats: int) -> float:
    accuracies = []
    for repeat in range(repeats):
        lab.train(numbers, 1000 * seed + repeat)
        accuracies.append(lab.accuracy())
    return statistics.fmean(accuracies)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", type=Path, help="a folder with one of images for each class (digits of scikit-learn)")
    add("--side", type=int, default=16, help="pixels of a folder's images, once they are small and grey (16)")
    add("--steps", type=int, default=400, help="of each training (400)")
    add("--labels", type=int, default=100, help="to begin with (100)")
    add("--more", type=int, default=100, help="labels that each way takes (100)")
    add("--seeds", type=int, default=5, help="pairs (5)")
    add("--repeats", type=int, default=5, help="trainings of each set of labels (5)")
    add("--first", type=int, default=0, help="the first seed (0)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
