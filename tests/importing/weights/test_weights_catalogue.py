"""What there is for the networks of conf/model/, and `bakeoff weights` as one sees it."""

import json
import re
import tarfile
from pathlib import Path

import pytest
import yaml

from bakeoff.app.cli import parse
from bakeoff.foundation.errors import ConfigError
from bakeoff.importing.weights.demo_weights import DRAWN
from bakeoff.importing.weights.weights_catalogue import find_entry, read_catalogue
from support.imports import ROOT
from support.messages import missing_in

ENTRIES = read_catalogue()


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_an_entry_says_what_it_knows_and_names_networks_that_are_here(name: str) -> None:
    entry = ENTRIES[name]
    assert entry.models and all((ROOT / f"conf/model/{model}.yaml").is_file() for model in entry.models)
    assert re.fullmatch(r"[\w.-]+", name) and re.fullmatch(r"[\w.-]+\.(tar\.gz|tgz|h5|pth)", entry.file)
    assert entry.source is None or entry.source.startswith(("http://", "https://"))
    assert entry.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", entry.sha256)
    assert entry.md5 is None or re.fullmatch(r"[0-9a-f]{32}", entry.md5)
    assert bool(entry.sum_from) == bool(entry.sha256 or entry.md5)
    assert bool(entry.size_from) == bool(entry.size)


def test_the_page_says_of_each_entry_who_states_its_size_and_its_sum() -> None:
    lines = (ROOT / "docs/transfer.md").read_text(encoding="utf-8").splitlines()
    rows = {line.split("`")[1]: line for line in lines if line.startswith("| `")}
    assert rows.keys() >= ENTRIES.keys()
    for name, entry in ENTRIES.items():
        _, _, size, checksum, _ = rows[name].split("|")
        stated = f"{entry.size:,} bytes" if entry.size else "not known"
        by_another = entry.size and entry.size_from != entry.sum_from
        assert size.strip() == (f"{stated}, {entry.size_from}" if by_another else stated)
        kind = "SHA-256" if entry.sha256 else "MD5"
        assert checksum.strip() == (f"{kind}: {entry.sum_from}" if entry.sum_from else "not known")


def test_no_two_entries_are_the_same_file_on_a_mirror() -> None:
    assert len({entry.file for entry in ENTRIES.values()}) == len(ENTRIES)


def test_what_options_of_train_start_from_is_in_the_catalogue_or_made_here() -> None:
    models, named = {entry.name: entry.models for entry in ENTRIES.values()}, {}
    models |= {drawn.name: (drawn.model,) for drawn in DRAWN.values()}
    for file in (ROOT / "conf/train").glob("*.yaml"):
        weights = (yaml.safe_load(file.read_text(encoding="utf-8")).get("init") or {}).get("weights", "")
        if weights.startswith("zoo/"):
            named[file.stem] = weights.removeprefix("zoo/")
    assert set(named) == {
        "frc", "inception_flowers", "s3dg_three_phases", "ftc_ssd_mobilenet_v2_320", "ftc_ssd_mobilenet_v2_fpnlite_320",
        "ftc_ssd_mobilenet_v2_fpnlite_640", "ftc_ssd_mobilenet_v1_fpn_640", "photographs_small",
        "photographs_accurate", "photonvision_640",
    }  # fmt: skip
    for option, name in named.items():
        for preset in (ROOT / "conf/experiment").glob("*.yaml"):
            chosen = dict(entry.popitem() for entry in yaml.safe_load(preset.read_text(encoding="utf-8"))["defaults"])
            if chosen["override /train"] == option:
                assert chosen["override /model"] in models[name], preset.stem


def test_keras_sums_are_those_of_its_source() -> None:
    from keras.src.applications import efficientnet_v2, inception_v3, mobilenet_v3, resnet

    source = Path(inception_v3.__file__).read_text(encoding="utf-8")
    assert f'file_hash="{ENTRIES["keras_inception_v3"].md5}"' in source
    assert ENTRIES["keras_mobilenet_v3_small"].md5 == mobilenet_v3.WEIGHTS_HASHES["small_224_1.0_float"][1]
    assert ENTRIES["keras_mobilenet_v3_large"].md5 == mobilenet_v3.WEIGHTS_HASHES["large_224_1.0_float"][1]
    assert ENTRIES["keras_efficientnet_v2_b0"].md5 == efficientnet_v2.WEIGHTS_HASHES["b0"][1]
    assert ENTRIES["keras_resnet50"].md5 == resnet.WEIGHTS_HASHES["resnet50"][1]


def test_a_name_that_is_not_there_is_refused_with_what_fits() -> None:
    with pytest.raises(ConfigError, match=r"^keras_resnet_50: .*'keras_resnet50'\?.*one of: "):
        find_entry("keras_resnet_50", ENTRIES)
    with pytest.raises(ConfigError, match=r"^s3dg: .*network.*\bs3dg_kinetics_600$"):
        find_entry("s3dg", ENTRIES)
    assert find_entry("zoo/keras_resnet50", ENTRIES).name == "keras_resnet50"


def run(*command: str) -> None:
    parse(["weights", *command]).run()


def test_the_command_lists_and_fetches_from_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BAKEOFF_WEIGHTS", str(tmp_path / "mirror"))
    (tmp_path / "mirror").mkdir()
    (tmp_path / "a").write_bytes(b"index")
    with tarfile.open(tmp_path / "mirror/s3dg_kinetics_600.tar.gz", "w:gz") as archive:
        for name in ("model.ckpt-7.index", "model.ckpt-7.data-00000-of-00001"):
            archive.add(tmp_path / "a", f"kinetics/{name}")
    run("get", "s3dg_kinetics_600")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"weights: data/weights/zoo/s3dg_kinetics_600/ from {tmp_path}/mirror/s3dg_kinetics_600.tar.gz"
    assert "no published sum" in lines[2]
    assert missing_in(lines[3], "Kinetics 600", "licence not known") == []
    assert missing_in(lines[4], "params.yaml: ", "train: {init: {weights: zoo/s3dg_kinetics_600}}") == []
    assert not list((tmp_path / ".bakeoff/zoo").glob("*.gz"))
    run("get", "s3dg_kinetics_600")
    assert "already" in capsys.readouterr().out
    run("list")
    rows = capsys.readouterr().out.splitlines()
    [number] = [number for number, line in enumerate(rows) if line.startswith("s3dg_kinetics_600")]
    assert rows[number].split()[1] == "here"
    assert missing_in(rows[number + 1], "Kinetics 600", "licence not known", "s3dg") == []
    made = rows[-2 * len(DRAWN) :: 2]  # what nobody publishes comes last
    assert [row.partition(": `get` ")[0] for row in made] == list(DRAWN)
    assert missing_in(rows[-2 * len(DRAWN) - 1], "--json", "not verified") == []
    assert len(rows) == 2 * len(ENTRIES) + 2 + 2 * len(DRAWN)
    assert max(map(len, rows)) <= 80
    run("list", "--json")
    entries = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in entries if entry["is_here"]] == ["s3dg_kinetics_600"]
