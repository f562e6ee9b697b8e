"""A workspace whose training is arithmetic: real records, variants and DVC stages, and a metric in closed form.

The best is 1.0, at lr=cosine lr.peak=0.02 train.ema_decay=0.6.
"""

import shutil
from pathlib import Path

import yaml

from support.workspace_copy import Workspace, tiny_workspace

WORDS = ("lr.peak=tag(log,interval(0.001,0.3))", "lr=cosine,exponential", "train.ema_decay=interval(0,0.95)")
LINES = {
    "track": "track: {use: none}",
    "train": "train: {use: smoke, steps: 100, batch_size: 4, validate_every_steps: 10}",
}
STAGE = '''
"""python quadratic.py train|evaluate|export"""
import json, math, os, sys, time
from pathlib import Path
import yaml

run = yaml.safe_load(open("models/config/run.yaml"))
away = math.log10(float(run["lr"]["peak"]) / 0.02), run["train"]["ema_decay"] - 0.6
value = 1 - away[0] ** 2 / 4 - away[1] ** 2 - (0.1 if run["lr"]["kind"] == "exponential" else 0)
folder = Path("models") / {"train": "train", "evaluate": "evaluation", "export": "export"}[sys.argv[1]]
folder.mkdir(parents=True, exist_ok=True)
if sys.argv[1] == "train":
    passes = [{"step": step, "validation/mAP_50": value * step / 100} for step in range(10, 101, 10)]
    (folder / "history.jsonl").write_text("".join(json.dumps(one) + "\\n" for one in passes))
    state = {"state": "SUCCEEDED", "step": 100, "steps": 100, "run_id": os.urandom(4).hex(), "value": value}
    (folder / "state.json").write_text(json.dumps(state))
    for name in ("best", "final"):
        (folder / f"{name}.weights.h5").write_text(repr(value))
elif sys.argv[1] == "evaluate":
    (folder / "metrics.json").write_text(json.dumps({"mAP_50": value}))
    (folder / "headline.json").write_text(json.dumps({"mAP_50": value}))
    for name in OUTS["evaluate"]:
        Path(name).mkdir(exist_ok=True) if "." not in Path(name).name else Path(name).write_text("-")
'''


def prepared(folder: Path) -> Workspace:
    workspace = tiny_workspace(folder, LINES)
    workspace.repro("render_config")
    pipeline = yaml.safe_load((folder / "dvc.yaml").read_text(encoding="utf-8"))
    del pipeline["stages"]["export"]
    outs = {}
    for name in ("train", "evaluate"):
        stage = pipeline["stages"][name]
        stage["cmd"] = f"python quadratic.py {name}"
        outs[name] = [entry if isinstance(entry, str) else next(iter(entry)) for entry in stage.get("outs", ())]
    (folder / "quadratic.py").write_text(f"OUTS = {outs!r}\n{STAGE}", encoding="utf-8")
    (folder / "dvc.yaml").write_text(yaml.safe_dump(pipeline, sort_keys=False), encoding="utf-8")
    shutil.rmtree(folder / "tests", ignore_errors=True)
    workspace.run("git", "config", "user.name", "t")
    workspace.run("git", "config", "user.email", "t@localhost")
    workspace.commit()
    return workspace
