"""bakeoff side by side with what one would take instead: equal processor seconds, equal data, one judge.

    python benchmarks/peers/measure.py data/raw/cells --data pascal_voc --side 192 --minutes 10 --keep folder \\
        --ultralytics /of/ultralytics/bin/python --libreyolo /of/libreyolo/bin/python
    python benchmarks/peers/measure.py data/raw/signs --data image_folders --side 64 --keep folder --ultralytics …
    python benchmarks/peers/measure.py --data digits --side 128 --seeds 0 --keep folder

Each library is a user's own installation, which its own Python runs; an arm without a Python is left out. All start
from random weights. For each seed the data are split once, and all arms get the same files, each in its own format.

A minute is 60 processor seconds of one thread, spent on training alone: not on imports, on reading annotations, on the
last validation. Of every arm two short trainings of the first seed give its pace; the budget times the pace is the
number of its steps or epochs, whole ones. So every schedule of a rate ends at the budget. Where the last epochs do
without the mosaic, as those of the short trainings, a third one with it tells what it costs. Epochs are rounded, so
the table also has the seconds that the whole process took.

The networks answer the validation images with scores from 0.001 and at most 100 boxes, each by its own suppression.
pycocotools judges these boxes by the annotations. A difference is to the first arm, within a seed; its 95 % interval
is Student's over the seeds. Trainings that an interrupted benchmark has left in `--keep` are not done again. With
`--lengths` no pace is measured: more seeds get as many steps as the first, on whatever machine.
"""

import argparse
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from arms import LIBRARIES, Arm, Bench, add_pythons, list_arms, list_pythons
from datasets import BOXES, DEMO, FOLDERS
from judge import judge_boxes, judge_labels
from trials import describe_difference


def measure(bench: Bench, arms: list[Arm], minutes: float, seeds: list[int], given: list[int] | None) -> None:
    scores: dict[str, list[dict[str, float]]] = {arm.name: [] for arm in arms}
    lengths = dict(zip((arm.name for arm in arms), given or [], strict=bool(given)))
    for seed in seeds:
        for arm in arms:
            if arm.name not in lengths:
                pace, beside = bench.measure_pace(arm, seeds[0])
                lengths[arm.name] = bench.plan_length(arm, seeds[0], minutes * 60)
                rate = bench.images(arm, seed, 1) * pace
                print(f"  {arm.name}: {rate:.3g} images a second, {beside:.1f} s beside", flush=True)
            length = f"{lengths[arm.name]:,} {LIBRARIES[arm.library].unit}"
            print(f"  {arm.name}: {length} with seed {seed}", flush=True)
            scores[arm.name].append(score(bench, arm, seed, lengths[arm.name]))
            values = ", ".join(f"{name} {value:.3f}" for name, value in scores[arm.name][-1].items())
            print(f"  {arm.name}, {length}, seed {seed}: {values}", flush=True)
    print_table(bench, arms, scores, lengths, seeds)


def score(bench: Bench, arm: Arm, seed: int, length: int) -> dict[str, float]:
    answer = bench.ask("predict", arm, seed, length)
    if bench.kind == FOLDERS:
        return judge_labels(answer["labels"])
    return judge_boxes(bench.data(arm, seed) / "validation.json", answer["boxes"])


def print_table(
    bench: Bench, arms: list[Arm], scores: dict[str, list[dict[str, float]]], lengths: dict[str, int], seeds: list[int]
) -> None:
    names = list(scores[arms[0].name][0])
    print(f"| arm | images seen | {' | '.join(names)} | difference of {names[0]} (95 %) | seconds | memory |")
    print("|---" * (len(names) + 5) + "|")
    first = [one[names[0]] for one in scores[arms[0].name]]
    for arm in arms:
        values = scores[arm.name]
        trained = [bench.train(arm, seed, lengths[arm.name]) for seed in seeds]
        means = " | ".join(f"{statistics.fmean(one[name] for one in values):.3f}" for name in names)
        differences = [one[names[0]] - other for one, other in zip(values, first, strict=True)]
        difference = "" if arm is arms[0] else describe_difference(differences)
        seconds = statistics.fmean(one["seconds"] for one in trained)
        memory = max(one["memory"] for one in trained) / 1e9
        seen = bench.images(arm, seeds[0], lengths[arm.name])
        print(f"| {arm.name} | {seen:,} | {means} | {difference} | {seconds:.0f} | {memory:.2f} GB |", flush=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what every script here needs to know of data, libraries and where results are kept."""
    parser.add_argument("folder", type=Path, nargs="?", help=f"the dataset; none for --data {DEMO}")
    parser.add_argument("--data", choices=[DEMO, BOXES, FOLDERS], required=True)
    parser.add_argument("--side", type=int, required=True, help="pixels of the networks' input")
    parser.add_argument(
        "--arms", nargs="+", help="some of the arms, by their names; the first is what others differ to"
    )
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--keep", type=Path, help="a folder that keeps data and trainings")
    add_pythons(parser)


def read_bench(arguments: argparse.Namespace, keep: Path) -> tuple[Bench, list[Arm]]:
    """Return the benchmark, and the arms that there is a Python for."""
    pythons = list_pythons(arguments)
    source = arguments.folder.resolve() if arguments.folder else None
    place = keep / f"{source.name if source else arguments.data}_{arguments.side}"
    arms = [arm for arm in list_arms(arguments.data, arguments.side) if arm.library in pythons]
    if arguments.arms:
        by_name = {arm.name: arm for arm in arms}
        if unknown := set(arguments.arms) - set(by_name):
            sys.exit(f"--arms: {', '.join(sorted(unknown))}: none of {', '.join(by_name)}")
        arms = [by_name[name] for name in arguments.arms]
    return Bench(place, arguments.data, source, arguments.side, pythons), arms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument(
        "--lengths", type=int, nargs="+", help="steps or epochs of each of --arms, as another machine planned them"
    )
    arguments = parser.parse_args()
    with TemporaryDirectory() as temporary:
        bench, arms = read_bench(arguments, (arguments.keep or Path(temporary)).resolve())
        given = arguments.lengths
        if given and (len(given) != len(arms) or not arguments.arms):
            sys.exit("--lengths: one number for each arm of --arms, and all of these must have a Python")
        measure(bench, arms, arguments.minutes, arguments.seeds, given)


if __name__ == "__main__":
    main()
