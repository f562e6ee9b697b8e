"""What deterministic operations cost a training step, on the processor of this machine.

    python benchmarks/determinism.py                               # three networks of conf/model, two minutes
    python benchmarks/determinism.py point_nano_128 --pairs 5

The same compiled step on one batch in memory, with `train.deterministic` on and off, each in a process of its own. The
two take turns. Medians over the pairs; the ratio is the median of the ratios within a pair, of the processor's time.
"""

import argparse
import statistics
import subprocess
import sys
import time

from result import describe_machine, print_result

NETWORKS = ["ssd_small", "cnn_small", "mobilenet_v2_035_96"]
BATCH = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help="options of conf/model")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0, help="of processor time of each measurement")
    parser.add_argument("--arm", choices=("on", "off"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.arm:
        print(measure(arguments.networks[0], arguments.seconds, deterministic=arguments.arm == "on"))
        return
    print(describe_machine())
    for name in arguments.networks or NETWORKS:
        pairs = [[in_a_child(name, arm, arguments.seconds) for arm in ("on", "off")] for _ in range(arguments.pairs)]
        on, off = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
        ratio = statistics.median(on / off for on, off in pairs)
        what = f"a deterministic step of `{name}`"
        print_result(what, f"{on:.1f} ms of CPU", f"{off:.1f} ms", ratio=ratio, other="not deterministic")


def in_a_child(name: str, arm: str, seconds: float) -> float:
    command = [sys.executable, __file__, name, "--arm", arm, "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}, {arm}: {done.stderr[-2000:]}")
    return float(done.stdout.splitlines()[-1])


def measure(name: str, seconds: float, *, deterministic: bool) -> float:
    """Return the processor's seconds of a step."""
    import tensorflow as tf
    from made_up import CLASSES, made_up_batch, read_option

    from bakeoff.learning.plan.optimizers import Adam
    from bakeoff.learning.plan.train_settings import Train
    from bakeoff.learning.training.loop import seed_everything
    from bakeoff.learning.training.trainer_state import new_learner

    seed_everything(0, deterministic=deterministic)
    model, task = read_option(name, {})
    batch, rate = made_up_batch(model, task, BATCH), tf.constant(1e-4)
    learner = new_learner(model, CLASSES, task, Adam(), Train(batch_size=BATCH, steps=1), tf.distribute.get_strategy())
    step = learner.begin((), "train.trainable")
    for _ in range(5):
        float(step([batch], rate)["train/loss"])
    steps, before = 0, time.process_time()
    while time.process_time() - before < seconds:
        float(step([batch], rate)["train/loss"])
        steps += 1
    return (time.process_time() - before) / steps


if __name__ == "__main__":
    main()
