"""Every block of code in the README and in docs/ says what is there.

Run: Python (tests/stages/test_pipeline.py, tests/test_recipes.py), scripts of DVC's defects (test_dvc_defects.py), the
README's commands one after the other (below, slow). Read by what would read them: settings, and every other command.
"""

import json
import re
import shutil
import subprocess
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from dvc.cli import parse_args
from hydra.core.override_parser.types import Override

from bakeoff.app.cli import make_parser, parse
from bakeoff.app.cli.parser import OPTION
from bakeoff.app.cli.repro import take_option
from bakeoff.config.compose.compose import compose
from bakeoff.config.compose.overrides import parse_overrides
from bakeoff.config.compose.variant import parse_variant
from bakeoff.experiments.cluster.ray_connection import parse_address
from bakeoff.experiments.gate.gate_rules import load_rules
from bakeoff.experiments.model_card.card_texts import load_texts
from bakeoff.experiments.sweep.configurations import list_values, load_overrides
from bakeoff.experiments.sweep.team_quota import load_team
from bakeoff.foundation import errors
from support.doc_blocks import BLOCKS, COMMANDS, Block, blocks_of
from support.imports import ROOT
from support.workspace_copy import Workspace

CONF = ROOT / "conf"
MULTIRUN = ["python", "-m", "bakeoff.multirun"]
OF_OTHERS = (  # commands that only those who wrote them can check
    "git", "cd", "pip", "unzip", "eval", "tensorboard", ".", "du", "nvidia-smi", "pre-commit", "python3", "sudo", "wsl",
    "xcode-select", "ffmpeg", "mkdir", "mlflow", "curl", "echo", "edgetpu_compiler", "openssl", "model_signing",
)  # fmt: skip
PLUGINS = re.compile(r"hydra\b.*")
TYPED = [block for block in BLOCKS if block.commands]
OF_RECIPES = "data: {use: json_lines}"  # a variant of the guide's own parts; tests/test_recipes.py trains one
SETTINGS = [
    block for block in BLOCKS if block.language == "yaml" and not block.is_recipe and OF_RECIPES not in block.text
]
GROUPS = {*yaml.safe_load((CONF / "variant.yaml").read_text(encoding="utf-8"))} | {
    path.name for path in CONF.iterdir() if path.is_dir()
}
OF_TRAIN = ("phases", "augment")
ALL_COMMANDS = make_parser().commands.choices
accepted: set[tuple[str, ...]] = set()  # overrides that an earlier command had; most commands have none


def require_variant(folder: Path, lines: dict[str, Any], words: list[str], conf: Path = CONF) -> None:
    """Refuse words and lines of params.yaml that compose no variant."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8")) | lines
    (folder / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    composed = compose(folder / "params.yaml", conf, overrides=words)
    parse_variant(composed.tree, composed.problems)
    composed.problems.raise_any()


def require_words(folder: Path, words: list[str]) -> None:
    """Refuse a sweep's words whose first or last values compose no variant."""
    overrides = [override for override in parse_overrides(words) if not PLUGINS.match(override.key_or_group)]
    for chosen in {tuple(_one(override, place) for override in overrides) for place in (0, -1)} - accepted:
        require_variant(folder, {}, list(chosen))
        accepted.add(chosen)


def _one(override: Override, place: int) -> str:
    if override.is_interval_sweep():
        return f"{override.get_key_element()}={override.value().start}"
    if not override.is_sweep_override():
        return str(override.input_line)
    values = list_values(override, CONF, 1000)
    return values[place]


def check_command(folder: Path, words: list[str]) -> None:
    program, *rest = words
    if program == "bakeoff" and rest[0] == "repro":
        words, on = take_option(rest, "--on")
        if on is not None:
            parse_address(on)
        parse_args(words)
    elif program == "bakeoff":
        arguments = parse(rest)
        changes = [word for word in getattr(arguments, "overrides", []) if "=" in word or word.startswith("~")]
        require_words(folder, changes)
    elif words[:3] == MULTIRUN:
        require_words(folder, [word for word in rest[2:] if "=" in word])
    elif words[:2] == ["python", "-m"]:
        assert find_spec(words[2]), words
    elif program == "dvc":
        options = parse_args(rest)
        require_words(folder, [word for word in getattr(options, "set_param", None) or [] if ":" not in word])
    elif program == "make":
        [target] = [word for word in rest if "=" not in word]
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    else:
        assert program in OF_OTHERS, words


@pytest.mark.parametrize("block", TYPED, ids=str)
def test_every_command_is_one(block: Block, tmp_path: Path) -> None:
    for words in block.commands:
        try:
            check_command(tmp_path, words)
        except SystemExit:
            pytest.fail(f"{block}: {' '.join(words)}: refused by its own parser")


@pytest.mark.parametrize("block", SETTINGS, ids=str)
def test_every_setting_composes(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = re.match(r"# (conf/\S+\.yaml)", block.text)
    if file and file[1].startswith("conf/sweep/"):
        (tmp_path / "sweep.yaml").write_text(block.text, encoding="utf-8")
        return require_words(tmp_path, load_overrides(tmp_path / "sweep.yaml"))
    readers = {"conf/team.yaml": load_team, "conf/gate.yaml": load_rules, "conf/card.yaml": load_texts}
    if file and file[1] in readers:
        (tmp_path / "conf").mkdir()
        (tmp_path / file[1]).write_text(block.text, encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        assert readers[file[1]]()
        return None
    if file:
        shutil.copytree(CONF, tmp_path / "conf")
        (tmp_path / file[1]).write_text(block.text, encoding="utf-8")
        group, option = Path(file[1]).parent.name, Path(file[1]).stem
        return require_variant(tmp_path, {group: option}, [], tmp_path / "conf")
    for lines in _variants(block.text):
        if "derived" in lines:
            there = yaml.safe_load((ROOT / "models/config/run.yaml").read_text(encoding="utf-8"))["derived"]
            assert lines["derived"].keys() <= there.keys()
            assert lines["derived"].get("memory_parts", {}).keys() <= there["memory_parts"].keys()
            continue
        inner = {key: lines.pop(key) for key in OF_TRAIN if key in lines}
        if inner:
            lines["train"] = {"use": "small"} | ({"epochs": None} if "phases" in inner else {}) | inner
        for group, entry in lines.items():
            if isinstance(entry, dict) and "use" not in entry:
                lines[group] = {"use": "demo" if group == "train" else "preset"} | entry
        assert lines.keys() <= GROUPS | {"experiment", "seed", "note"}, block
        require_variant(tmp_path, lines, [])
    return None


def _variants(text: str) -> list[dict[str, Any]]:
    """A key that stands twice shows two ways to say it."""
    lines = text.splitlines()
    if all(re.match(r"\w+: ", line) for line in lines) and len({line.partition(":")[0] for line in lines}) == 1:
        return [yaml.safe_load(line) for line in lines]
    return [yaml.safe_load(text)]


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "json"], ids=str)
def test_every_json_can_be_read(block: Block) -> None:
    assert json.loads(block.text)


def test_every_kind_of_block_is_checked_somewhere() -> None:
    kinds = {block.language for block in BLOCKS if not block.is_recipe}
    of_pipelines = {"yml"}  # tests/proofs/gate runs its steps
    of_robots = {"java", "py"}  # tests/inference/device/test_reader.py and test_networktables.py read them
    assert kinds - {*COMMANDS, "yaml", "json", "python", "sh"} - of_robots - of_pipelines == {"text", "tree"}
    scripts = {block.page for block in BLOCKS if block.language == "sh"}
    assert scripts == {"docs/dvc-defects.md", "docs/server.md", "docs/slurm.md", "docs/workers.md"}


@pytest.mark.slow
def test_the_readme_can_be_typed_from_top_to_bottom(tmp_path: Path) -> None:
    """In a clone, but for what needs a browser, a second terminal, or the name of a run."""
    clone = tmp_path / "bakeoff"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    workspace = Workspace(clone)
    workspace.run("bakeoff", "repro")
    blocks = blocks_of("README.md")
    [(before, edit), *_] = [(one, two) for one, two in pairwise(blocks) if two.language == "yaml"]
    after = blocks[blocks.index(edit) + 1]
    typed = 0
    for block in (before, edit, after):
        if block is edit:
            params = (clone / "params.yaml").read_text(encoding="utf-8")
            (clone / "params.yaml").write_text(re.sub(r"^lr: .*\n", edit.text, params, flags=re.M), encoding="utf-8")
        for words in block.commands:
            if "--watch" in words or "stop" in words:
                continue
            runs = _two_runs(workspace)
            names = {"RUN": runs[0], "OTHER": runs[-1]}
            workspace.run(*(names.get(word, word) for word in words), ok=words[1:2] != ["evaluate"])
            typed += 1
    assert typed >= 12
    assert (clone / "found/pictures/scene.jpg").is_file()


def _two_runs(workspace: Workspace) -> list[str]:
    status = json.loads(workspace.run("bakeoff", "status", "--json").stdout)
    return [run["fingerprint"] for run in status["runs"]]


@pytest.mark.parametrize("command", sorted({*ALL_COMMANDS} - {"repro"}))
def test_the_reference_has_every_command_with_its_options_and_no_others(command: str) -> None:
    """By the words of `--help`, those for arguments included."""
    page = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    parser = ALL_COMMANDS[command]
    inner = parser.commands.choices if parser.commands else {}
    for name, one in ({command: parser} | {f"{command} {word}": one for word, one in inner.items()}).items():
        [section] = re.findall(rf"^##+ `bakeoff {name}`\n(.*?)(?=^##)", page, re.DOTALL | re.MULTILINE)
        items = [line.partition(":")[0] for line in section.splitlines() if line.startswith("- `")]
        assert {*OPTION.findall(" ".join(items))} == {*one.options} - {"-h", "--help"}
        arguments = {*re.findall(r"\b(?:RUN|OVERRIDE|ID)\b", one.format_usage())}
        assert arguments <= {*re.findall(r"[A-Z]+", section)}


def test_the_reference_has_every_exit_code_of_the_code() -> None:
    page = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert codes == {0, 1, errors.USER_ERROR, errors.TRY_AGAIN_LATER, errors.INTERRUPTED, errors.SEEN_ENOUGH}
