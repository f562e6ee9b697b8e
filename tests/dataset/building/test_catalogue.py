"""What a build knows of its items, over a kill."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bakeoff.dataset.building import catalogue as catalogue_module
from bakeoff.dataset.building.catalogue import AT_ONCE, Catalogue, pack_content, pack_verdict
from bakeoff.dataset.building.validate import ItemVerdict
from bakeoff.dataset.sources.dataset import Item


def stamp_old(source: int, item: Item) -> str:
    return "old"


def test_an_image_that_changes_is_checked_again_also_if_it_was_listed_before_its_annotation(tmp_path: Path) -> None:
    seen, annotated = Item("a.jpg", "a.jpg", unpaired=True), Item("a.jpg", "a.jpg", labels=("cat",))
    with closing(Catalogue(tmp_path / "catalogue.db")) as catalogue:
        rows = [(0, seen), (0, annotated)]
        row = ("a.jpg", (0, pack_content(annotated)))
        assert list(catalogue.list_items(rows, stamp_old)) == [[]]
        assert list(catalogue.unchecked()) == [row]
        catalogue.add_verdicts([pack_verdict(ItemVerdict("a.jpg"))])
        assert list(catalogue.list_items(rows, stamp_old)) == [[]]
        assert list(catalogue.unchecked()) == []
        assert list(catalogue.list_items(rows, lambda *_: "new")) == [[]]
        assert list(catalogue.unchecked()) == [row]


def test_an_image_that_another_dataset_annotates_is_that_ones(tmp_path: Path) -> None:
    seen, annotated = Item("a.jpg", "a.jpg", unpaired=True), Item("a.jpg", "a.jpg", labels=("cat",))
    with closing(Catalogue(tmp_path / "catalogue.db")) as catalogue:
        assert list(catalogue.list_items([(0, seen), (1, annotated)], stamp_old)) == [[]]
        assert list(catalogue.unchecked()) == [("a.jpg", (1, pack_content(annotated)))]


def test_only_items_without_a_verdict_are_given_out_as_they_are_listed(tmp_path: Path) -> None:
    items = [Item(f"{number:03d}.jpg", f"{number:03d}.jpg") for number in range(AT_ONCE + 5)]
    with closing(Catalogue(tmp_path / "catalogue.db")) as catalogue:
        parts = list(catalogue.list_items(((0, item) for item in items), stamp_old))
        assert [[name for name, _ in part] for part in parts] == [
            [item.name for item in items[:AT_ONCE]],
            [item.name for item in items[AT_ONCE:]],
        ]
        catalogue.add_verdicts([pack_verdict(ItemVerdict("000.jpg")), pack_verdict(ItemVerdict("002.jpg"))])
        first, _ = catalogue.list_items(
            ((0, item) for item in items), lambda _, item: "new" if item.name == "002.jpg" else "old"
        )
        assert [name for name, _ in first[:3]] == ["001.jpg", "002.jpg", "003.jpg"]  # the third one's file has changed


def test_of_two_annotations_of_an_image_the_first_is_given_out(tmp_path: Path) -> None:
    first, second = (Item("a.jpg", "a.jpg", labels=(label,)) for label in ("cat", "dog"))
    with closing(Catalogue(tmp_path / "catalogue.db")) as catalogue:
        [part] = catalogue.list_items([(0, first), (0, second)], stamp_old)
        assert part == [("a.jpg", (0, pack_content(first)))]
        assert [name for name, _ in catalogue.unchecked()] == ["a.jpg", "a.jpg (2)"]


@pytest.mark.parametrize("at_once", [2, 3, 100])
def test_items_listed_together_are_kept_as_if_they_came_one_by_one(
    at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(0)
    names = ["a.jpg", "a.jpg (2)", "a.jpg (2) (2)", "b.jpg", "c.jpg"]

    def draw_rows() -> list[tuple[int, Item]]:
        return [
            (number % 2, Item(name, name, labels=(f"label {number}",), unpaired=bool(draw.integers(2))))
            for number, name in enumerate(draw.choice(names, 12).tolist())
        ]

    def list_all(file: str, rows: list[tuple[int, Item]], size: int) -> tuple[list, list]:
        monkeypatch.setattr(catalogue_module, "AT_ONCE", size)
        with closing(Catalogue(tmp_path / file)) as catalogue:
            parts = catalogue.list_items(rows, lambda source, item: f"{source} {item.labels}")
            listed = [row for part in parts for row in part]
            return listed, catalogue.table.execute("SELECT * FROM items ORDER BY name").fetchall()

    for number in range(60):
        rows = draw_rows()
        assert list_all(f"{number}.together", rows, at_once) == list_all(f"{number}.alone", rows, 1)


def test_a_damaged_file_is_started_anew(tmp_path: Path) -> None:
    (tmp_path / "catalogue.db").write_bytes(b"no SQLite at all" * 100)
    with closing(Catalogue(tmp_path / "catalogue.db")) as catalogue:
        assert catalogue.count("items") == 0
