"""What input costs a worker's processor, beside what it costs where one process reads whole batches.

    python benchmarks/workers.py [--steps 300] [--rounds 5]

It draws scenes, builds records of them, and reads the same steps whole, and one worker's half and quarter of them, in
turn. Processor seconds are compared, which other programs hardly change. What a worker takes for itself, however small
its part is, shows in how far the ratio is above a half and a quarter.
"""

import argparse
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bakeoff.dataset.building.write_shards import write_split
from bakeoff.dataset.records.record import TRAIN
from bakeoff.dataset.sources.synthetic_digits import DigitScenes
from bakeoff.learning.input.augment import Augment, Turn
from bakeoff.learning.input.batches import Portion, training_batches
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.shuffle import ExampleOrder
from bakeoff.learning.input.view import Shape

EXAMPLES, BATCH, SIDE = 400, 16, 160
COUNTS = (1, 2, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="bakeoff-") as folder:
        split = write_split(DigitScenes(train_examples=EXAMPLES), TRAIN, Path(folder))
        store = RecordReader(Path(folder), split)
        taken: dict[int, list[float]] = {count: [] for count in COUNTS}
        for _ in range(arguments.rounds):
            for count in COUNTS:
                taken[count].append(read(store, arguments.steps, count))
    whole = statistics.median(taken[1])
    for count, seconds in taken.items():
        mine = statistics.median(seconds)
        print(f"one of {count} workers: {mine:.2f} s of a processor, {mine / whole:.2f} of one process's")


def read(store: RecordReader, steps: int, count: int) -> float:
    """Return the processor seconds of reading the first worker's part of so many steps."""
    batches = training_batches(
        store, Shape("detection", SIDE, 1, BATCH, 2, 2), order=ExampleOrder(EXAMPLES, 0), steps=range(steps),
        augment=Augment(turn=Turn(mirror=0.5)), encode=lambda example: {}, portion=Portion(share=(0, count)),
    )  # fmt: skip
    start = time.process_time()
    for _ in batches:
        pass
    return time.process_time() - start


if __name__ == "__main__":
    main()
