"""What an export leaves of a run, without a model: for those who download it, or attack the download."""

import json
from pathlib import Path


def write_export(folder: Path, fingerprint: str, run_id: str, labels: str) -> None:
    """Write models/export, and what connects it with the run."""
    exported, trained = folder / "models/export", folder / "models/train"
    for inside in (exported / "saved_model", trained):
        inside.mkdir(parents=True)
    facts = {"headline": "mAP_50", "network": {"mAP_50": 0.5}, "examples": 7}
    (exported / "export.json").write_text(json.dumps(facts), encoding="utf-8")
    (exported / "model.tflite").write_bytes(b"TFL3")
    (exported / "labels.txt").write_text(labels, encoding="utf-8")
    (exported / "saved_model/saved_model.pb").write_bytes(b"pb")
    (trained / "state.json").write_text(json.dumps({"lineage": {"fingerprint": fingerprint}}), encoding="utf-8")
    (folder / ".bakeoff/results").mkdir()
    (folder / f".bakeoff/results/{fingerprint}.json").write_text(json.dumps({"run_id": run_id}), encoding="utf-8")
