"""What judging costs on top of the forward passes: 1,000 validation examples of the demo, its trained network.

    python benchmarks/evaluate.py [--examples 1000] [--rounds 3]      # in a workspace after `dvc repro`

Each round, in a process of its own: the examples are read, decoded and answered, and nothing else; then the stage's own
`evaluate`, which answers them too, counts all numbers and intervals and writes all files. Both begin with the file of
the weights. Seconds of the clock, and of the processor.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from result import print_result

from bakeoff.config.compose.whole_run import Run, load
from bakeoff.foundation import workspace
from bakeoff.foundation.tf_loading import load_tensorflow

ROOT = Path(__file__).resolve().parent.parent
OUT = Path("evaluated")
Seconds = tuple[float, float]  # by the clock, of the processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measured()))
        return
    with TemporaryDirectory() as folder:
        prepare(Path(folder), arguments.examples)
        command = [sys.executable, str(Path(__file__).resolve()), "--measure"]
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # as bakeoff.stages has it
        rounds = []
        for _ in range(arguments.rounds):
            done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            rounds.append(json.loads(done.stdout.splitlines()[-1]))
    print(f"{'':26}{'clock':>8}{'processor':>11}")
    middle = {
        name: [statistics.median(one[name][which] for one in rounds) for which in (0, 1)]
        for name in ("answering", "evaluating")
    }
    for name, seconds in middle.items():
        print(f"{name:26}{seconds[0]:7.2f}s{seconds[1]:10.2f}s")
    extra = [after / before - 1 for before, after in zip(middle["answering"], middle["evaluating"], strict=True)]
    print(f"{'on top':26}{extra[0]:8.0%}{extra[1]:11.0%}")
    what, (there, here) = f"`evaluate` of {arguments.examples:,} images", (seconds[1] for seconds in middle.values())
    print_result(what, f"{here:.1f} s of CPU", f"{there:.1f} s", ratio=here / there, other="forward passes alone")


def prepare(folder: Path, examples: int) -> None:
    for name in ("src", "conf", "dvc.yaml"):
        (folder / name).symlink_to(ROOT / name)
    params = yaml.safe_load(Path("params.yaml").read_text(encoding="utf-8"))
    chosen = params.get("data")
    data = dict(chosen) if isinstance(chosen, dict) else {"use": chosen or "preset"}
    params |= {"data": data | {"validation_examples": examples}, "track": {"use": "none"}}
    (folder / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    for stage in ("build_records", "render_config"):
        subprocess.run([sys.executable, "-m", f"bakeoff.stages.{stage}"], cwd=folder, stdout=sys.stderr, check=True)
    shutil.copytree(workspace.TRAINED, folder / workspace.TRAINED)


def measured() -> dict[str, Seconds]:
    load_tensorflow()
    from bakeoff.stages.evaluate import evaluate

    run = load(workspace.RUN)
    answer_all(run)  # what is loaded once, neither has to load
    return {
        "answering": timed(lambda: answer_all(run)),
        "evaluating": timed(lambda: evaluate(run, run.evaluate, run.track, workspace.RECORDS, workspace.TRAINED, OUT)),
    }


def answer_all(run: Run) -> None:
    from bakeoff.dataset.records.manifest import read_manifest
    from bakeoff.learning.input.batches import evaluation_batches
    from bakeoff.learning.input.record_reader import RecordReader
    from bakeoff.learning.networks.weights import restore
    from bakeoff.learning.plan.phases import batch_shape
    from bakeoff.learning.tasks.task import compile_answer, make_task

    manifest = read_manifest(workspace.RECORDS)
    network = restore(run.model, run.derived.num_classes, workspace.TRAINED / f"{run.evaluate.weights}.weights.h5")
    task = make_task(run.model, manifest.classes, multi_label=manifest.multi_label)
    answer = compile_answer(network, task, with_losses=True)
    store = RecordReader(workspace.RECORDS, manifest.splits["validation"])
    for batch in evaluation_batches(store, batch_shape(run, run.evaluate.batch_size)):
        for output in answer(batch).values():
            output.numpy()


def timed(work: Callable[[], object]) -> Seconds:
    begin, computed = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begin, time.process_time() - computed


if __name__ == "__main__":
    main()
