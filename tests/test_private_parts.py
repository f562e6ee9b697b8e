"""What the code leans on of other packages that they do not promise, as docs/dependencies.md lists it.

A test here fails where such a part is gone or means something else, before a user meets it.
"""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from bakeoff.dataset.records.record import SEEN, TRAIN, VALIDATION
from bakeoff.dataset.sources import synthetic_digits
from bakeoff.experiments.compare.mlflow_ui import FIRST, KEY, TAG, describe_view
from bakeoff.foundation import dvc
from bakeoff.foundation.tf_loading import NOT_NEEDED
from bakeoff.tracking.store.mlflow_client import EXPERIMENT_TAGS, HOLD_ADDRESSES
from bakeoff.tracking.store.read_runs import KNOWN_SCHEMAS
from bakeoff.tracking.store.ui_server import LIST_OF_FILES, SWITCHES
from support.imports import ROOT, SRC, imported_modules
from support.workspace_copy import environment

PAGE = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8").partition("## Parts that are not public")[2]
PARTS = re.findall(r"^- \*\*(.+)\*\*\n  - Where: (.+)\n  - Why: (.+)\n  - Tests: (.+)$", PAGE, re.MULTILINE)
PRIVATE = re.compile(
    r"keras\.src\.|tensorflow\.(python|core|compiler|lite\.python)\b|hydra\.(_internal|core)\.|dvc\.|mlflow\.(utils|store)\b"
    r"|omegaconf\._|optuna\._|google\.protobuf\.internal|\w+(\.\w+)*\._[a-z]"
)
OWN = ("self", "cls", "os")  # whose underscores are no business of another package
COLUMNS_READ = {  # of MLflow's tables, by tracking/store/read_runs.py
    "runs": {
        "run_uuid",
        "name",
        "status",
        "start_time",
        "end_time",
        "artifact_uri",
        "lifecycle_stage",
        "experiment_id",
    },
    "experiments": {"experiment_id", "name", "lifecycle_stage"},
    "tags": {"run_uuid", "key", "value"},
    "params": {"run_uuid", "key", "value"},
    "latest_metrics": {"run_uuid", "key", "value", "is_nan"},
}


def folder_of(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


# The page.


@pytest.mark.parametrize("file", sorted(SRC.rglob("*.py")), ids=lambda file: file.relative_to(SRC).as_posix())
def test_every_private_import_and_attribute_is_on_the_page(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    modules = {name for name in imported_modules(file) if PRIVATE.match(name) and not name.startswith("bakeoff")}
    attributes = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and re.match(r"_[a-z]", node.attr)
        and not (isinstance(node.value, ast.Name) and node.value.id in OWN)
        and f"{node.attr}" not in _defined(tree)
    }  # fmt: skip
    missing = [name for name in modules if name.split(".")[-1] not in PAGE and name.split(".")[-2] not in PAGE]
    assert missing + [name for name in attributes if f"`{name}`" not in PAGE and f".{name}" not in PAGE] == []


def _defined(tree: ast.Module) -> set[str]:
    """Private names that a file gives its own classes."""
    methods = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    stored = {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    return methods | stored


def test_every_place_and_every_test_of_the_page_is_there() -> None:
    assert len(PARTS) == PAGE.count("\n- ") > 20
    for part, where, _, tests in PARTS:
        files = re.findall(r"`([\w/]+\.py)`", where)
        assert files and all((SRC / file).is_file() for file in files), where
        named = re.findall(r"`(tests/[\w/]+\.py)`: `(test_\w+)`", tests)
        assert named, part
        for file, test in named:
            assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}: {test}"


# Keras and TensorFlow.


def test_keras_has_one_generator_for_whatever_has_no_seed() -> None:
    import keras
    import numpy as np
    from keras.src.random.seed_generator import global_seed_generator

    state = global_seed_generator().state
    before = np.array(state)
    keras.random.normal((1,))
    assert isinstance(state, keras.Variable) and global_seed_generator().state is state
    assert not np.array_equal(before, np.array(state))


def test_keras_lists_the_layers_inside_of_a_network_and_its_norms_can_be_told_to_synchronise() -> None:
    import keras

    norm = keras.layers.BatchNormalization(name="norm")
    given = keras.Input((2,))
    inner = keras.Model(given, norm(given), name="inner")
    outer = keras.Model(given, inner(given), name="outer")
    assert {"inner", "norm"} <= {layer.name for layer in outer._flatten_layers(include_self=False)}
    assert outer in list(outer._flatten_layers()) and outer not in list(outer._flatten_layers(include_self=False))
    assert norm.synchronized is False and norm.momentum == 0.99  # both are set after the layer was made


def test_keras_keeps_the_variables_of_each_layer_in_order_and_what_it_gave() -> None:
    import keras

    dense, norm = keras.layers.Dense(3, name="dense"), keras.layers.BatchNormalization(name="norm")
    given = keras.Input((2,))
    between = dense(given)
    network = keras.Model(given, norm(between))
    own = [[*layer._trainable_variables, *layer._non_trainable_variables] for layer in (network, dense, norm)]
    assert [[variable.name for variable in variables] for variables in own] == [
        [], ["kernel", "bias"], ["gamma", "beta", "moving_mean", "moving_variance"],
    ]  # fmt: skip
    outputs = [tensor.shape for node in dense._inbound_nodes for tensor in node.output_tensors]
    assert outputs == [(None, 3)]
    layer, node, _ = between._keras_history
    assert layer is dense and [tensor is given for tensor in dense._inbound_nodes[node].input_tensors] == [True]


def test_keras_loads_without_what_it_could_do_without() -> None:
    """Each such import stands where its failure is caught, or where it is not loaded at once."""
    hard = re.compile(rf"^(import|from) ({'|'.join(NOT_NEEDED)})\b", re.MULTILINE)
    files = [file for file in folder_of("keras").rglob("*.py") if not file.stem.endswith("_test")]
    folders = {file.parent.name for file in files if hard.search(file.read_text(encoding="utf-8"))}
    assert folders <= {"numpy", "openvino"}  # backends that are not used
    code = "import sys; from bakeoff.foundation.tf_loading import NOT_NEEDED, load_tensorflow; load_tensorflow(); "
    code += "import keras; print(sorted({*NOT_NEEDED} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_tensorflow_has_the_messages_that_are_written_and_mended() -> None:
    from tensorflow.core.framework.summary_pb2 import Summary
    from tensorflow.core.protobuf.fingerprint_pb2 import FingerprintDef
    from tensorflow.core.util.event_pb2 import Event

    assert {"wall_time", "step", "file_version", "summary"} <= set(Event.DESCRIPTOR.fields_by_name)
    assert {"tag", "simple_value", "image", "histo"} <= set(Summary.Value.DESCRIPTOR.fields_by_name)
    assert (
        FingerprintDef.DESCRIPTOR.fields_by_name["uuid"].type
        == FingerprintDef.DESCRIPTOR.fields_by_name["uuid"].TYPE_STRING
    )


def test_tensorflow_names_the_fingerprint_of_a_saved_model_by_chance(tmp_path: Path) -> None:
    """If equal models had equal files by themselves, export need not name them."""
    import tensorflow as tf

    contents = []
    for name in ("one", "other"):
        tf.saved_model.save(tf.Module(), str(tmp_path / name))
        contents.append((tmp_path / name / "fingerprint.pb").read_bytes())
    assert contents[0] != contents[1]


def test_tensorflow_says_the_limit_of_each_device() -> None:
    from tensorflow.python.client import device_lib

    devices = device_lib.list_local_devices()
    assert devices and all(device.device_type and isinstance(device.memory_limit, int) for device in devices)


def test_tensorflow_lite_has_its_interpreter_and_schema() -> None:
    from tensorflow.lite.python import schema_py_generated as schema
    from tensorflow.lite.python.interpreter import Interpreter
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    assert callable(Interpreter) and callable(convert_variables_to_constants_v2)
    model = schema.ModelT()
    assert hasattr(schema.ModelT, "InitFromPackedBuf") and callable(model.Pack)
    assert {"subgraphs", "signatureDefs", "buffers", "metadata", "operatorCodes"} <= set(vars(model))
    assert vars(schema.MetadataT("name", 1)) == {"name": "name", "buffer": 1}


# Hydra and OmegaConf.


def test_hydra_has_what_plugins_are_made_with() -> None:
    from hydra.core.hydra_config import HydraConfig
    from hydra.core.plugins import Plugins
    from hydra.core.utils import JobReturn, JobStatus
    from hydra.plugins.sweeper import Sweeper
    from hydra.types import HydraContext

    assert {"instantiate_launcher", "instance"} <= set(dir(Plugins)) and callable(HydraConfig.get)
    assert {"overrides", "status"} <= set(vars(JobReturn())) and isinstance(JobReturn.return_value, property)
    assert {"COMPLETED", "FAILED"} <= set(JobStatus.__members__)
    assert set(HydraContext.__dataclass_fields__) == {"config_loader", "callbacks"}
    assert callable(Sweeper.validate_batch_is_legal)


def test_omegaconf_names_the_key_that_cannot_be_resolved() -> None:
    from omegaconf import OmegaConf
    from omegaconf.errors import InterpolationKeyError

    with pytest.raises(InterpolationKeyError) as raised:
        OmegaConf.to_container(OmegaConf.create({"lr": {"peak": "${nothing}"}}), resolve=True)
    assert raised.value.full_key == "lr.peak" and "full_key: lr.peak" in str(raised.value)


# MLflow. Its database is looked at by its source: making one takes longer than all of this.


def test_mlflow_makes_the_schema_that_is_read_past_it() -> None:
    texts = [file.read_text() for file in (folder_of("mlflow") / "store/db_migrations/versions").glob("*.py")]
    revisions, before = (
        {match[1] for text in texts if (match := re.search(rf'^{key} = "(\w+)"', text, re.MULTILINE))}
        for key in ("revision", "down_revision")
    )
    assert revisions - before == {list(KNOWN_SCHEMAS)[-1]}


def test_mlflow_has_the_tables_and_columns_that_are_read_and_moved() -> None:
    from mlflow.store.model_registry.dbmodels import models as registry
    from mlflow.store.tracking.dbmodels import models

    tables = {**models.Base.metadata.tables, **registry.Base.metadata.tables}
    for table, columns in COLUMNS_READ.items():
        assert columns <= set(tables[table].columns.keys()), table
    assert [column for table, column in HOLD_ADDRESSES if column not in tables[table].columns] == []


def test_mlflow_knows_the_tags_and_variables_that_are_set() -> None:
    from mlflow import environment_variables
    from mlflow.utils import mlflow_tags

    assert mlflow_tags.MLFLOW_PARENT_RUN_ID == "mlflow.parentRunId"
    assert mlflow_tags.MLFLOW_MODEL_VERSIONS == "mlflow.modelVersions"
    texts = "".join(
        (SRC / file).read_text(encoding="utf-8")
        for file in ("tracking/store/mlflow_client.py", "tracking/store/ui_server.py")
    )
    names = set(re.findall(r'"(MLFLOW_[A-Z_]+)"', texts))
    assert len(names) >= 6 and [name for name in sorted(names) if not hasattr(environment_variables, name)] == []


def test_mlflow_s_page_knows_the_kind_of_experiment_that_is_set() -> None:
    [(tag, kind)] = EXPERIMENT_TAGS.items()
    pages = (folder_of("mlflow") / "server/js/build/static/js").glob("*.js")
    assert any(tag in text and kind in text for text in (page.read_text(encoding="utf-8") for page in pages))


def test_mlflow_s_pages_know_the_view_and_the_switches_that_are_set() -> None:
    pages = (folder_of("mlflow") / "server/js/build/static/js").glob("*.js")
    texts = [page.read_text(encoding="utf-8") for page in pages]
    view = describe_view([])
    words = [TAG.removesuffix(KEY), "viewStateShareKey", *FIRST, *view, "selectedColumns", "orderByAsc"]
    names = [name.rpartition("_v")[0] for name in SWITCHES]
    wanted = [*(word.removeprefix("attributes.").strip("`") for word in words), *names]
    wanted.append(f'name:"{LIST_OF_FILES}",styles:"display:flex;flex-direction:row')
    assert [word for word in wanted if not any(word in text for text in texts)] == []
    assert any("${e}_v${t}" in text for text in texts)  # how a switch is named in the browser's store


# scikit-learn.


def test_scikit_learn_keeps_digits_and_photographs_where_they_are_read() -> None:
    import numpy as np
    from sklearn.datasets import load_digits, load_sample_images

    images, labels = zip(*(synthetic_digits._load_digits(split) for split in SEEN), strict=True)
    assert np.array_equal(np.concatenate(images), (load_digits().images * 255 / 16).astype(np.uint8))
    assert np.array_equal(np.concatenate(labels), load_digits().target)
    for split, columns in ((TRAIN, synthetic_digits.TRAIN_COLUMNS), (VALIDATION, synthetic_digits.VALIDATION_COLUMNS)):
        for read, given in zip(synthetic_digits._load_photographs(split), load_sample_images().images, strict=True):
            assert np.array_equal(np.asarray(read), given[:, columns])


# DVC.


def test_dvc_keeps_results_where_they_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    pipeline = {"make": {"cmd": "mkdir -p made/deep && env > made/deep/env", "deps": ["given"], "outs": ["made"]}}
    (tmp_path / "given").write_text("1")
    (tmp_path / "dvc.yaml").write_text(yaml.safe_dump({"stages": pipeline}))
    for command in (["git", "init", "--quiet"], [sys.executable, "-m", "dvc", "init", "--quiet"]):
        subprocess.run(command, check=True, env=environment())
    subprocess.run([sys.executable, "-m", "bakeoff.foundation.dvc", "repro", "--quiet"], check=True, env=environment())

    stage = yaml.safe_load((tmp_path / "dvc.lock").read_text())["stages"]["make"]
    [out], [dep] = stage["outs"], stage["deps"]
    assert (out["path"], dep["path"], out["md5"][-4:]) == ("made", "given", ".dir") and set(stage) == {
        "cmd",
        "deps",
        "outs",
    }
    [name] = dvc.cached_folder(out["md5"]) or {}
    assert name == "deep/env"
    file = dvc.cached_file((dvc.cached_folder(out["md5"]) or {})[name])
    assert file is not None
    environment_text = file.read_text()
    assert f"DVC_ROOT={tmp_path}\n" in environment_text and "DVC_STAGE=make\n" in environment_text
    [entry] = dvc.cached_runs()
    assert yaml.safe_load(entry.read_text()) == stage


def test_dvc_names_experiments_as_they_are_looked_for() -> None:
    from dvc import env
    from dvc.repo.experiments.refs import EXPS_NAMESPACE, ExpRefInfo
    from dvc.repo.experiments.utils import EXEC_TMP_DIR

    assert (env.DVC_EXP_NAME, env.DVC_EXP_BASELINE_REV) == ("DVC_EXP_NAME", "DVC_EXP_BASELINE_REV")
    assert (EXPS_NAMESPACE, EXEC_TMP_DIR) == ("refs/exps", "exps")
    assert str(ExpRefInfo("8df5" + "0" * 36, "name")) == f"refs/exps/8d/f5{'0' * 36}/name"
