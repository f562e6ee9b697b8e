"""What the arms cost beside accuracy: speed, memory, files, disk, and whether a killed training resumes exactly.

    python benchmarks/peers/costs.py data/raw/cells --data pascal_voc --side 128 --keep folder \\
        --ultralytics /of/ultralytics/bin/python

It takes the two short trainings of each arm that `measure.py` takes for its pace. Seconds are the processor's: other
work on the machine lengthens the clock's time much more. `beside` is what a training takes without its steps: imports,
reading, a last validation, saving. `first step` is what passes until the first step is over, the median of three
trainings from the given files on: bakeoff's `build_records` and `render_config` count, too. The longer training is
exported as ONNX, and ONNX Runtime times the file with one thread. No file here has a suppression inside. `disk` is the
library's whole environment, bakeoff's with the packages of its tests. A second training is killed with SIGKILL a
processor second after its first checkpoint, and resumed as its documentation says; printed is whether the weights have
the same bytes as those of the undisturbed training.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import psutil
from arms import LIBRARIES, Arm, Bench
from measure import add_arguments, read_bench

CALLS, WARM_UP, AFTER_CHECKPOINT, BEGUN = 50, 5, 1.0, 3
CHECKPOINTS = {
    "bakeoff": "workspace/.bakeoff/runs/*/1-all/0*", "ultralytics": "run/weights/last.pt",
    "libreyolo": "run/weights/last.pt", "keras": "backup/*",
}  # fmt: skip
KINDS = {"tensor(uint8)": np.uint8, "tensor(float)": np.float32}


def time_file(path: Path, side: int) -> float:
    """Return the milliseconds of the processor that one image takes."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    [given] = session.get_inputs()
    shape = [one if isinstance(one, int) else (1 if place == 0 else side) for place, one in enumerate(given.shape)]
    image = {given.name: np.full(shape, 0.5, KINDS[given.type])}
    for _ in range(WARM_UP):
        session.run(None, image)
    begin = time.process_time()
    for _ in range(CALLS):
        session.run(None, image)
    return (time.process_time() - begin) / CALLS * 1000


def measure_disk(python: Path) -> int:
    """Return the bytes of the environment that a Python belongs to."""
    done = subprocess.run(["du", "-s", "-B1", python.parent.parent], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0])


def describe_first_step(bench: Bench, arm: Arm, seed: int) -> str:
    """Return the seconds of the processor until a training's first step is over, and what other processes had of it."""
    whole, before = [], []
    for _ in range(BEGUN):
        out = bench.keep / "begun" / arm.folder
        shutil.rmtree(out, ignore_errors=True)
        if status := bench.start("train", arm, seed, LIBRARIES[arm.library].pace[0], out).wait():
            sys.exit(f"a training of {arm.name} in {out} failed with status {status}")
        answer = bench.read(out, "train")
        whole.append(answer["first_step"])
        before.append(answer.get("before", 0.0))
    other = f", {statistics.median(before):.1f} of them for records and configuration" if any(before) else ""
    return f"{statistics.median(whole):.1f} s{other}"


def describe_resume(bench: Bench, arm: Arm, seed: int) -> str:
    """Return whether a training that was killed and resumed ends in the same weights."""
    length = LIBRARIES[arm.library].pace[1]
    weights = bench.train(arm, seed, length)["weights"]
    out = bench.keep / "killed" / arm.folder
    shutil.rmtree(out, ignore_errors=True)
    if not kill_after_checkpoint(bench.start("train", arm, seed, length, out), out, CHECKPOINTS[arm.library]):
        return "it was too short to be killed"
    if status := bench.start("train", arm, seed, length, out, resume=True).wait():
        return f"the resumed training failed with status {status}"
    resumed = bench.read(out, "train")["weights"]
    return "the same bytes" if resumed == weights else "other weights"


def kill_after_checkpoint(process: subprocess.Popen[bytes], out: Path, pattern: str) -> bool:
    """Kill a training and its children some processor seconds after its first checkpoint; False if it ended before."""
    root, since = psutil.Process(process.pid), None
    while process.poll() is None:
        time.sleep(0.05)
        try:
            family = [root, *root.children(recursive=True)]
            seconds = sum(sum(one.cpu_times()[:2]) for one in family)
        except psutil.NoSuchProcess:
            continue
        if since is None and any(out.glob(pattern)):
            since = seconds
        if since is not None and seconds - since >= AFTER_CHECKPOINT:
            for one in family:
                one.kill()
            process.wait()
            return True
    return False


def print_costs(bench: Bench, arm: Arm, seed: int) -> None:
    pace, beside = bench.measure_pace(arm, seed)
    longer = LIBRARIES[arm.library].pace[1]
    trained = bench.train(arm, seed, longer)
    file = Path(bench.ask("export", arm, seed, longer)["file"])
    cells = [
        arm.name, f"{trained['parameters'] / 1e6:.2f} M", f"{bench.images(arm, seed, 1) * pace:.3g}", f"{beside:.1f} s",
        f"{trained['memory'] / 1e9:.2f} GB", f"{file.stat().st_size / 1e6:.1f} MB",
        f"{time_file(file, bench.side):.3g} ms", f"{measure_disk(bench.pythons[arm.library]) / 1e9:.1f} GB",
        describe_first_step(bench, arm, seed), describe_resume(bench, arm, seed),
    ]  # fmt: skip
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    arguments = parser.parse_args()
    columns = "parameters | images a second, trained | beside | memory | file | an image | disk | first step"
    print(f"| arm | {columns} | after SIGKILL |")
    print("|---" * 10 + "|", flush=True)
    with TemporaryDirectory() as temporary:
        bench, arms = read_bench(arguments, (arguments.keep or Path(temporary)).resolve())
        for arm in arms:
            print_costs(bench, arm, arguments.seeds[0])


if __name__ == "__main__":
    main()
