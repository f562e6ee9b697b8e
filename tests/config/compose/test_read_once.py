"""Files of a variant, read once for many configurations: the same variants, whatever happens to the files meanwhile."""

from collections import Counter
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from bakeoff.config.compose.compose import Composed, compose
from bakeoff.config.compose.read_once import Same, files_read_once, read_once
from bakeoff.config.compose.variant import parse_variant
from bakeoff.config.compose.whole_run import as_tree
from support.imports import ROOT

CONF = ROOT / "conf"
CONFIGURATIONS = [
    ["seed=1"], ["seed=2"], ["lr.peak=0.5"], ["++lr.peak=0.5", "memory=low"], ["model=ssd_tiny", "+model.width=0.5"],
    ["experiment=demo_images"], ["train.augment={}"], ["+train.augment={zoom: {largest: 2.0}}"], ["+note='${lr.peak}'"],
    ["+lr.floor=${lr.peak}"], ["+lr.floor=???"], ["lr=no_such_option"], ["+lr={use: cosine, peak: [1, 2]}"],
]  # fmt: skip


def described(composed: Composed) -> Any:
    places = {key: composed.place_of(key) for key in ("lr.peak", "model.width", "seed", "train.augment")}
    return composed.tree, composed.problems.lines, composed.problems.warnings, composed.preset, places


WRONG = [["lr.peak=-1"], ["+model.width=wide"], ["data={use: digits, path: 3}"], ["+evaluate={by: nothing}"]]


def parsed(params: Path, overrides: list[str]) -> Any:
    composed = compose(params, CONF, overrides=overrides)
    draft = parse_variant(composed.tree, composed.problems)
    return as_tree(draft), composed.problems.lines


@pytest.fixture
def params(tmp_path: Path) -> Path:
    path = tmp_path / "params.yaml"
    path.write_text("experiment: demo\ndata: digits\nlr: {peak: 0.25}\nseed: 0\n", encoding="utf-8")
    return path


def test_each_configuration_is_the_one_that_it_is_when_everything_is_read_for_it_alone(params: Path) -> None:
    alone = [described(compose(params, CONF, overrides=overrides)) for overrides in CONFIGURATIONS]
    with files_read_once():
        for _ in range(2):
            together = [described(compose(params, CONF, overrides=overrides)) for overrides in CONFIGURATIONS]
            assert together == alone
    assert len({repr(one) for one in alone}) == len(CONFIGURATIONS)


def test_settings_and_mistakes_are_those_that_each_configuration_has_alone(params: Path) -> None:
    alone = [parsed(params, overrides) for overrides in [*CONFIGURATIONS, *WRONG]]
    assert all(lines for _, lines in alone[-len(WRONG) :])
    with files_read_once():
        for _ in range(2):
            assert [parsed(params, overrides) for overrides in [*CONFIGURATIONS, *WRONG]] == alone


def test_each_file_is_read_once_for_a_configuration_alone(params: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: Counter[Path] = Counter()
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: (read.update([path.resolve()]), read_bytes(path))[1])
    compose(params, CONF, overrides=["lr.peak=0.5"])
    assert set(read) >= {one.resolve() for one in CONF.rglob("*.yaml")}
    assert set(read.values()) == {1}


def test_an_object_counts_as_itself_however_equal_another_one_is() -> None:
    one, other = [1], [1]
    with files_read_once():
        assert read_once(id_of, Same(one)) == read_once(id_of, Same(one)) == id(one)
        assert read_once(id_of, Same(other)) == id(other)


def id_of(same: Same[list[int]]) -> int:
    return id(same.one)


def test_what_is_changed_in_one_configuration_is_in_no_other(params: Path) -> None:
    with files_read_once():
        first = compose(params, CONF, overrides=["seed=1"])
        first.tree["lr"]["peak"] = first.tree["train"]["augment"]["zoom"] = "spoiled"
        assert "spoiled" not in repr(compose(params, CONF, overrides=["seed=1"]).tree)


def test_the_files_are_those_of_the_beginning_until_the_block_ends_and_only_in_its_thread(params: Path) -> None:
    def peak() -> Any:
        return compose(params, CONF).tree["lr"]["peak"]

    seen: list[Any] = []
    with files_read_once():
        assert peak() == 0.25
        params.write_text(params.read_text(encoding="utf-8").replace("0.25", "0.75"), encoding="utf-8")
        assert peak() == 0.25
        thread = Thread(target=lambda: seen.append(peak()))
        thread.start()
        thread.join()
    assert seen == [0.75] and peak() == 0.75
