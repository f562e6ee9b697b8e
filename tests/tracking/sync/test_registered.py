"""A model of a real training, loaded from MLflow by a process that has no bakeoff. Minutes each."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from stages.test_tasks import VARIANTS
from support.workspace_copy import environment, tiny_workspace

pytestmark = pytest.mark.slow

PREDICT = """
import json, sys
from pathlib import Path
import mlflow, pandas as pd

sys.modules["bakeoff"] = None  # whoever imports it fails
mlflow.set_tracking_uri(sys.argv[1])
client = mlflow.MlflowClient()
[version] = client.search_model_versions("name = 'digit finder'")
experiments = [found.experiment_id for found in client.search_experiments()]
models = {found.name: found for found in client.search_logged_models(experiments)}
files = [path.read_bytes() for path in sorted(Path(sys.argv[2]).iterdir())]
rows = [files] if sys.argv[3] == "video" else files
answers = [
    mlflow.pyfunc.load_model(uri).predict(pd.DataFrame({"image": rows})).to_dict("records")
    for uri in (f"models:/{version.name}/{version.version}", f"models:/{models['exported'].model_id}")
]
steps = {name: [point.step for point in found.metrics if point.key.startswith("validation/")][0]
         for name, found in models.items()}
print(json.dumps({"answers": answers, "steps": steps, "run": version.run_id}))
"""
FRAMES = """
import sys
from pathlib import Path
import tensorflow as tf
data = next(iter(tf.data.TFRecordDataset("data/records/validation-00000-of-00001"))).numpy()
feature = tf.train.Example.FromString(data).features.feature
frames = feature["image/encoded"].bytes_list.value or feature["clip/frames"].bytes_list.value
for number, frame in enumerate(frames):
    Path(sys.argv[1], f"{number:03d}.jpg").write_bytes(frame)
"""


@pytest.mark.parametrize("task", sorted(VARIANTS))
def test_a_registered_model_answers_from_the_bytes_of_images_as_evaluation_did(task: str, tmp_path: Path) -> None:
    track = {"track": "track: {use: mlflow, register: digit finder, wait_s: 120}"}
    workspace = tiny_workspace(tmp_path / "clone", VARIANTS[task] | track)
    for stage in ("build_records", "render_config", "train", "evaluate", "export"):
        workspace.run("python", "-m", f"bakeoff.stages.{stage}")
    frames, elsewhere = tmp_path / "frames", tmp_path / "elsewhere"
    frames.mkdir(), elsewhere.mkdir()
    workspace.run("python", "-c", FRAMES, str(frames))
    moved = workspace.folder.rename(tmp_path / "moved")  # whoever moves the clone takes its models along
    subprocess.run(
        [sys.executable, "-m", "bakeoff", "track", "sync"], cwd=moved, env=environment(), check=True,
        capture_output=True,
    )  # fmt: skip
    for file in (moved / "mlartifacts/models").rglob("*"):  # no address of this machine goes along
        assert not file.is_file() or str(tmp_path).encode() not in file.read_bytes(), file
    done = subprocess.run(
        [sys.executable, "-c", PREDICT, f"sqlite:///{moved}/mlflow.db", str(frames), task],
        cwd=elsewhere, env=environment() | {"TF_CPP_MIN_LOG_LEVEL": "3"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    output = json.loads(done.stdout.splitlines()[-1])
    [by_name], [by_id] = output["answers"]
    assert by_name == by_id
    assert set(output["steps"]) == {"best", "final", "exported"}
    expected = pq.read_table(moved / "models/evaluation/examples.parquet").to_pylist()[0]
    if task == "detection":
        scores = [row["score"] for row in expected["prediction"]]
        assert by_name["scores"] == pytest.approx(scores, abs=2e-3)
        assert len(by_name["boxes"]) == len(by_name["texts"]) == len(by_name["classes"]) == len(scores)
    else:
        assert by_name["text"] == expected["prediction"]
        assert by_name["score"] == pytest.approx(expected["score"], abs=2e-3)
        assert sum(by_name["probabilities"]) == pytest.approx(1, abs=1e-5)
