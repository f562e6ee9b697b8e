"""Stages other than training, ended by SIGKILL, SIGTERM and Ctrl-C at random moments: then `bakeoff repro` goes on.

    python tests/proofs/faults/stage_kills.py --kills 12 --seed 0

ends each of the stages so often, in a workspace in which it never ran to its end. Its outputs must equal, to the byte,
those of a workspace in which nothing was ended.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from proofs.faults.repros import VARIANT
from support.workspace_copy import Workspace, environment, tiny_workspace

ENDED = ("build_records", "render_config", "evaluate", "export", "code")
ORDER = ("build_records", "render_config", "train", "evaluate", "export", "code")
OUTPUTS = ("data/records", "models/config", "models/train", "models/evaluation", "models/export", "models/code.yaml")
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
NO_STAGE_OF_DVC = ("code",)  # in the repository; `bakeoff init` writes it into dvc.yaml
AT_ITS_END = "at its end before"
FIRST = "bakeoff/stages/__init__.py"  # which sets the handler, once it has imported what that needs
SECONDS_TO_END = 60  # after a signal that asks, on a busy machine


def end_stages(kills: int, seed: int, order: Sequence[str] = ORDER) -> list[str]:
    """Return what was wrong after so many ends of each stage."""
    chance, problems, ends = random.Random(seed), [], Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        whole, cut = (tiny_workspace(Path(folder) / name, VARIANT) for name in ("whole", "cut"))
        for stage in order:
            began = time.monotonic()
            whole.run(sys.executable, "-m", f"bakeoff.stages.{stage}")
            seconds = time.monotonic() - began
            left = kills if stage in ENDED else 0
            for number in range(3 * left):
                how, found = _end_one(cut, stage, SIGNALS[number % len(SIGNALS)], chance.uniform(0, 0.8 * seconds))
                ends[how] += 1
                problems += [f"{stage}, {how}: {one}" for one in found]
                left -= how != AT_ITS_END
                if left <= 0:
                    break
            go_on = ("bakeoff.stages.code",) if stage in NO_STAGE_OF_DVC else ("bakeoff", "repro", stage)
            done = cut.run(sys.executable, "-m", *go_on, ok=False)
            problems += [f"{stage} goes on: exit code {done.returncode}: {done.stderr[-1000:]}"] * bool(done.returncode)
            print(f"{stage}: {kills if stage in ENDED else 0} ends within {seconds:.1f} s", flush=True)
        print(", ".join(f"{count} {how}" for how, count in sorted(ends.items())), flush=True)
        return [*problems, *_find_differences(whole.folder, cut.folder)]


def _end_one(workspace: Workspace, stage: str, number: signal.Signals, after: float) -> tuple[str, list[str]]:
    """Start a stage and end it; return how it ended, and what was wrong."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"bakeoff.stages.{stage}"], cwd=workspace.folder, env=environment(),
        start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
    try:
        _, printed = process.communicate(timeout=SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return number.name, [f"did not end in {SECONDS_TO_END} s"]
    if process.returncode == 0:
        return AT_ITS_END, []
    known = (-number, 128 + number, 75, 130, *([1] if "Could not import runpy module" in printed else []))
    problems = [f"exit code {process.returncode}: {printed[-500:]}"] * (process.returncode not in known)
    return number.name, problems + [f"a traceback: {printed[-1500:]}"] * _has_traceback(printed)


def _has_traceback(printed: str) -> bool:
    """Tell whether Ctrl-C ended in a traceback, unless it came before Python had read our handler."""
    return "Traceback" in printed and "bakeoff" in printed.replace(FIRST, "")


def _find_differences(whole: Path, cut: Path) -> Iterator[str]:
    for name in OUTPUTS:
        places = [place / name for place in (whole, cut)]
        files = [{path.relative_to(place): path for path in _list_files(place)} for place in places]
        yield from (f"{name}/{one}: only in one of both" for one in files[0].keys() ^ files[1].keys())
        for one in sorted(files[0].keys() & files[1].keys()):
            if files[0][one].read_bytes() != files[1][one].read_bytes():
                yield f"{name}/{one}: other bytes"


def _list_files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    return sorted(path for path in place.rglob("*") if path.is_file() and path.name != ".gitignore")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=12, help="of each stage")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stages", nargs="+", choices=ORDER, default=ORDER, help="these alone, in this order")
    arguments = parser.parse_args()
    problems = end_stages(arguments.kills, arguments.seed, arguments.stages)
    print("\n".join(problems) or "nothing was wrong")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
