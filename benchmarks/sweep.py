"""What a sweep's job costs besides its stages: jobs whose stages do nothing, several side by side.

    python benchmarks/sweep.py [--jobs 20] [-j 2]

Seconds of a job are those of the whole sweep times those side by side over the jobs; on a busy machine look at the
processor time. Each stage is one start of Python that writes a few small files, which counts for the job here.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.workspace_copy import Workspace, environment, tiny_workspace

NOTHING = """
import sys
from pathlib import Path

for name in sys.argv[1:]:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith("run.yaml"):  # params.yaml's seed is what the jobs differ in
        seed = next(line for line in open("params.yaml") if line.startswith("seed:"))
        text = "".join(seed if line.startswith("seed:") else line for line in open("rendered.yaml"))
        path.write_text(text)
    elif path.suffix:
        path.write_text("{}")
    else:
        path.mkdir()
        (path / "nothing").touch()
"""


def prepared(folder: Path) -> Workspace:
    """Records and run.yaml are real, so that the sweep can be planned; then the stages are replaced."""
    workspace = tiny_workspace(folder)
    workspace.repro("render_config")
    shutil.copy(folder / "models/config/run.yaml", folder / "rendered.yaml")
    (folder / "nothing.py").write_text(NOTHING, encoding="utf-8")
    pipeline = yaml.safe_load((folder / "dvc.yaml").read_text(encoding="utf-8"))
    for name, stage in pipeline["stages"].items():
        if name != "build_records":
            entries = [*stage.get("outs", ()), *stage.get("metrics", ())]
            outs = [entry if isinstance(entry, str) else next(iter(entry)) for entry in entries]
            stage["cmd"] = f"python nothing.py {' '.join(outs)}"
    (folder / "dvc.yaml").write_text(yaml.safe_dump(pipeline, sort_keys=False), encoding="utf-8")
    workspace.run("git", "config", "user.name", "t")
    workspace.run("git", "config", "user.email", "t@localhost")
    workspace.commit()
    return workspace


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("-j", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # what sends to MLflow may still run
        workspace = prepared(Path(folder) / "clone")
        sweep = [f"seed=range(100,{100 + arguments.jobs})", "-j", str(arguments.j)]
        own = environment()
        before, start = os.times(), time.monotonic()
        command = [sys.executable, "-m", "bakeoff", "sweep", *sweep]
        done = subprocess.run(command, cwd=workspace.folder, env=own, capture_output=True, text=True)
        seconds, after = time.monotonic() - start, os.times()
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        log = (workspace.folder / ".bakeoff/sweeps").glob("*/*.log")
        stages = [stage for file in log for stage in re.findall(r"Running stage '(\w+)'", file.read_text())]
        links = [
            file.stat().st_nlink for file in (workspace.folder / ".dvc/cache/files/md5").rglob("*") if file.is_file()
        ]
        processor = after.children_user - before.children_user + after.children_system - before.children_system
        print(f"{arguments.jobs} jobs, {arguments.j} side by side: {seconds:.0f} s")
        print(
            f"a job: {seconds * arguments.j / arguments.jobs:.2f} s, {processor / arguments.jobs:.2f} s of a processor"
        )
        print(f"build_records ran {stages.count('build_records')} times, train {stages.count('train')} times")
        print(f"copies of the records that are left: {max(links) - 1}")


if __name__ == "__main__":
    main()
