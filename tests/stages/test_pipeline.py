"""The stages as users run them: through DVC, in a repository of their own."""

import ast
import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from pyarrow import parquet

from bakeoff import load as load_trained
from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.experiments.planning.plan import make_plan
from bakeoff.experiments.planning.stage_status import read_known
from bakeoff.foundation.errors import DataError, WorkspaceError
from reference.stage_files import is_listed
from support.commands import run_bakeoff
from support.doc_blocks import BLOCKS, Block
from support.imports import ROOT
from support.messages import missing_in
from support.workspace_copy import Workspace, tiny_workspace


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """One workspace after its first `dvc repro train`."""
    tracked = {  # so that MLflow has everything when a stage is over, and there is each file that the docs load
        "track": "track: {use: mlflow, wait_s: 120}",
        "export": "export: {use: tflite, formats: [saved_model, dynamic, onnx]}",
    }  # fmt: skip
    workspace = tiny_workspace(tmp_path_factory.mktemp("built") / "clone", tracked)
    workspace.learn_network()
    assert workspace.repro("train") == {"build_records", "render_config", "train"}
    return workspace


@pytest.fixture(scope="module")
def built(trained: Workspace) -> Workspace:
    """The same after the whole of `dvc repro`, committed."""
    workspace = trained
    assert workspace.repro() == {"evaluate", "export"}
    workspace.commit()
    return workspace


@pytest.fixture(scope="module")
def experimented(built: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A copy after an experiment with another schedule, which trained and did no more."""
    workspace = built.copy(tmp_path_factory.mktemp("experimented") / "clone")
    workspace.run("dvc", "exp", "run", "--temp", "--name", "falling", "-S", "lr.use=exponential", "train")
    return workspace


@pytest.fixture
def workspace(built: Workspace, tmp_path: Path) -> Workspace:
    return built.copy(tmp_path / "clone")


@pytest.fixture
def bakeoff(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Runs a command of `bakeoff` in a workspace; returns the JSON that it prints."""

    def answer(workspace: Workspace, *words: str) -> Any:
        monkeypatch.chdir(workspace.folder)
        monkeypatch.delenv("DVC_ROOT", raising=False)
        code, printed, errors = run_bakeoff(monkeypatch, capsys, *words)
        assert (code, errors) == (0, "")
        return json.loads(printed)

    return answer


def test_training_leaves_its_files_before_anything_else_runs(trained: Workspace) -> None:
    assert (trained.folder / "models/train/state.json").is_file()


def test_the_files_are_where_the_design_says(built: Workspace) -> None:
    for path in (
        "data/records/manifest.json", "data/records/labels.txt", "data/records/label_map.pbtxt",
        "data/records/train-00000-of-00001", "data/records/index-train-00000-of-00001.npy",
        "models/config/run.yaml", "models/config/lr.svg", "models/config/pipeline.config",
        "models/train/final.weights.h5", "models/train/best.weights.h5",
        "models/train/history.jsonl", "models/train/state.json", "models/train/plots/training.tsv",
        "models/evaluation/metrics.json", "models/evaluation/examples.parquet", "models/evaluation/pictures.jpg",
        "models/evaluation/headline.json", "models/evaluation/report.html", "models/evaluation/slices.json",
        "models/evaluation/plots/precision_recall.tsv", "models/export/saved_model/saved_model.pb",
        "models/export/labels.txt", "mlflow.db",
    ):  # fmt: skip
        assert (built.folder / path).is_file(), path


def test_every_file_is_in_the_reference(built: Workspace) -> None:
    """Also what MLflow and DVC have of their own, by the folder."""
    files = [
        path for place in ("data", "models", ".bakeoff", "mlartifacts") for path in built.folder.glob(f"{place}/**/*")
    ]
    names = [
        path.relative_to(built.folder).as_posix() for path in files if path.is_file() and path.name != ".gitignore"
    ]
    assert len(names) > 50 and [name for name in names if not is_listed(name)] == []


def test_git_sees_the_variant_and_its_metrics_and_nothing_big(built: Workspace) -> None:
    tracked = built.run("git", "ls-files").stdout.split()
    numbers = {"models/evaluation/headline.json", "models/evaluation/metrics.json"}
    assert {"models/config/run.yaml", "dvc.lock", *numbers} <= set(tracked)
    assert not [file for file in tracked if file.endswith((".h5", ".db", ".jpg")) or file.startswith("data/records")]
    assert built.run("git", "status", "--porcelain").stdout == ""


def test_nothing_runs_twice(workspace: Workspace) -> None:
    assert workspace.repro() == set()


def test_a_note_that_is_edited_reaches_run_page_and_comparison_and_runs_no_other_stage(
    workspace: Workspace, bakeoff: Callable[..., Any]
) -> None:
    pages = {name: (workspace.folder / name).read_bytes() for name in ("models/evaluation/report.html", "dvc.yaml")}
    with (workspace.folder / "params.yaml").open("a", encoding="utf-8") as file:
        file.write("note: the one for Anna\n")
    assert workspace.repro() == {"render_config"}
    [row] = bakeoff(workspace, "compare", "--json")["runs"]
    assert row["note"] == "the one for Anna"
    [copy] = (workspace.folder / ".bakeoff/results").glob("*.html")
    assert "<dt>note</dt><dd>the one for Anna</dd>" in copy.read_text(encoding="utf-8")
    assert {name: (workspace.folder / name).read_bytes() for name in pages} == pages
    [journal] = (workspace.folder / ".bakeoff/journal").glob("*/journal.jsonl")
    logged = journal.read_text(encoding="utf-8").splitlines()[-2:]
    assert "the one for Anna" in logged[0] and '"name": "evaluation/report.html"' in logged[1]


def test_first_weights_that_are_replaced_under_their_name_are_noticed(workspace: Workspace) -> None:
    assert workspace.changed_dependencies("train") == set()
    weights = workspace.folder / "data/weights/mine.weights.h5"
    weights.write_bytes(b"one")
    assert workspace.changed_dependencies("train") == {"data/weights"}
    workspace.commit_stage("train")
    assert workspace.changed_dependencies("train") == set()
    (weights.parent / "other").write_bytes(b"two")
    (weights.parent / "other").replace(weights)
    assert workspace.changed_dependencies("train") == {"data/weights"}


@pytest.mark.long
def test_plan_foretells_what_runs_what_is_restored_and_what_is_left_alone(
    built: Workspace, experimented: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DVC_ROOT", raising=False)

    def ahead(*variants: str) -> list[dict[str, str]]:
        known = read_known()
        return [make_plan(variant.split(), known=lambda: known).stages for variant in variants]

    monkeypatch.chdir(built.folder)
    same = dict.fromkeys(("build_records", "render_config", "train", "evaluate", "export"), "unchanged")
    unchanged, pictures, schedule, records = ahead(
        "", "evaluate.pictures=3", "lr.use=exponential", "data.train_examples=13"
    )
    assert unchanged == same
    assert pictures == same | {"render_config": "runs", "evaluate": "runs"}
    assert schedule == same | dict.fromkeys(("render_config", "train", "evaluate", "export"), "runs")
    assert set(records.values()) == {"runs"}

    workspace = experimented.copy(tmp_path / "clone")
    monkeypatch.chdir(workspace.folder)
    assert ahead("lr.use=exponential") == [
        same | {"render_config": "runs", "train": "from the cache", "evaluate": "runs", "export": "runs"}
    ]
    workspace.edit("params.yaml", "lr: {use: cosine, ", "lr: {use: exponential, ")
    assert workspace.repro("train") == {"render_config"}  # the other is restored, as it was said
    assert ahead("", "lr.use=cosine") == [
        same | {"evaluate": "runs", "export": "runs"},
        same | {"render_config": "runs", "train": "from the cache"},
    ]
    workspace.edit("params.yaml", "lr: {use: exponential, ", "lr: {use: cosine, ")
    assert workspace.repro() == {"render_config"}


@pytest.mark.filterwarnings("ignore")  # of MLflow's libraries
def test_config_compares_with_what_mlflow_has_of_a_run(workspace: Workspace, bakeoff: Callable[..., Any]) -> None:
    run = workspace.state()["run_id"]
    assert bakeoff(workspace, "config", "--json", run, "seed=7") == {"seed": {run: 0, "workspace": 7}}


def test_mlflow_says_what_a_run_started_from(built: Workspace) -> None:
    with closing(sqlite3.connect(built.folder / "mlflow.db")) as store:
        tags = dict(store.execute("SELECT key, value FROM tags WHERE key LIKE 'bakeoff.first_weights%'").fetchall())
    assert tags == {"bakeoff.first_weights": "random weights", "bakeoff.first_weights_licences": "none"}


def test_plan_names_the_command_that_brings_the_weights_of_a_recipe(
    built: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(built.folder)
    recipe = ("plan", "train=ftc_ssd_mobilenet_v2_fpnlite_320", "train.batch_size=4")
    code, printed, errors = run_bakeoff(monkeypatch, capsys, *recipe)
    name = "ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8"
    assert (code, printed) == (2, "")
    parts = (f"data/weights/zoo/{name}", f"`bakeoff weights get {name}`", "init: {weights: none}")
    assert missing_in(errors, "train.init.weights: ", *parts) == []
    code, printed, errors = run_bakeoff(monkeypatch, capsys, *recipe, "train.init.weights=none")
    assert (code, errors) == (0, "")
    assert missing_in(printed, "train.init.weights: is none", "random weights", "recipe") == []


def test_plan_has_the_numbers_of_the_run(built: Workspace, bakeoff: Callable[..., Any]) -> None:
    plan = bakeoff(built, "plan", "--json")
    state = built.state()
    assert plan["examples"] == {"train": 12, "validation": 6}
    assert (plan["steps"], plan["batch_size"], plan["epochs"]) == (2, 4, 0.667)
    assert plan["parameters"] == state["parameters"]
    assert plan["classes"] == state["classes"]  # by which a run that starts from this one is checked
    [phase] = plan["phases"]
    assert phase["steps_per_epoch"] == 3
    assert phase["trainable_parameters"] + phase["frozen_parameters"] == state["parameters"]
    assert plan["memory_budget_bytes"] == 4 * 10**9 and len(plan["classes"]) == 10 and plan["background"]


def test_plan_draws_training_examples_as_the_network_would_get_them(
    built: Workspace, bakeoff: Callable[..., Any], tmp_path: Path
) -> None:
    files = [tmp_path / "plain.png", tmp_path / "again.png", tmp_path / "mixed.png"]
    for file, words in zip(files, ([], ["lr.peak=0.02"], ["+train.augment.mosaic.probability=1.0"]), strict=True):
        plan = bakeoff(built, "plan", "--json", *words, "--show", str(file))
        with Image.open(file) as sheet:
            assert plan["shown"] == file.as_posix() and sheet.width > 1000
    plain, again, mixed = (file.read_bytes() for file in files)
    assert plain == again != mixed
    page = (built.folder / "models/evaluation/report.html").read_text(encoding="utf-8")
    assert "Training examples as the network got them" not in page  # for nothing changed them


def test_plan_draws_into_pictures_only(
    built: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(built.folder)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    code, printed, errors = run_bakeoff(monkeypatch, capsys, "plan", "--show", "lr.peak=0.1")
    assert (code, printed) == (2, "") and errors.count("\n") == 1
    assert missing_in(errors, "--show: ", ".jpg, .jpeg, .png", "'lr.peak=0.1'") == []


def test_plan_counts_each_stage_as_it_took_and_what_dvc_took(built: Workspace, bakeoff: Callable[..., Any]) -> None:
    logged = [json.loads(line) for line in (built.folder / ".bakeoff/durations.jsonl").read_text().splitlines()]
    fingerprint = built.state()["lineage"]["fingerprint"]
    assert [row["what"] for row in logged if row.get("run") == fingerprint] == ["train", "evaluate", "export"]
    last = {row["what"]: row["seconds"] for row in logged}
    assert min(last.values()) > 0
    plan = bakeoff(built, "plan", "--json", "seed=7")
    assert list(plan["stage_seconds"]) == ["render_config", "train", "evaluate", "export", "dvc"]
    assert {name: plan["stage_seconds"][name] for name in ("train", "evaluate", "export")} == {
        name: last[name] for name in ("train", "evaluate", "export")
    }
    assert plan["seconds"] == pytest.approx(sum(plan["stage_seconds"].values()))
    assert bakeoff(built, "plan", "--json")["stage_seconds"].keys() == {"dvc"}
    assert bakeoff(built, "plan", "--json", "train.steps=3")["seconds"] is None  # two steps tell no pace


def test_a_rate_in_the_chosen_option_trains_again_and_rebuilds_nothing(workspace: Workspace) -> None:
    workspace.edit("conf/lr/cosine.yaml", "kind: cosine", "kind: cosine\nhold_steps: 1")
    workspace.render()
    assert workspace.repro("--dry") == {"render_config", "train"}  # and with its outputs what comes after it


def test_an_edit_of_evaluate_does_not_train(workspace: Workspace) -> None:
    workspace.edit("conf/evaluate/standard.yaml", "pictures: 12", "pictures: 3")
    workspace.render()
    assert workspace.repro("--dry") == {"render_config", "evaluate"}


def test_options_that_are_not_chosen_and_where_copies_go_decide_no_result(workspace: Workspace) -> None:
    for option in ("conf/lr/exponential.yaml", "conf/model/ssd_small.yaml", "conf/train/demo.yaml"):
        with (workspace.folder / option).open("a", encoding="utf-8") as file:
            file.write("# another thought\n")
    workspace.edit("params.yaml", "track: {use: mlflow, wait_s: 120}", "track: {use: none}")
    assert workspace.repro() == {"render_config"}


@pytest.mark.long
def test_a_temporary_experiment_leaves_the_workspace_and_tracks_in_its_store(
    built: Workspace, experimented: Workspace
) -> None:
    workspace = experimented
    assert workspace.run("git", "status", "--porcelain").stdout == ""
    for path in ("params.yaml", "dvc.lock", "models/train/state.json"):
        assert (workspace.folder / path).read_bytes() == (built.folder / path).read_bytes()
    [(run, name, experiment)] = set(_runs(workspace)) - set(_runs(built))
    assert (name[9:], experiment) == ("ssd_tiny · exponential · medium (falling)", "falling")
    assert _models(workspace, run) == {"best", "final"}
    assert "falling" in workspace.dvc("exp", "list", "--name-only")
    changed = workspace.dvc("params", "diff", "HEAD", "falling")
    assert "lr.decay_factor" in changed and "exponential" in changed
    assert "mAP_50" in workspace.dvc("metrics", "diff", "HEAD", "falling", "--all")


@pytest.mark.long
def test_a_run_by_any_of_its_names_is_a_keras_model_that_answers_as_evaluation_found(
    experimented: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    import keras

    from bakeoff.config.compose.whole_run import load
    from bakeoff.learning.input.batches import evaluation_batches
    from bakeoff.learning.input.record_reader import RecordReader
    from bakeoff.learning.networks.weights import digest
    from bakeoff.learning.plan.phases import batch_shape
    from bakeoff.learning.tasks.task import compile_answer, make_task

    folder, state = experimented.folder, experimented.state()
    [(mlflow_id, *_)] = [row for row in _runs(experimented) if row[2] is None]
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.chdir(folder / "conf/lr")
    names = (None, state["run_id"][:8], mlflow_id[:10], state["lineage"]["fingerprint"], "HEAD", folder)
    digests = {digest(load_trained(name)) for name in names}
    assert len(digests) == 1 and not digests & {digest(load_trained("falling"))}
    assert digest(load_trained("../../models/train/final.weights.h5")) == state["weights_sha256"]
    assert Path.cwd() == folder / "conf/lr"
    with pytest.raises(WorkspaceError, match=r"^nobody: no run "):
        load_trained("nobody")
    with pytest.raises(DataError, match=r"^\.\./\.\./models/export: .*got an export"):
        load_trained("../../models/export")

    monkeypatch.chdir(folder)
    network = load_trained()
    assert isinstance(network, keras.Model)
    run, manifest = load(Path("models/config/run.yaml")), read_manifest(Path("data/records"))
    store = RecordReader(Path("data/records"), manifest.splits["validation"])
    answer = compile_answer(network, make_task(run.model, manifest.classes, multi_label=False))
    table = parquet.read_table("models/evaluation/examples.parquet").to_pylist()
    expected = {row["example"]: [detection["score"] for detection in row["prediction"]] for row in table}
    answered: dict[int, list[float]] = {}
    for batch in evaluation_batches(store, batch_shape(run, 4)):
        predictions = answer(batch)
        for number, scores, count in zip(batch["number"], predictions["scores"], predictions["count"], strict=True):
            answered[int(number)] = list(scores.numpy()[: int(count)])
    assert answered.keys() == expected.keys() and len(answered) == 6 and any(answered.values())
    for example, scores in expected.items():
        assert sorted(scores) == pytest.approx(sorted(answered[example]), abs=1e-6)


def test_where_nothing_was_trained_there_is_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WorkspaceError, match="not in a bakeoff workspace"):
        load_trained()
    (tmp_path / "conf").mkdir()
    (tmp_path / "dvc.yaml").touch()
    with pytest.raises(WorkspaceError, match=r"^models/train: nothing .*`dvc repro`"):
        load_trained()


def test_what_is_pushed_can_be_pulled(workspace: Workspace, tmp_path: Path) -> None:
    workspace.dvc("remote", "add", "--default", "store", str(tmp_path / "store"))
    workspace.dvc("push")
    weights = (workspace.folder / "models/train/final.weights.h5").read_bytes()
    for folder in ("data/records", "models/train", ".dvc/cache"):
        shutil.rmtree(workspace.folder / folder)
    workspace.dvc("pull")
    assert (workspace.folder / "models/train/final.weights.h5").read_bytes() == weights
    assert workspace.repro() == set()


def test_plots_of_two_variants_can_be_compared(workspace: Workspace) -> None:
    workspace.dvc("plots", "diff", "HEAD", "--out", "page")
    page = (workspace.folder / "page/index.html").read_text(encoding="utf-8")
    assert not re.search(r"<(script|link|img)[^>]+https?:", page)  # `.dvc/plots.html` draws them itself
    for name in (
        "loss",
        "learning_rate",
        "validation score",
        "precision and recall",
        "F1 over threshold",
        "errors by kind",
        "pictures.jpg",
    ):
        assert name in page


def _models(workspace: Workspace, run: str) -> set[str]:
    """Those that have their files."""
    with closing(sqlite3.connect(workspace.folder / "mlflow.db")) as store:
        query = "SELECT name, artifact_location FROM logged_models WHERE source_run_id = ?"
        rows = store.execute(query, (run,)).fetchall()
    return {name for name, place in rows if Path(place.removeprefix("file://"), f"{name}.weights.h5").is_file()}


def _runs(workspace: Workspace) -> list[tuple[str, str, str | None]]:
    """(id, name, DVC experiment) of every run in the main workspace's store."""
    with closing(sqlite3.connect(workspace.folder / "mlflow.db")) as store:
        return store.execute(
            "SELECT runs.run_uuid, name, value FROM runs "
            "LEFT JOIN tags ON tags.run_uuid = runs.run_uuid AND key = 'DVC_EXP_NAME' WHERE status = 'FINISHED'"
        ).fetchall()


def names_of(tree: ast.Module) -> set[str]:
    """Return what a program that ran to its end has defined: each name that it assigns or imports at its top."""
    targets = [one for line in tree.body if isinstance(line, ast.Assign) for one in ast.walk(line.targets[0])]
    imports = [one for line in tree.body if isinstance(line, ast.Import | ast.ImportFrom) for one in line.names]
    imported = {one.asname or one.name.partition(".")[0] for one in imports}
    return imported | {one.id for one in targets if isinstance(one, ast.Name)}


PYTHON = [block for block in BLOCKS if block.language == "python" and not block.is_recipe]


@pytest.mark.filterwarnings("ignore::Warning")  # of libraries that the project itself does not use so
@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_python_of_the_docs_runs(block: Block, built: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a workspace after `dvc repro`."""
    monkeypatch.chdir(built.folder)
    Path("docs/images").mkdir(parents=True, exist_ok=True)
    shutil.copy2(ROOT / "docs/images/scene.jpg", "docs/images")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{built.folder}/mlflow.db")
    with closing(sqlite3.connect("mlflow.db")) as store:
        [[model]] = store.execute("SELECT model_id FROM logged_models WHERE name = 'exported'")
        [[best]] = store.execute(
            "SELECT model_id FROM logged_models WHERE name LIKE 'best-so-far-%' AND lifecycle_stage = 'active' LIMIT 1"
        )
    left: dict[str, Any] = {}
    exec(re.sub(r"m-[0-9a-f]{32}", model, block.text).replace("models:/digits/1", f"models:/{best}"), left)
    assert names_of(ast.parse(block.text)) <= left.keys() and left.keys() > {"__builtins__"}
