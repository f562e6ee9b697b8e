"""How often an interval holds the truth: a table of docs/evaluation.md, from thousands of made-up examples.

    python benchmarks/intervals.py [--samples 400]          # about ten minutes

Of each population a number's true value is counted once. Then samples of 40, 150 and 400 examples are drawn, and their
intervals are looked at. 95 % of them should hold it.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.populations import classifications, detections, holds, labels

SIZES = (40, 150, 400)
POPULATIONS = {
    "10 classes, weak": lambda: detections(10, 0.7),
    "10 classes, middling": lambda: detections(10, 2.0),
    "10 classes, good": lambda: detections(10, 4.0),
    "2 classes, weak": lambda: detections(2, 0.7, objects=1.5),
    "2 classes, good": lambda: detections(2, 3.0, objects=1.5),
    "2 classes, few boxes of nothing": lambda: detections(2, 1.0, wrong=3),
    "classifier, 2 classes, weak": lambda: classifications(2, 0.5),
    "classifier, 10 classes, middling": lambda: classifications(10, 1.5),
    "classifier, 10 classes, good": lambda: classifications(10, 4.0),
    "several labels, 5 classes": lambda: labels(5, 2.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("populations", nargs="*", default=list(POPULATIONS))
    arguments = parser.parse_args()
    for name in arguments.populations:
        whole = POPULATIONS[name]()
        for size in SIZES:
            for number, shares_held in holds(whole, size, arguments.samples).items():
                shares = f"{shares_held['interval']:4.0%} (percentile: {shares_held['percentile']:.0%})"
                print(f"{name}, {size} examples: {number} {shares_held['true']:.3f} held by {shares}", flush=True)


if __name__ == "__main__":
    main()
