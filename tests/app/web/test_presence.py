"""Who has which photo open."""

from pathlib import Path

import pytest

from bakeoff.app.web import presence
from support.asking import Page


def here(page: Page, tab: str, name: str) -> list[str]:
    return page.send("/labels/field/here", tab=tab, name=name).tree["taken"]


def test_two_tabs_see_each_others_photo_and_a_closed_one_is_forgotten(
    page: Page, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "data/raw/field").mkdir()
    assert here(page, "ann", "1.jpg") == []
    assert here(page, "bob", "2.jpg") == ["1.jpg"]
    assert here(page, "ann", "3.jpg") == ["2.jpg"]
    assert here(page, "bob", "2.jpg") == ["3.jpg"]
    monkeypatch.setattr(presence, "SECONDS_OPEN", 0.0)
    assert here(page, "bob", "2.jpg") == []
    assert page.send("/labels/nothing/here", tab="ann", name="1.jpg").code == 404


def test_tabs_of_a_folder_are_no_endless_list(folder: Path) -> None:
    for number in range(2 * presence.MOST_TABS):
        taken = presence.note_open(Path("many"), str(number), f"{number}.jpg")
    assert len(taken) < presence.MOST_TABS
