"""Any text in params.yaml, conf/ or on the command line ends in a variant, or in lines that say what to mend."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from bakeoff.config.api_export.pipeline import format_pipeline
from bakeoff.config.compose.checks import Records
from bakeoff.config.compose.compose import compose
from bakeoff.config.compose.derive import resolve
from bakeoff.config.compose.lr_plot import lr_svg
from bakeoff.config.compose.network_facts import Facts, Variable
from bakeoff.config.compose.variant import parse_variant
from bakeoff.config.compose.whole_run import Run, as_tree, load, write
from bakeoff.dataset.records.manifest import Manifest, Shard, Split
from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.plan.phases import plan_phases
from bakeoff.learning.run_file.parse import flat
from bakeoff.learning.run_file.read_write import sealed
from bakeoff.learning.run_file.yaml_file import write_mapping
from support.imports import ROOT
from support.messages import missing_in
from support.odd_inputs import edited, explore, few_or_many, values

PARAMS, CONF = Path("params.yaml"), Path("conf")
GROUPS = ("data", "model", "memory", "lr", "optimizer", "train", "evaluate", "export", "track")
OPTIONS = ("variant", "experiment/demo", "lr/cosine", "model/ssd_small", "memory/medium", "train/demo", "data/digits")
SPLIT = Split(600, 600 * 176 * 176 * 3, 1, {"0": 600}, (Shard("train-00000-of-00001", 600, 1, "0"),))
MANIFEST = Manifest("detection", tuple("0123456789"), {"train": SPLIT, "validation": SPLIT}, False, None)
FACTS = Facts((Variable("backbone.stem/kernel", (3, 3, 3, 8), True),), 10_000)  # building networks takes seconds
PLACES = ("params.yaml", "command line", "conf")


def render(overrides: Sequence[str] = ()) -> Run:
    """Do what render_config does, but for looking at records and building the network."""
    composed = compose(PARAMS, CONF, overrides=overrides)
    problems = composed.problems
    draft, records = parse_variant(composed.tree, problems), Records(MANIFEST)
    run = resolve(
        draft, records, problems, facts_of=lambda *_: FACTS, is_set=lambda key: composed.layer_of(key) is not None
    )
    problems.raise_any()
    if run is None:  # a batch of `auto` takes a training to find
        assert draft.train and draft.train.batch_size == "auto"
        return render([*overrides, "train.batch_size=4"])
    write(run, Path("run.yaml"))
    Path("run.yaml").unlink()
    lr_svg(run.name, plan_phases(run))
    format_pipeline(run, MANIFEST)
    return run


@pytest.fixture(scope="module")
def conf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "conf", folder / "conf")
    shutil.copy(ROOT / "params.yaml", folder / "params.yaml")
    return folder


@pytest.fixture
def clone(conf: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(conf)
    yield conf
    shutil.copy(ROOT / "params.yaml", conf / "params.yaml")


@pytest.fixture(scope="module")
def demo(conf: Path) -> Run:
    with pytest.MonkeyPatch.context() as there:
        there.chdir(conf)
        return render()


@pytest.fixture(scope="module")
def keys(demo: Run) -> list[str]:
    return [key for key in flat(as_tree(demo)) if not key.startswith(("variant", "derived"))]


@few_or_many
def test_any_values_in_params_are_read_or_refused(number: int, clone: Path, keys: list[str]) -> None:
    def read(pairs: list[tuple[str, str]]) -> None:
        lines = {group: f"{group}: {{use: preset}}" for group in GROUPS}
        lines |= {"data": "data: {use: digits}", "seed": "seed: 0"}
        for key, value in pairs:
            group, *inner = key.split(".")
            head = [f"{group}:", f"  use: {'digits' if group == 'data' else 'preset'}"] if inner else []
            rest = [f"{'  ' * depth}{name}:" for depth, name in enumerate(inner, 1)] or [f"{group}:"]
            lines[group] = "\n".join([*head, *rest]) + f" {value}"
        text = "\n".join(["experiment: demo", *lines.values(), ""])
        PARAMS.write_text(text, encoding="utf-8", errors="surrogatepass")
        render()

    explore(number, st.lists(st.tuples(st.sampled_from(keys), values), min_size=1, max_size=3), read, *PLACES)


@few_or_many
def test_any_text_in_params_is_read_or_refused(number: int, clone: Path) -> None:
    def read(source: bytes) -> None:
        PARAMS.write_bytes(source)
        render()

    texts = st.one_of(edited((ROOT / "params.yaml").read_text("utf-8")), st.binary(max_size=200))
    explore(number, texts, read, *PLACES)


@few_or_many
def test_any_text_in_an_option_is_read_or_refused(number: int, clone: Path) -> None:
    texts = {name: (ROOT / f"conf/{name}.yaml").read_text("utf-8") for name in OPTIONS}

    def read(pair: tuple[str, bytes]) -> None:
        path = clone / f"conf/{pair[0]}.yaml"
        path.write_bytes(pair[1])
        try:
            render()
        finally:
            path.write_text(texts[pair[0]], encoding="utf-8")

    pairs = st.sampled_from(OPTIONS).flatmap(lambda name: st.tuples(st.just(name), edited(texts[name])))
    explore(number, pairs, read, *PLACES)


@few_or_many
def test_any_words_on_the_command_line_are_read_or_refused(number: int, clone: Path, keys: list[str]) -> None:
    key = st.one_of(st.sampled_from(keys), st.sampled_from(GROUPS), st.text(max_size=8))
    word = st.builds("{}{}={}".format, st.sampled_from(("", "+", "++", "~")), key, values)
    explore(number, st.lists(st.one_of(word, st.text(max_size=20)), min_size=1, max_size=2), render, *PLACES)


@few_or_many
def test_any_run_yaml_is_read_or_refused(number: int, tmp_path: Path, demo: Run) -> None:
    path = tmp_path / "run.yaml"
    write(demo, path)
    text, tree = path.read_text("utf-8"), as_tree(demo)
    plain = st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9)), st.lists)

    def seal(pair: tuple[str, Any]) -> bytes:
        """Change one value, with the digest that goes with it."""
        write_mapping(path, sealed(change(tree, pair[0].split("."), pair[1])), head="")
        return path.read_bytes()

    def read(source: bytes) -> None:
        path.write_bytes(source)
        assert load(path).name

    resealed = st.tuples(st.sampled_from([*flat(tree), *tree]), plain).map(seal)
    explore(number, st.one_of(edited(text), resealed), read, path.as_posix())


def change(tree: Any, place: list[str], value: Any) -> Any:
    if not place or not isinstance(tree, dict):
        return value
    return tree | {place[0]: change(tree.get(place[0]), place[1:], value)}


REFUSALS = {  # once a traceback or a hang, or taken as it stands
    "model.input_size=1000000000": ("command line: model.input_size", "4,096", "1000000000"),
    "model.anchors=[]": ("command line: model.anchors", "mapping", "[]"),
    "model.kind=[ssd]": ("command line: model.kind", "['ssd']", "'ssd'", "one of"),
    "lr.peak=1e10": ("command line: lr.peak", "1,000", "10000000000.0"),
    "train.steps=1000000000000000": ("command line: train.steps", "100,000,000", "1000000000000000"),
    "train.accumulate_batches=1000000": ("command line: train.accumulate_batches", "10,000", "1000000"),
    "model.width=1e-9": ("command line: model.width", "0.01", "1e-09"),
    "memory.budget=9999999999GB": ("command line: memory.budget", "2GB", "auto", "9999999999GB"),
    "model.anchors.scale=1e6": ("command line: model.anchors.scale", "100", "1000000.0"),
    "evaluate.group='(a{99999999999})'": ("command line: evaluate.group", "(group)", "(a{99999999999})"),
    "lr={null: 1}": ("command line: ",),
    "lr": ("command line: lr", "missing EQUAL", "'<EOF>'"),
    "lr=[": ("command line: lr=[", "no viable alternative"),
    "track.experiment='a\0b'": ("command line: ",),
}


@pytest.mark.parametrize("word", REFUSALS)
def test_what_was_found_on_the_command_line_is_refused_in_one_line(word: str, clone: Path) -> None:
    with pytest.raises(ConfigError) as error:
        render([word])
    assert str(error.value).startswith(REFUSALS[word][0]) and missing_in(str(error.value), *REFUSALS[word]) == []
    assert len(str(error.value).splitlines()) == 1


def test_a_run_of_more_steps_than_anybody_waits_for_is_refused(clone: Path) -> None:
    words = ["train.steps=null", "+train.epochs=1000000", "train.batch_size=1"]
    with pytest.raises(ConfigError, match=r"train: .*\b100,000,000 steps.*\b600,000,000\b.*epochs"):
        render(words)
