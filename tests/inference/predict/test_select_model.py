"""Which model a name means: weights are taken from DVC's cache only if they are what their name says."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from bakeoff.foundation.errors import DataError
from bakeoff.inference.predict.select_model import trained_at
from support.messages import missing_in


def test_damaged_weights_in_the_cache_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cache, content = Path(".dvc/cache/files/md5"), b"weights"
    weights = hashlib.md5(content).hexdigest()
    listing = json.dumps([{"md5": weights, "relpath": "best.weights.h5"}]).encode()
    folder = f"{hashlib.md5(listing).hexdigest()}.dir"
    for name, held in ((folder, listing), (weights, b"weightt")):
        (cache / name[:2]).mkdir(parents=True, exist_ok=True)
        (cache / name[:2] / name[2:]).write_bytes(held)
    Path("dvc.lock").write_text(
        f"schema: '2.0'\nstages:\n  train:\n    cmd: python\n    outs:\n    - path: models/train\n      md5: {folder}\n"
    )
    Path("models/config").mkdir(parents=True)
    Path("models/config/run.yaml").write_text("name: a run\n")
    for words in (["init", "-q"], ["add", "-f", "dvc.lock", "models"], ["commit", "-q", "-m", "a run"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True)
    with pytest.raises(DataError) as caught:
        trained_at("HEAD")
    assert missing_in(str(caught.value), f"{weights[:2]}/{weights[2:]}", "MD5", "dvc fetch", "dvc repro") == []
