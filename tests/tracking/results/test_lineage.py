"""Whose weights a run starts from: what stands beside them, and what is said of that."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bakeoff.export.licences import state_licences
from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.checkpoints.continue_from import Parent
from bakeoff.learning.checkpoints.trained_state import TakenFrom, TrainedState
from bakeoff.learning.plan.train_settings import Init
from bakeoff.learning.pretrained.weight_source import WeightSource, origin_of
from bakeoff.learning.training.start import RunStart
from bakeoff.tracking.results.lineage import (
    FILE,
    Ancestry,
    in_words,
    licences_of,
    lineage_of,
    starts_of,
    starts_of_work,
)
from support.messages import missing_in

COCO = {"name": "net", "licence": "Apache-2.0", "data": "COCO 2017"}
VARIANT = SimpleNamespace(
    train=SimpleNamespace(init=Init("none")), derived=SimpleNamespace(train_examples=600)
)  # fmt: skip
MANIFEST = SimpleNamespace(digest="77", classes=("a", "b"))
RUN = {"run": "1356d7d31e99a84a", "data": "600 examples of 10 classes", "records": "77"}


def weights_in(folder: Path, card: str | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "weights.h5").write_bytes(b"weights")
    if card is not None:
        (folder / "about.yaml").write_text(card, encoding="utf-8")
    return folder / "weights.h5"


def test_random_weights_come_from_nobody_and_imagenets_from_keras() -> None:
    assert (lineage_of("none", None, "none"), in_words([]), licences_of([])) == ([], "random weights", [])
    assert in_words(lineage_of("imagenet", None, "imagenet")) == (
        "imagenet, trained on ImageNet (ILSVRC 2012), licence Apache-2.0"
    )


def test_a_file_of_which_nothing_is_said_is_not_known(tmp_path: Path) -> None:
    lineage = lineage_of("data/weights/mine.h5", weights_in(tmp_path), "77")
    assert lineage == [{"name": "data/weights/mine.h5", "licence": None, "data": None, "digest": "77"}]
    assert missing_in(in_words(lineage), "data/weights/mine.h5", "data", "not known", "licence", "not known") == []
    assert licences_of(lineage) == ["not known"]


def test_the_card_of_a_checkpoint_stands_in_the_folder_of_its_archive(tmp_path: Path) -> None:
    weights_in(tmp_path, "name: net\nlicence: MIT\ndata: COCO 2017\ncame_from: /home/me/mirror\n")
    (tmp_path / "checkpoint").mkdir()
    [start] = lineage_of("zoo/net", tmp_path / "checkpoint/ckpt-0", "77")
    assert start == {"name": "net", "licence": "MIT", "data": "COCO 2017", "digest": "77"}


def starts_of_tree(tree: dict[str, Any]) -> list[dict[str, Any]]:
    return starts_of(TrainedState.from_tree(tree))


def test_the_state_of_a_run_of_before_names_what_it_started_from() -> None:
    assert starts_of_tree({"lineage": {"started_from": "none", "fingerprint": "77"}}) == []
    assert starts_of_tree({}) == []
    old = starts_of_tree({"lineage": {"started_from": "w.h5", "fingerprint": "77"}})
    assert missing_in(in_words(old), "w.h5", "data", "not known", "licence", "not known") == []


def test_weights_of_a_run_bring_its_start_along_and_count_it(tmp_path: Path) -> None:
    path = weights_in(tmp_path)
    state = {"step": 2000, "lineage": {"starts": [COCO], "own": RUN}}
    (tmp_path / "state.json").write_text(json.dumps(state), encoding="utf-8")
    lineage = lineage_of("x", path, "77")
    assert lineage == [COCO, RUN | {"steps": 2000}]
    whole = ("net", "COCO 2017", "Apache-2.0", "run 1356d7d3", "2,000 steps", "600 examples", "10 classes")
    assert missing_in(in_words(lineage), *whole) == []
    assert licences_of([COCO, RUN, {"name": "w", "licence": None}, COCO]) == ["Apache-2.0", "not known"]


def test_a_run_that_is_gone_on_from_gives_its_own_start(tmp_path: Path) -> None:
    work = tmp_path / "1356d7d31e99a84a"
    work.mkdir()
    assert missing_in(in_words(starts_of_work(work)), "run 1356d7d3", "data", "not known") == []
    (work / FILE).write_text(json.dumps({"starts": [COCO], "own": RUN}), encoding="utf-8")
    assert starts_of_work(work) == [COCO]
    for parent, starts in ((Parent(work, "1d"), [COCO]), (None, [])):
        start = RunStart({}, "5d1c", WeightSource(None, "none"), parent)
        ancestry = Ancestry.of(VARIANT, MANIFEST, start)  # type: ignore[arg-type]
        own = {"run": "5d1c", "data": "600 examples of 2 classes", "records": "77"}
        assert (ancestry.starts, ancestry.own, ancestry.remarks() == []) == (starts, own, starts == [])
        ancestry.keep(tmp_path)
        assert json.loads((tmp_path / FILE).read_text(encoding="utf-8")) == {"starts": starts, "own": own}


def test_state_json_has_the_ancestry_in_words_too() -> None:
    described = Ancestry([COCO], RUN).describe("data/weights/w.h5", "1d", (TakenFrom("77", 5),))
    assert described.fingerprint == RUN["run"]
    assert (described.started_from, described.first_weights) == ("data/weights/w.h5", "1d")
    assert described.trained_from == "net, trained on COCO 2017, licence Apache-2.0"
    assert described.licences == ("Apache-2.0",) and described.parents == (TakenFrom("77", 5),)


BAD: dict[str, tuple[str, str]] = {
    "no YAML": ("{", r"about\.yaml: cannot be read \("),
    "a text": ("mine", r"about\.yaml: .*`key: value`.*'mine'"),
    "another key": ("license: MIT", r"about\.yaml: .*'license'.*'licence'.*accepted, "),
    "a number": ("licence: 3", r"about\.yaml: licence: .*\b3\b"),
    "a licence that forbids": (
        "licence: CC-BY-NC-4.0\nforbids: commercial use",
        r"^train\.init\.weights: .*/weights\.h5\b.*CC-BY-NC-4\.0\b.*commercial use\b.*`accepted: true`.*about\.yaml",
    ),
    "one that was not accepted": ("forbids: commercial use\naccepted: 'no'", r"forbids commercial use"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_card_that_cannot_be_read_or_forbids_is_refused(name: str, tmp_path: Path) -> None:
    card, message = BAD[name]
    path = weights_in(tmp_path, card)
    with pytest.raises(ConfigError, match=message) as refused:
        lineage_of("mine", path, "77")
    assert "\n" not in str(refused.value)


def test_a_licence_that_was_accepted_lets_weights_through(tmp_path: Path) -> None:
    path = weights_in(tmp_path, "licence: CC-BY-NC-4.0\nforbids: commercial use\naccepted: true\n")
    assert lineage_of("mine", path, "77")[0]["licence"] == "CC-BY-NC-4.0"


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_a_state_that_cannot_be_read_is_refused(text: str, tmp_path: Path) -> None:
    path = weights_in(tmp_path)
    (tmp_path / "state.json").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"state\.json: cannot be read"):
        lineage_of("x", path, "77")


def test_published_weights_that_are_not_there_name_the_command_that_brings_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    missing = r"^train\.init\.weights: data/weights/zoo/net\b.*`bakeoff weights get net`.*`init: \{weights: none\}`"
    with pytest.raises(ConfigError, match=missing):
        origin_of(Init("zoo/net"), Path)


def test_a_teacher_brings_its_words_and_licences_to_all_that_start_from_its_pupil() -> None:
    agpl = {"name": "net", "licence": "AGPL-3.0", "data": "COCO"}
    first = {"run": "0b9f17d2", "data": "9 examples of 2 classes", "starts": [agpl, RUN]}
    second = {"run": "77aa55cc", "data": None, "starts": [], "teacher": first}
    own = RUN | {"teacher": second}
    assert licences_of([], own) == licences_of([own]) == ["AGPL-3.0"] and licences_of([RUN], RUN) == []
    assert missing_in(in_words([own]), "run 1356d7d3", "taught by run 77aa55cc") == []
    assert missing_in(Ancestry([], own).in_words, "random weights", "taught by run 77aa55cc") == []
    assert Ancestry([COCO], own).licences == ["Apache-2.0", "AGPL-3.0"]
    statement = state_licences([COCO], own)
    assert [line for line in statement if "taught" in line and "net, licence AGPL-3.0" in line]
    assert missing_in(statement[-1], "AGPL", "net") == []
    assert not [line for line in state_licences([COCO], RUN) if "taught" in line]
