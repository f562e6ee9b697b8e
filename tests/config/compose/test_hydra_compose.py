"""What params.yaml chooses and changes is what Hydra makes of the same choices and changes as its own overrides."""

import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

from bakeoff.config.compose.compose import compose
from bakeoff.config.compose.hydra_versions import BASE
from support.imports import ROOT
from support.workspace_copy import environment

CONF = ROOT / "conf"
PRESETS = sorted(path.stem for path in (CONF / "experiment").glob("*.yaml"))


def compose_by_hydra(conf: Path, *overrides: str) -> Any:
    with initialize_config_dir(str(conf.resolve()), **BASE):
        return OmegaConf.to_container(hydra_compose("variant", list(overrides)), resolve=True)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_with_changes_is_what_hydra_makes_of_it(preset: str, tmp_path: Path) -> None:
    params = tmp_path / "params.yaml"
    params.write_text(f"experiment: {preset}\ndata: digits\nlr: {{peak: 0.5}}\nmemory: low\n", encoding="utf-8")
    ours = compose(params, CONF)
    assert ours.problems.lines == []
    by_hydra = compose_by_hydra(CONF, f"experiment={preset}", "data=digits", "memory=low", "++lr.peak=0.5")
    assert {group: ours.tree[group] for group in by_hydra} == by_hydra


LOW, MIDDLE, TOP = "a: 1\nc: {d: 1}\n", "defaults: [base]\na: 2\n", "defaults: [base, middle]\nc: {e: 2}\n"


def write(folder: Path, **options: str) -> Path:
    (folder / "lr").mkdir()
    (folder / "variant.yaml").write_text("defaults:\n- lr: ???\n- experiment: null\n- _self_\n", encoding="utf-8")
    for name, text in options.items():
        (folder / f"lr/{name}.yaml").write_text(text, encoding="utf-8")
    (folder / "params.yaml").write_text("lr: top\n", encoding="utf-8")
    return folder / "params.yaml"


def test_options_that_build_on_each_other_twice_are_merged_as_by_hydra(tmp_path: Path) -> None:
    params = write(
        tmp_path,
        base="a: 1\nc: {d: 1}\n",
        middle="defaults: [base]\na: 2\n",
        top="defaults: [base, middle]\nc: {e: 2}\n",
    )
    assert compose(params, tmp_path).tree["lr"] == compose_by_hydra(tmp_path, "lr=top")["lr"]
    assert compose(params, tmp_path).tree["lr"] == {"a": 2, "c": {"d": 1, "e": 2}}


def test_a_value_refers_to_what_params_changes(tmp_path: Path) -> None:
    params = write(tmp_path, top="peak: 1.0\nfloor: ${lr.peak}\n")
    params.write_text("lr: {use: top, peak: 3}\n", encoding="utf-8")
    assert compose(params, tmp_path).tree["lr"] == {"peak": 3, "floor": 3}


def test_a_list_for_a_mapping_takes_its_place_for_the_settings_to_judge(tmp_path: Path) -> None:
    params = write(tmp_path, top="a: {b: 1}\nc: 1\n")
    params.write_text("lr: {use: top, a: [1], c: 2}\n", encoding="utf-8")
    composed = compose(params, tmp_path)
    assert (composed.problems.lines, composed.tree["lr"]) == ([], {"a": [1], "c": 2})


def test_a_mapping_for_a_list_of_an_option_is_refused_by_hydra(tmp_path: Path) -> None:
    params = write(tmp_path, base="a: [1]\n", top="defaults: [base]\na: {b: 1}\n")
    assert len(compose(params, tmp_path).problems.lines) == 1


def test_what_one_reader_changes_no_other_one_sees(tmp_path: Path) -> None:
    params = write(tmp_path, top="a: {b: 1}\n")
    compose(params, tmp_path, overrides=["+lr.a.b=2"]).tree["lr"]["a"]["b"] = 3
    assert compose(params, tmp_path).tree["lr"] == {"a": {"b": 1}}


def test_a_multirun_that_is_at_work_keeps_its_hydra(tmp_path: Path) -> None:
    params = write(tmp_path, top="a: 1\n")
    with initialize_config_dir(str(tmp_path), **BASE):
        before = GlobalHydra.instance().hydra
        assert compose(params, tmp_path).tree["lr"] == {"a": 1}
        assert before is not None and GlobalHydra.instance().hydra is before


def test_threads_compose_side_by_side(tmp_path: Path) -> None:
    params = write(tmp_path, **{f"top{number}": f"a: {number}\n" for number in range(8)})
    found: dict[int, Any] = {}

    def read(number: int) -> None:
        found[number] = compose(params, tmp_path, overrides=[f"lr=top{number}"]).tree["lr"]["a"]

    threads = [Thread(target=read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: number for number in range(8)}


def test_the_stage_that_composes_loads_hydra_and_omegaconf() -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from bakeoff.config.compose.compose import compose\n"
        "compose(Path('params.yaml'), Path('conf')).problems.raise_any()\n"
        "print(sorted({'hydra', 'omegaconf'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("['hydra', 'omegaconf']\n", "")
