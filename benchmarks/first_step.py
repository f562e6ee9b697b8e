"""How long a training takes until its first step is over: seconds of the processor, of the whole stage `train`.

    python benchmarks/first_step.py [--presets demo photographs_from_scratch] [--rounds 3] [--before ../another-clone]

Each preset learns the drawn digits for ten steps on one thread, without MLflow, in a workspace of its own. With
`--before` another clone does so in turn; it must have callbacks. Every training is a process of its own.
"""

import argparse
import shutil
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from trials import BEGIN, ROOT, make_workspace, run

STEPS = 10


def list_params(preset: str) -> dict[str, Any]:
    return {
        "experiment": preset, "seed": 0, "data": {"use": "digits"}, "track": {"use": "none"},
        "train": {"use": "preset", "steps": STEPS, "epochs": None, "init": {"weights": "none"}},
    }  # fmt: skip


def begin(place: Path) -> float:
    """Train, and return the seconds until the first step was over."""
    for folder in (".bakeoff", "models/train"):
        shutil.rmtree(place / folder, ignore_errors=True)
    file = place / "first_step"
    file.unlink(missing_ok=True)
    run(place, "train", [str(BEGIN), str(file)])
    return float(file.read_text(encoding="utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--presets", nargs="+", default=["demo", "demo_points", "photographs_from_scratch"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path, help="another clone, to compare with")
    arguments = parser.parse_args()
    roots = {"before": arguments.before.resolve()} if arguments.before else {}
    roots["now"] = ROOT
    with TemporaryDirectory() as folder:
        for preset in arguments.presets:
            seconds: dict[str, list[float]] = {name: [] for name in roots}
            places = {name: Path(folder) / preset / name for name in roots}
            for name, place in places.items():
                make_workspace(place, None, list_params(preset), root=roots[name])
                run(place, "render_config")
                begin(place)  # what Python has not compiled yet
            for _ in range(arguments.rounds):
                for name, place in places.items():
                    seconds[name].append(begin(place))
            described = ", ".join(
                f"{name} {statistics.median(some):.2f} s ({min(some):.2f} to {max(some):.2f})"
                for name, some in seconds.items()
            )
            ratios = [now / before for before, now in zip(seconds.get("before", []), seconds["now"], strict=False)]
            print(f"{preset}: {described}" + (f", ratio {statistics.median(ratios):.2f}" if ratios else ""), flush=True)


if __name__ == "__main__":
    main()
