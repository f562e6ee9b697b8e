"""Any text in params.yaml, conf/ or on the command line ends in a variant, or in lines that say what to mend."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from bakeoff.config.compose.whole_run import Run, as_tree, load, write
from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.run_file.parse import flat
from bakeoff.learning.run_file.read_write import sealed
from bakeoff.learning.run_file.yaml_file import write_mapping
from support.any_variant import GROUPS, PARAMS, change, render, write_pairs
from support.imports import ROOT
from support.messages import missing_in
from support.odd_inputs import LONGEST, edited, explore, few_or_many, values

OPTIONS = ("variant", "experiment/demo", "lr/cosine", "model/ssd_small", "memory/medium", "train/demo", "data/digits")
PLACES = ("params.yaml", "command line", "conf")


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
        PARAMS.write_text(write_pairs(pairs), encoding="utf-8", errors="surrogatepass")
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
    f"train.init.warm_start=[{','.join(['backbone'] * 900)}]": (
        "command line: train.init.warm_start",
        "init.weights",
        "['backbone',",
    ),
    "lr": ("command line: lr", "missing EQUAL", "'<EOF>'"),
    "lr=[": ("command line: lr=[", "no viable alternative"),
    "track.experiment='a\0b'": ("command line: ",),
}


@pytest.mark.parametrize("word", REFUSALS)
def test_what_was_found_on_the_command_line_is_refused_in_one_line(word: str, clone: Path) -> None:
    with pytest.raises(ConfigError) as error:
        render([word])
    assert str(error.value).startswith(REFUSALS[word][0]) and missing_in(str(error.value), *REFUSALS[word]) == []
    assert len(str(error.value).splitlines()) == 1 and len(str(error.value)) < LONGEST


def test_a_run_of_more_steps_than_anybody_waits_for_is_refused(clone: Path) -> None:
    words = ["train.steps=null", "+train.epochs=1000000", "train.batch_size=1"]
    with pytest.raises(ConfigError, match=r"train: .*\b100,000,000 steps.*\b600,000,000\b.*epochs"):
        render(words)
