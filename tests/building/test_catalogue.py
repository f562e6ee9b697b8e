"""What a build knows of its items, over a kill."""

from contextlib import closing
from pathlib import Path

from bakeoff.building.catalogue import Catalogue
from bakeoff.building.examine import Verdict
from bakeoff.sources.dataset import Item


def test_an_image_that_changes_is_checked_again_also_if_it_was_listed_before_its_annotation(tmp_path: Path) -> None:
    seen, annotated = Item("a.jpg", "a.jpg", unpaired=True), Item("a.jpg", "a.jpg", labels=("cat",))
    with closing(Catalogue(tmp_path / "catalogue.db")) as catalogue:
        catalogue.list_items([(0, seen, "old"), (0, annotated, "old")])
        assert list(catalogue.unchecked()) == [(0, annotated)]
        catalogue.add_verdicts([Verdict("a.jpg")])
        catalogue.list_items([(0, seen, "old"), (0, annotated, "old")])
        assert list(catalogue.unchecked()) == []
        catalogue.list_items([(0, seen, "new"), (0, annotated, "new")])
        assert list(catalogue.unchecked()) == [(0, annotated)]


def test_a_damaged_file_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "catalogue.db").write_bytes(b"no SQLite at all" * 100)
    with closing(Catalogue(tmp_path / "catalogue.db")) as catalogue:
        assert catalogue.count("items") == 0
