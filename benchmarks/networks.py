"""Images per second of each network of conf/model, at its own size: trained, and answered one by one.

    python benchmarks/networks.py                              # all options of conf/model, about 20 minutes
    python benchmarks/networks.py ssd_small point_nano_128     # these, half a minute each

Each network has random weights and a process of its own, which may use all cores. A batch stays in memory, so reading
costs nothing. Training is the compiled step with Adam and deterministic operations. An answer is the network and what
finds boxes or classes in its output, for one image or clip. Both are timed for some seconds after a warm-up. `a core`
is per second of a processor's time, which other work on the machine hardly changes.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

from result import describe_machine

BATCH, OF_LARGE, LARGE = 8, 2, 400  # images or clips of a batch; fewer of images with so many pixels to a side
NAMES = ("trained", "trained_by_core", "answered", "answered_by_core")


def main() -> None:
    arguments = parse_arguments()
    if arguments.alone:
        print(json.dumps(measure(arguments.alone, arguments)))
        return
    print(f"{describe_machine()}\n")
    print("| network | size | batch | trained | by a core | answered | by a core |\n|---|---|---|---|---|---|---|")
    for name in arguments.networks or options():
        command = [
            sys.executable, __file__, "--alone", name, "--seconds", str(arguments.seconds),
            "--precision", arguments.precision, "--batch", str(arguments.batch),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"| `{name}` | {done.stderr.strip().splitlines()[-1][:80]} | | | | | |", flush=True)
            continue
        known = json.loads(done.stdout.splitlines()[-1])
        rates = " | ".join(f"{known[key]:.3g}" for key in NAMES)
        print(f"| `{name}` | {known['size']} | {known['batch']} | {rates} |", flush=True)
    print(f"\nload at the end: {os.getloadavg()[0]:.1f}")


def options() -> list[str]:
    from made_up import ROOT

    return sorted(path.stem for path in (ROOT / "conf/model").glob("*.yaml"))


def measure(option: str, arguments: argparse.Namespace) -> dict[str, object]:
    import keras
    import tensorflow as tf
    from made_up import CLASSES, made_up_batch, read_option

    from bakeoff.learning.plan.optimizers import Adam
    from bakeoff.learning.plan.train_settings import Train
    from bakeoff.learning.training.loop import seed_everything
    from bakeoff.learning.training.trainer_state import new_learner

    seconds = arguments.seconds
    seed_everything(0, deterministic=True)
    keras.config.set_dtype_policy(arguments.precision)
    model, task = read_option(option, {})
    is_large = model.input_size >= LARGE or model.frames * model.input_size >= LARGE * 8
    size = max(1, arguments.batch * OF_LARGE // BATCH) if is_large else arguments.batch
    batch = made_up_batch(model, task, size)
    train = Train(batch_size=size, steps=1)
    learner = new_learner(model, CLASSES, task, Adam(), train, tf.distribute.get_strategy())
    step, rate = learner.begin((), "train.trainable"), tf.constant(1e-4)
    trained = timed(lambda: step([batch], rate), seconds)
    answer = tf.function(lambda images: task.predict(learner.network(images, training=False)))
    one = batch["image"][:1]
    answered = timed(lambda: answer(one), seconds)
    frames = f"{model.frames} × " if model.frames > 1 else ""
    return {
        "size": f"{frames}{model.input_size}", "batch": size,
        **dict(zip(NAMES, [rate * size for rate in trained] + list(answered), strict=True)),
    }  # fmt: skip


def timed(call: Callable[[], object], seconds: float) -> tuple[float, float]:
    """Return calls per second by the clock, and per second of the processor."""
    import tensorflow as tf

    def wait() -> None:
        tf.nest.map_structure(lambda value: value.numpy(), call())

    wait()  # traces and compiles
    clock = time.perf_counter()
    wait()
    if time.perf_counter() - clock < seconds:
        wait()
    calls, clock, processor = 0, time.perf_counter(), time.process_time()
    while not calls or time.perf_counter() - clock < seconds:
        wait()
        calls += 1
    return calls / (time.perf_counter() - clock), calls / (time.process_time() - processor)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help="an option of conf/model; all of them if none")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each measurement")
    parser.add_argument("--batch", type=int, default=BATCH, help="images of a batch; a quarter if they are large")
    parser.add_argument("--precision", default="float32", metavar="POLICY", help="Keras' policy: mixed_bfloat16")
    parser.add_argument("--alone", metavar="NETWORK", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
