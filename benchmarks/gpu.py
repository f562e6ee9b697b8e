"""What bakeoff does on a GPU, in parts, within eight minutes: `make gpu-proof`.

    python benchmarks/gpu.py --write docs/gpu.md     # all parts, and the table into that page
    python benchmarks/gpu.py bits memory             # these parts; what others have measured is kept and printed, too
    python benchmarks/gpu.py --on cpu --steps 12     # tries the parts on a machine without a GPU; writes nothing

It needs a folder with the project, an environment, and no network, no git and no DVC: it runs the stages themselves.
Each part has processes of its own. `gpu-proof.json` in the folder of `--keep` has what each part has measured. A part
that fails says so in its row, and the others run all the same.

    doctor      what `bakeoff doctor` says, and what the training says of its device
    bits        the demo twice with one seed, then killed and resumed; mAP_50 beside that of the CPU
    networks    images per second of each network, trained and answered, in float32 and with bfloat16
    input       images per second that the input pipeline makes on these cores, and how many cores the GPU needs
    memory      growth, a limit, estimate and peak, the automatic batch size, a batch that does not fit
    together    two trainings on one GPU, beside one after the other
    export      evaluation and export on the GPU; the .tflite beside the one that the CPU makes of the same weights
    moved       a run that began on the GPU and goes on with the CPU
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench import write
from gpu_workspace import NO_GPU, ROOT, Ended, Workspace, run_command
from result import describe_machine

Rows = list[tuple[str, str]]
TARGET = "make gpu-proof"
DEMO_STEPS, SHORT_STEPS = 1400, 150
RESULTS = "gpu-proof.json"
PRECISIONS = ("float32", "mixed_bfloat16")
PATIENCE_SECONDS = 600.0  # until a training has reached the step at which it is killed
LARGE_BATCH = 100_000  # images of the demo that no GPU of today holds
PROBE = "import tensorflow as tf; print(len(tf.config.list_physical_devices('GPU')))"


@dataclass(frozen=True)
class Trial:
    """Where the parts work, and how long."""

    folder: Path
    device: str
    steps: int
    seconds: float

    def demo(self, name: str, steps: int | None = None, **groups: Mapping[str, object]) -> Workspace:
        """Return a workspace of the demo with its records and run.yaml; the records are built once."""
        built = self.folder / "records"
        train = self.train(steps or self.steps, self.device)
        if not (built / "data/records/manifest.json").exists():
            Workspace(built).run("build_records")
        space = Workspace(self.folder / name, **({"train": train} | groups))
        if not (self.folder / name / "data").exists():
            (self.folder / name / "data").symlink_to(built / "data")
        return space

    @staticmethod
    def train(steps: int, devices: int | str) -> Mapping[str, object]:
        often = {f"{name}_every_steps": max(1, steps // 8) for name in ("checkpoint", "log")}
        return {"use": "demo", "devices": devices, "steps": steps} | often


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all of them if none")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table between the marks of this page")
    parser.add_argument("--keep", type=Path, default=ROOT / ".bakeoff", metavar="FOLDER", help="of gpu-proof.json")
    parser.add_argument("--on", choices=("gpu", "cpu"), default="gpu", help="cpu only tries the parts")
    parser.add_argument("--steps", type=int, default=DEMO_STEPS, help="of the demo's training")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement of a network")
    parser.add_argument("--minutes", type=float, default=8, help="after which no other part begins")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.parts if name not in PARTS]:
        parser.error(f"PART: must be one of {', '.join(PARTS)}, got {', '.join(unknown)}")
    if arguments.on == "gpu" and run_command(["-c", PROBE], ROOT).last_line in ("", "0"):
        sys.exit("no GPU: TensorFlow sees none here; `bakeoff doctor` says why, and `--on cpu` tries the parts")
    known = measure(arguments)
    text = f"{describe_machine()}.\n\n" + "\n".join(table(known))
    print(text)
    if arguments.write and arguments.on == "gpu":
        write(arguments.write, TARGET, text)


def measure(arguments: argparse.Namespace) -> dict[str, Rows]:
    """Run the parts until the time is over; keep what each has measured at once."""
    arguments.keep.mkdir(parents=True, exist_ok=True)
    file, start = arguments.keep / RESULTS, time.monotonic()
    known: dict[str, Rows] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder), arguments.on, arguments.steps, arguments.seconds)
        for name in arguments.parts or PARTS:
            if time.monotonic() - start > arguments.minutes * 60:
                print(f"{name}: not begun, for the {arguments.minutes:g} minutes are over", file=sys.stderr)
                continue
            begun = time.monotonic()
            try:
                known[name] = PARTS[name](trial)
            except Exception as error:  # any fault of a part is a row of the table
                known[name] = [("failed", f"{type(error).__name__}: {error}"[:200])]
            known[name].append(("seconds of this part", f"{time.monotonic() - begun:.0f}"))
            if arguments.on == "gpu":
                file.write_text(json.dumps(known, indent=1), encoding="utf-8")
            print("\n".join(table({name: known[name]})[2:]), flush=True)
    return known


def table(known: dict[str, Rows]) -> list[str]:
    rows = [f"| {part} | {what} | {found} |" for part in PARTS for what, found in known.get(part, [])]
    return ["| part | what | found |", "|---|---|---|", *rows]


def doctor(trial: Trial) -> Rows:
    ended = run_command(["-m", "bakeoff", "doctor"], trial.folder)
    lines = [line.strip() for line in ended.output.splitlines() if line.strip()]
    space = trial.demo("doctor", steps=2)
    said = space.run("render_config", "train").output
    devices = [line for line in said.splitlines() if "computes on" in line]
    return [("`bakeoff doctor`", f"exit code {ended.code}: {lines[-1]}"), ("training", " ".join(devices))]


def bits(trial: Trial) -> Rows:
    """Compare the demo with itself, with itself after a kill, and with the CPU's committed numbers."""
    first = trial.demo("first")
    _require(first.run("render_config", "train", "evaluate"))
    again, killed = first.copy(trial.folder / "again"), first.copy(trial.folder / "killed")
    _require(again.run("train"))
    at = killed.kill("train", at_step=trial.steps // 2, limit_seconds=PATIENCE_SECONDS)
    _require(killed.run("train"))
    resumed = killed.measured.get("resumed_at_steps")
    cpu = json.loads((ROOT / "models/evaluation/metrics.json").read_text(encoding="utf-8"))
    return [
        ("one seed twice", _compare(first.digest(), again.digest())),
        (f"killed at step {at}, resumed at {resumed}", _compare(first.digest(), killed.digest())),
        ("seconds of the training", f"{first.measured['seconds']:.0f}, {again.measured['seconds']:.0f}"),
        ("mAP_50", f"{_headline(first.metrics()):.3f}; on the CPU that made the committed one {_headline(cpu):.3f}"),
    ]


def networks(trial: Trial) -> Rows:
    """Return images per second of all networks, in both precisions."""
    rows: Rows = []
    for precision in PRECISIONS:
        command = [
            str(ROOT / "benchmarks/networks.py"), "--seconds", str(trial.seconds), "--precision", precision,
            *([] if trial.device == "gpu" else ["ssd_tiny"]),
        ]  # fmt: skip
        for line in run_command(command, ROOT).output.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if line.startswith("| `"):
                what = f"{cells[0]} at {cells[1]}, batch {cells[2]}, {precision}"
                rows.append((what, f"{cells[3]} trained, {cells[5]} answered" if cells[3] else cells[1]))
    return rows


def input_pipeline(trial: Trial) -> Rows:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    images = "1500" if trial.device == "gpu" else "200"
    command = [str(ROOT / "benchmarks/input.py"), "--images", images, "--rounds", "1", "--threads", str(cores)]
    said = run_command([*command, "--arms", "bakeoff", "decoding"], ROOT).output
    rows = [(f"{cores} cores, JPEGs of 500 × 375", line.strip()) for line in said.splitlines() if "img/s" in line]
    fed = trial.demo("fed", steps=min(trial.steps, SHORT_STEPS * 2))
    _require(fed.run("render_config", "train"))
    rate = fed.status.get("examples_per_second") or 0
    return [*rows, ("the demo, images per second with its input", f"{rate:.0f}")]


def memory(trial: Trial) -> Rows:
    rows: Rows = []
    for name, settings in (("growth", {"use": "preset"}), ("limit of 2 GB", {"use": "preset", "gpu_memory": "2GB"})):
        space = trial.demo(f"memory {name}", steps=min(trial.steps, SHORT_STEPS), memory=settings)
        ended = space.run("render_config", "train")
        found = space.measured
        peaks = f"peak {found.get('peak_device_bytes', 0) / 1e9:.2f} GB of the device"
        estimate = f"estimated {found.get('device_estimate_bytes', 0) / 1e9:.2f}"
        rows.append((name, f"{peaks}, {estimate}" if ended.code == 0 else ended.last_line))
    automatic = {"use": "demo", "steps": 2, "batch_size": "auto"}
    space = trial.demo("automatic", train=automatic)
    ended = space.run("render_config")
    batch = space.config()["train"]["batch_size"] if ended.code == 0 else ended.last_line
    rows.append(("automatic batch size of the demo", str(batch)))
    if trial.device == "gpu":
        large = automatic | {"batch_size": LARGE_BATCH}
        ended = trial.demo("large", train=large, memory={"use": "large"}).run("render_config", "train")
        rows.append((f"a batch of {LARGE_BATCH:,}", f"exit code {ended.code}: {ended.last_line}"))
    return rows


def together(trial: Trial) -> Rows:
    steps = min(trial.steps, SHORT_STEPS * 2)
    alone = trial.demo("alone", steps=steps)
    _require(alone.run("render_config"))
    pair = [alone.copy(trial.folder / f"pair {number}") for number in range(2)]
    begun = time.monotonic()
    _require(alone.run("train"))
    single = time.monotonic() - begun
    begun = time.monotonic()
    with pair[0].begin("train") as one, pair[1].begin("train") as other:
        codes = (one.wait(), other.wait())
    both = time.monotonic() - begun
    same = _compare(pair[0].digest(), alone.digest())
    return [(f"{steps} steps alone, then two at once", f"{single:.0f} s, {both:.0f} s, codes {codes}; weights {same}")]


def export(trial: Trial) -> Rows:
    space = trial.demo("export", steps=min(trial.steps, SHORT_STEPS))
    _require(space.run("render_config", "train"))
    evaluated, exported = space.run("evaluate"), space.run("export")
    _require(exported)
    there = space.digest("models/export/**/*.tflite")
    _require(space.run("export", environment=NO_GPU))
    here = space.digest("models/export/**/*.tflite")
    return [
        ("evaluate", f"exit code {evaluated.code}, {evaluated.seconds:.0f} s"),
        ("export", f"{exported.seconds:.0f} s; the .tflite beside the CPU's: {_compare(there, here)}"),
    ]


def moved(trial: Trial) -> Rows:
    """Go on with the CPU, once where the variant asks for a GPU and once with the default, one device of any kind."""
    rows: Rows = []
    for devices in (trial.device, 1):
        space = trial.demo(f"moved {devices}", train=trial.train(min(trial.steps, SHORT_STEPS * 2), devices))
        _require(space.run("render_config"))
        at = space.kill("train", at_step=space.config()["derived"]["steps"] // 2, limit_seconds=PATIENCE_SECONDS)
        ended = space.run("train", environment=NO_GPU)
        said = [line for line in ended.output.splitlines() if "computes on" in line or line.startswith("warning")]
        asked = f"`train.devices: {devices}`, killed at step {at}, then no GPU to be seen"
        rows.append((asked, f"exit code {ended.code}: {' '.join(said) or ended.last_line}"))
    return rows


def _headline(metrics: dict[str, object]) -> float:
    return float(str(metrics["mAP_50"]))


def _compare(one: str, other: str) -> str:
    return f"equal to the bit ({one[:8]}…)" if one == other else f"different ({one[:8]}…, {other[:8]}…)"


def _require(ended: Ended) -> None:
    if ended.code:
        raise RuntimeError(f"exit code {ended.code}: {ended.last_line}")


PARTS: dict[str, Callable[[Trial], Rows]] = {
    "doctor": doctor, "bits": bits, "networks": networks, "input": input_pipeline, "memory": memory,
    "together": together, "export": export, "moved": moved,
}  # fmt: skip


if __name__ == "__main__":
    main()
