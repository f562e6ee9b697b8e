"""An edit of run.yaml is refused, with the command that does what it meant to do."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from bakeoff.config.compose.whole_run import require_unedited
from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.input.view import View
from bakeoff.learning.networks.letterbox import fit_of
from bakeoff.learning.run_file.read_write import is_whole, load_learning, sealed, unsealed
from support.imports import ROOT
from support.messages import missing_in

TREE: dict[str, Any] = {
    "variant": {"lr": "cosine"}, "seed": 0, "lr": {"kind": "cosine", "peak": 0.1, "hold_steps": 0},
    "train": {"phases": [{"name": "all"}]}, "derived": {"steps": 10},
}  # fmt: skip


def written(path: Path, tree: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(tree, sort_keys=False), encoding="utf-8")
    return path


def test_what_was_sealed_is_whole_also_after_yaml() -> None:
    assert is_whole(sealed(TREE))
    assert is_whole(yaml.safe_load(yaml.safe_dump(sealed(TREE), sort_keys=True)))
    assert unsealed(sealed(TREE)) == TREE


@pytest.mark.parametrize(
    "edit",
    [{"seed": 1}, {"seed": 0.0}, {"lr": {"kind": "cosine", "peak": 0.1}}, {"more": 1}, {"train": {"phases": []}}],
)
def test_any_edit_breaks_the_seal(edit: dict[str, Any]) -> None:
    assert not is_whole(sealed(TREE) | edit)


def test_a_whole_file_may_be_overwritten_by_another_variant(tmp_path: Path) -> None:
    path = written(tmp_path / "run.yaml", sealed(TREE))
    before = path.read_bytes()
    require_unedited(path, TREE | {"seed": 5})  # raises nothing
    assert path.read_bytes() == before


def test_a_file_that_is_not_there_or_was_written_by_an_earlier_version_may_be_written(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    require_unedited(path, TREE)  # raises nothing
    assert not path.exists()
    before = written(path, TREE).read_bytes()
    require_unedited(path, TREE | {"seed": 5})
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("edit", "expected", "command"),
    [
        (
            {"lr": {"kind": "cosine", "peak": 0.5, "hold_steps": 0}},
            ("lr.peak ", "0.5", "0.1"),
            "-S ++lr.peak=0.5",
        ),
        ({"seed": 3}, ("seed ", "3", "0"), "-S seed=3"),
        ({"variant": {"lr": "constant"}}, ("variant.lr ", "constant", "cosine"), "-S lr.use=constant"),
    ],
)
def test_an_edit_is_refused_with_the_command_that_works(
    edit: dict[str, Any], expected: tuple[str, ...], command: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "run.yaml", sealed(TREE) | edit)
    with pytest.raises(ConfigError) as error:
        require_unedited(path, TREE)
    said = "run.yaml: ", "edited", "render_config", *expected, "delete it", f"`dvc exp run {command}`", "params.yaml"
    assert missing_in(str(error.value), *said) == []


def test_an_edit_that_no_command_can_make_is_refused_without_one(tmp_path: Path) -> None:
    path = written(tmp_path / "run.yaml", sealed(TREE) | {"derived": {"steps": 11}})
    with pytest.raises(ConfigError, match=r"derived\.steps .*\b11\b.*\b10\b") as error:
        require_unedited(path, TREE)
    assert "dvc exp run" not in str(error.value)


def test_many_edits_are_counted(tmp_path: Path) -> None:
    edited = sealed(TREE) | {"seed": 1, "lr": {"kind": "x", "peak": 2, "hold_steps": 3}, "derived": {"steps": 1}}
    with pytest.raises(ConfigError, match=r"\bseed .*\b1\b.*lr\.peak .*\b2\b.*\b0\.1\b.*\b2 more\b"):
        require_unedited(written(tmp_path / "run.yaml", edited), TREE)


def test_a_file_that_an_edit_broke_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("lr: [\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"run\.yaml:2: .*YAML.*render_config.*delete it"):
        require_unedited(path, TREE)


@pytest.mark.parametrize("key", ["variant", "data", "derived", "lr", "train"])
@pytest.mark.parametrize("value", [None, 3, [], "text"], ids=str)
def test_a_sealed_file_in_which_a_group_is_no_mapping_is_refused_by_its_key(
    key: str, value: Any, tmp_path: Path
) -> None:
    path = written(tmp_path / "run.yaml", sealed(TREE | {"data": {}, key: value}))
    with pytest.raises(ConfigError) as error:
        load_learning(path)
    assert any(
        missing_in(line, f"{path.as_posix()}: {key}: ", "mapping") == [] for line in str(error.value).splitlines()
    )


def test_a_file_of_a_version_without_letterboxes_is_of_stretched_images(tmp_path: Path) -> None:
    tree = unsealed(yaml.safe_load((ROOT / "models/config/run.yaml").read_text(encoding="utf-8")))
    tree["model"].pop("fit", None)
    run = load_learning(written(tmp_path / "run.yaml", sealed(tree)))
    assert fit_of(run.model) == "stretch" and View.of(run.model).as_tree().keys().isdisjoint({"fit", "tiles"})
