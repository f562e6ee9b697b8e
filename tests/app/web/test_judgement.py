"""The page of a finished run judges it: words, the costliest mistake, the slider, and photos that are sent."""

import json
import time
from pathlib import Path

import pytest

from bakeoff.app.web import judgement, model_process
from bakeoff.app.web.model_process import ModelProcess
from bakeoff.experiments.runs.run_status import State
from bakeoff.foundation.errors import BakeoffError
from support.asking import Page
from support.judged_run import CLASSES, SIZE, write_judged_run
from support.made_runs import made
from support.messages import missing_in

NAME, ID, EARLIER = "b" * 16, "4f2a91c0" + "0" * 24, "1" * 32


def test_words_come_first_with_counts_and_a_caution_of_few_photos(page: Page, folder: Path) -> None:
    write_judged_run(folder, NAME, ID)
    assert f'data-load="/runs/{NAME}/judgement"' in page.get(f"/runs/{NAME}").text
    text = page.get(f"/runs/{NAME}/judgement").text
    words = "It finds 7 of 8 markers and all 8 cubes.", "1 in 16 of its boxes is wrong.", "to be sure: 8."
    places = [text.index(word) for word in words]
    assert places == sorted(places) and places[-1] < text.index("<table")
    assert "0.610 to 0.980" in text and "7 of 8" in text and "15 of 16" in text
    assert f"/runs/{NAME}/photos/7" in text and "/labels/gym#images/IMG_7.jpg" in text  # the photo with the mistake


def test_the_slider_gets_the_answers_to_the_photos_and_a_sentence_for_each_score(page: Page, folder: Path) -> None:
    write_judged_run(folder, NAME, ID)
    tree = page.get(f"/runs/{NAME}/validation").tree
    assert (tree["classes"], tree["of"], len(tree["photos"]), len(tree["steps"])) == ([*CLASSES], 8, 8, 99)
    worst = tree["photos"][0]
    right = {box["label"]: box["right"] for box in worst["found"]}
    assert worst["number"] == 7 and right == {"marker": False, "cube": True}
    [sentences] = [sentences for score, sentences in tree["steps"] if score == 0.85]
    assert sentences[0].startswith("It finds none of 8")
    answer = page.get(f"/runs/{NAME}/photos/7")
    assert (answer.headers["content-type"], answer.headers["x-size"]) == ("image/jpeg", f"{SIZE[0]}x{SIZE[1]}")
    assert page.get(f"/runs/{NAME}/photos/8").code == 404
    (folder / "data/raw/gym/images/IMG_7.jpg").unlink()
    assert not missing_in(page.get(f"/runs/{NAME}/photos/7", Accept="application/json").tree["problem"], "IMG_7.jpg")


def test_photos_outside_the_raw_data_are_not_shown(page: Page, folder: Path) -> None:
    write_judged_run(folder, NAME, ID)
    images = folder / "data/raw/gym/images"
    (folder / "secret.jpg").write_bytes((images / "IMG_7.jpg").read_bytes())
    (images / "IMG_7.jpg").unlink()
    (images / "IMG_7.jpg").symlink_to(folder / "secret.jpg")
    assert page.get(f"/runs/{NAME}/photos/7").code in (400, 404)


def test_better_than_the_last_one_is_said_in_words_or_why_not(page: Page, folder: Path) -> None:
    write_judged_run(folder, "a" * 16, EARLIER, photos=12, ago=100.0)
    write_judged_run(folder, NAME, ID, photos=12)
    assert f"/runs/{NAME}/against-last" in page.get(f"/runs/{NAME}/judgement").text
    text = page.get(f"/runs/{NAME}/against-last").text
    assert "The photos do not show it" in text and "same 12 photos" in text and f"bakeoff better {EARLIER} {ID}" in text
    write_judged_run(folder, "c" * 16, "2" * 32, photos=8)
    assert "Nobody can say" in page.get(f"/runs/{'c' * 16}/against-last").text
    assert "/against-last" not in page.get(f"/runs/{'a' * 16}/judgement").text


def test_a_run_that_was_not_evaluated_is_not_judged(page: Page, folder: Path) -> None:
    made(folder / ".bakeoff/runs", NAME, State.STOPPED, run_id=ID)
    assert "/judgement" not in page.get(f"/runs/{NAME}").text
    assert page.get(f"/runs/{NAME}/judgement").code == 404
    answer = page.ask("POST", f"/runs/{NAME}/predict", b"jpeg", X_Bakeoff="page", Origin=f"http://{page.own}")
    assert answer.code == 404


FAKE = """
import json, os, sys, time
print(json.dumps({"ready": sys.argv[1]} if sys.argv[1] != "broken" else {"problem": "weights: missing"}), flush=True)
for line in sys.stdin:
    data = open(json.loads(line), "rb").read()
    if data == b"kill": os.close(1); time.sleep(1); sys.exit(1)  # as a large process takes to end
    answer = {"problem": "no photo"} if data == b"bad" else {"boxes": [len(data)], "by": sys.argv[1]}
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelProcess:
    """The process of a model that answers with how long a photo is."""
    (tmp_path / "fake.py").write_text(FAKE, encoding="utf-8")
    monkeypatch.setattr(model_process, "MODULE", [str(tmp_path / "fake.py")])
    models = ModelProcess()
    monkeypatch.setattr(judgement, "_models", models)
    yield models
    models.close()


def test_a_photo_that_is_sent_is_answered_by_one_process_for_all(
    page: Page, folder: Path, models: ModelProcess
) -> None:
    write_judged_run(folder, NAME, ID)

    def ask(photo: bytes) -> tuple[int, dict]:
        answer = page.ask("POST", f"/runs/{NAME}/predict", photo, X_Bakeoff="page", Origin=f"http://{page.own}")
        return answer.code, answer.tree

    assert ask(b"12345") == (200, {"boxes": [5], "by": ID})
    first = models.pid
    assert ask(b"123") == (200, {"boxes": [3], "by": ID}) and models.pid == first
    assert ask(b"bad") == (400, {"problem": "no photo"}) and models.pid == first
    assert ask(b"kill")[0] == 400
    assert ask(b"1") == (200, {"boxes": [1], "by": ID}) and models.pid != first
    assert [*(folder / ".bakeoff/web/asked").iterdir()] == []


def test_a_model_that_cannot_be_opened_says_why_and_is_asked_anew(tmp_path: Path, models: ModelProcess) -> None:
    for _ in range(2):
        with pytest.raises(BakeoffError, match="weights"):
            models.answer("broken", b"1", tmp_path)
    assert models.answer("one", b"1", tmp_path)["by"] == "one" and models.answer("two", b"1", tmp_path)["by"] == "two"


def test_a_model_that_nobody_asks_gives_its_memory_back(
    tmp_path: Path, models: ModelProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_process, "SECONDS_KEPT", 0.1)
    models.answer("one", b"1", tmp_path)
    end = time.monotonic() + 20
    while models.pid is not None:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_answers_are_boxes_in_pixels(tmp_path: Path) -> None:
    import numpy as np
    from PIL import Image

    class Halves:
        task, labels = "detection", ("left", "right")

        def answer(self, pixels: np.ndarray) -> dict[str, np.ndarray]:
            boxes = np.array([[0, 0, 1, 0.5], [0, 0.5, 1, 1]], np.float32)
            return {"boxes": boxes, "classes": np.array([1, 2]), "scores": np.array([0.75, 0.01], np.float32)}

    Image.new("RGB", SIZE).save(tmp_path / "photo", "PNG")
    tree = model_process.answer_file(Halves(), tmp_path / "photo")
    assert tree["boxes"] == [{"label": "left", "score": 0.75, "xmin": 0, "ymin": 0, "xmax": 60, "ymax": 80}]
    (tmp_path / "photo").write_bytes(b"no photo")
    assert "problem" in model_process.answer_file(Halves(), tmp_path / "photo")
    assert json.dumps(tree)
