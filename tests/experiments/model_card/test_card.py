"""bakeoff card, on a run whose files are written here: what the card says, and what it refuses."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.foundation import workspace
from bakeoff.tracking.results.results import result_here
from support.commands import Bakeoff
from support.drawing import write
from support.finished_run import commit_run, write_run
from support.messages import missing_in
from support.repository import git
from support.run_journals import write_run as tag_run

TEXTS = """licence: apache-2.0
authors: [Team 7]
intended_use: Tells cats from dogs.
limits: Not for <wolves>.
data_licence: cc-by-4.0
data_origin: By us, in the garden.
data_people: None are in them.
data_upkeep: The team does.
"""


@pytest.fixture(autouse=True)
def run(here: Path) -> None:
    write_run()


def read_card(folder: str) -> tuple[dict[str, Any], str]:
    _, metadata, body = Path(folder, "README.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(metadata), body


def test_a_card_says_what_the_files_say(bakeoff: Bakeoff) -> None:
    write(workspace.CONF / "card.yaml", TEXTS)
    output = bakeoff("card", "--out", "given")
    assert (output.code, output.err, len(output.out.splitlines())) == (0, "", 1)
    metadata, body = read_card("given")
    assert (metadata["license"], metadata["pipeline_tag"], metadata["library_name"]) == (
        "apache-2.0", "image-classification", "tflite",
    )  # fmt: skip
    [result] = metadata["model-index"][0]["results"]
    assert result["metrics"][0] == {"type": "accuracy", "name": "accuracy", "value": 0.9}
    rows = body.splitlines()
    assert any(row.startswith("| accuracy | 0.900 | 0.610 to 0.980 | ") for row in rows)
    assert "| brightness under 63 | 4 | 0.500 | 0.900 |" in rows
    assert any(row.startswith("| model.tflite | ") and row.endswith(" | 0.850 | 0.050 |") for row in rows)
    assert "- weights: mobilenet, licence Apache-2.0; trained on ImageNet" in rows
    assert "- Not for &lt;wolves&gt;." in rows
    assert Path("given/FILES.md").read_text() == "content of README.md"
    assert Path("given/model.tflite").read_text() == "content of model.tflite"
    sheet = Path("given/DATASHEET.md").read_text(encoding="utf-8")
    counts = read_manifest(workspace.RECORDS).splits
    assert f"| cat | {counts['train'].counts['cat']} | {counts['validation'].counts['cat']} |" in sheet
    assert all(answer in sheet for answer in ("By us, in the garden.", "cc-by-4.0", "None are in them."))


def test_the_energy_of_the_training_is_given_if_its_run_has_it(bakeoff: Bakeoff) -> None:
    run_id = result_here().run_id
    assert run_id
    bakeoff("card", "--out", "unknown")
    assert "Energy" not in read_card("unknown")[1]
    tag_run(run_id, tags={"bakeoff.processor_energy_joules": "7200.0", "bakeoff.gpu_energy_joules": "1800000.0"})
    bakeoff("card", "--out", "counted")
    metadata, body = read_card("counted")
    assert "| processors and their memory | 7,200 J | 0.002 kWh |" in body
    assert "| GPUs | 1,800,000 J | 0.5 kWh |" in body
    assert "co2_eq_emissions" not in metadata  # nobody knows where the power came from
    write(workspace.CONF / "card.yaml", "co2_per_kwh: 100\n")
    bakeoff("card", "--out", "known")
    assert read_card("known")[0]["co2_eq_emissions"]["emissions"] == 50.2


def test_the_same_run_gives_the_same_bytes_and_names_its_commit_if_it_is_committed(bakeoff: Bakeoff) -> None:
    git("init", "--quiet")
    write(Path("dvc.lock"), "stages: {}\n")
    write(Path(".gitignore"), ".bakeoff/\n/a/\n/b/\n/c/\n")
    bakeoff("card", "--out", "a")
    assert "git checkout" not in read_card("a")[1]
    git("add", "--all")
    git("commit", "--quiet", "--message", "run")
    for folder in ("b", "c"):
        assert bakeoff("card", "--out", folder).code == 0
    names = [path.relative_to("b") for path in Path("b").rglob("*") if path.is_file()]
    assert all(Path("b", name).read_bytes() == Path("c", name).read_bytes() for name in names)
    assert f"$ git checkout {git('rev-parse', 'HEAD')}" in read_card("b")[1]


def test_a_revision_has_its_files_in_the_cache(bakeoff: Bakeoff) -> None:
    commit_run()
    assert bakeoff("card", "--out", "here").code == 0
    for folder in (workspace.RECORDS, workspace.TRAINED, workspace.EXPORTED):
        shutil.rmtree(folder)
    output = bakeoff("card", "HEAD", "--out", "there")
    assert output.code == 0, output.err
    names = sorted(path.relative_to("here") for path in Path("here").rglob("*") if path.is_file())
    assert names == sorted(path.relative_to("there") for path in Path("there").rglob("*") if path.is_file())
    assert all(Path("here", name).read_bytes() == Path("there", name).read_bytes() for name in names)
    shutil.rmtree(".dvc/cache")
    output = bakeoff("card", "HEAD", "--out", "elsewhere")
    assert output.code == 2 and len(output.err.splitlines()) == 1 and "HEAD: " in output.err


def test_what_only_people_know_is_asked_for(bakeoff: Bakeoff) -> None:
    output = bakeoff("card", "--out", "given")
    metadata, body = read_card("given")
    assert metadata["license"] == "unknown"
    for key in ("intended_use", "limits", "licence", "data_licence"):
        assert f"`{key}` in `conf/card.yaml`" in body
    assert "conf/card.yaml" in output.out


def test_bad_input_is_one_line(bakeoff: Bakeoff) -> None:
    Path("given").mkdir()

    def refused(*words: str) -> str:
        output = bakeoff("card", *words)
        assert (output.code, output.out, len(output.err.splitlines())) == (2, "", 1), output
        return output.err

    assert missing_in(refused("--out", "given"), "--out: ", "given") == []
    assert missing_in(refused("v7", "--out", "new"), "v7: ", "no revision") == []
    write(workspace.CONF / "card.yaml", "licence: Apache 2\n")
    assert missing_in(refused("--out", "new"), "conf/card.yaml:1: licence: ", "'Apache 2'") == []
    write(workspace.CONF / "card.yaml", "co2_per_kwh: -3\n")
    assert missing_in(refused("--out", "new"), "conf/card.yaml:1: co2_per_kwh: ", "-3") == []
    write(workspace.CONF / "card.yaml", "licenze: mit\n")
    assert missing_in(refused("--out", "new"), "conf/card.yaml:1: licenze", "'licence'") == []
    (workspace.CONF / "card.yaml").unlink()
    write(workspace.EXPORTED / "model.tflite", "content of another")
    assert missing_in(refused("--out", "new"), "model.tflite", "SHA-256") == []
    (workspace.EXPORTED / "export.json").unlink()
    assert missing_in(refused("--out", "new"), "export.json", "`dvc repro export`") == []
    (workspace.EVALUATION / "metrics.json").unlink()
    assert missing_in(refused("--out", "new"), "this workspace: ", "`dvc repro evaluate`") == []
    assert not Path("new").exists()


def test_hugging_face_reads_the_card(bakeoff: Bakeoff) -> None:
    hub = pytest.importorskip("huggingface_hub")
    tag_run(result_here().run_id or "", tags={"bakeoff.gpu_energy_joules": "3600.0"})
    write(workspace.CONF / "card.yaml", "co2_per_kwh: 400\n")
    assert bakeoff("card", "--out", "given").code == 0
    card = hub.ModelCard(Path("given/README.md").read_text(encoding="utf-8"), ignore_metadata_errors=False)
    found = {result.metric_type: result.metric_value for result in card.data.eval_results}
    assert card.data.to_dict()["co2_eq_emissions"]["emissions"] == 0.4
    assert found["accuracy"] == 0.9 and card.data.model_name == "small · cosine · low"
