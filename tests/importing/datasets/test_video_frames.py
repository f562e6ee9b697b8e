"""Pictures of films: at the right seconds, each once, named by their film."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from bakeoff.dataset.sources.dataset import SplitSettings
from bakeoff.foundation.errors import DataError
from bakeoff.importing.datasets.seen_pictures import SeenPictures, take_look
from bakeoff.importing.datasets.tree import FILM
from bakeoff.importing.datasets.video_frames import name_film, take_frames
from support.commands import run_bakeoff
from support.drawing import encoded, pixels, write
from support.messages import missing_in

SIZE = (64, 48)


def film(path: Path, shots: list[np.ndarray], rate: int = 10, first_second: float = 0.0) -> Path:
    """Write one frame for each picture."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mjpeg", rate=rate)
        stream.width, stream.height = SIZE
        stream.pix_fmt = "yuvj420p"
        for number, shot in enumerate(shots):
            frame = av.VideoFrame.from_ndarray(shot, format="rgb24")
            frame.pts, frame.time_base = round(first_second * rate) + number, Fraction(1, rate)
            for packet in stream.encode(frame):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return path


def with_dot(x: int) -> np.ndarray:
    """The same view, in which something small is somewhere else."""
    shot = pixels(1, *SIZE).copy()
    shot[20:26, x : x + 6] = (255, 0, 0)
    return shot


def test_a_picture_of_every_so_many_seconds(tmp_path: Path) -> None:
    shots = [pixels(number, *SIZE) for number in range(25)]
    taken = take_frames(film(tmp_path / "match 12.avi", shots), tmp_path / "out", every=0.5)
    assert (taken.frames, taken.alike, taken.broken) == (25, 0, None)
    names = [f"match_12_{milliseconds:08d}ms.jpg" for milliseconds in (0, 500, 1000, 1500, 2000)]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    for place, number in enumerate((0, 5, 10, 15, 20)):
        shown = np.asarray(Image.open(tmp_path / "out" / names[place]), np.float32)
        assert np.abs(shown - shots[number]).mean() < 12 < np.abs(shown - shots[number + 1]).mean()
    assert set(SplitSettings(group=FILM).find_groups([f"images/{name}" for name in names])) == {"match_12"}
    exported = [name.replace(".jpg", "_jpg.rf.0a1b.jpg") for name in names]
    assert set(SplitSettings(group=FILM).find_groups(exported)) == {"match_12"}


def test_a_rate_above_the_films_takes_every_frame(tmp_path: Path) -> None:
    path = film(tmp_path / "a.mkv", [pixels(number, *SIZE) for number in range(7)], first_second=3)
    taken = take_frames(path, tmp_path / "out", every=0.001)
    assert [file.name for file in taken.files][:2] == ["a_00000000ms.jpg", "a_00000100ms.jpg"]
    assert len(taken.files) == 7


def test_frames_that_do_not_change_are_left_out_and_frames_with_motion_are_kept(tmp_path: Path) -> None:
    still, moved = with_dot(10), with_dot(30)
    path = film(tmp_path / "a.avi", [still, still, moved, moved, still, pixels(9, *SIZE)])
    taken = take_frames(path, tmp_path / "out", every=0.1)
    assert [file.name[2:10] for file in taken.files] == ["00000000", "00000200", "00000500"]
    assert taken.alike == 3


def test_noise_is_no_difference() -> None:
    seen, grey = SeenPictures(), pixels(3, 320, 240)[..., 0]
    noise = np.random.default_rng(0).normal(0, 3, grey.shape)
    assert seen.find(take_look(grey)) is None
    seen.add(take_look(grey))
    assert seen.find(take_look(np.clip(grey + noise, 0, 255).astype(np.uint8))) == 0


def test_a_film_twice_and_a_picture_are_refused(tmp_path: Path) -> None:
    path = film(tmp_path / "a.avi", [pixels(1, *SIZE)])
    take_frames(path, tmp_path / "out", every=1)
    film(tmp_path / "b.avi", [pixels(1, *SIZE)])
    assert len(take_frames(tmp_path / "b.avi", tmp_path / "out", every=1).files) == 1
    with pytest.raises(DataError, match="out: .*'a' already.*--out"):
        take_frames(path, tmp_path / "out", every=1)
    with pytest.raises(DataError, match=r"c\.mp4: .*a picture \(PNG\)$"):
        take_frames(write(tmp_path / "c.mp4", encoded(1, "PNG")), tmp_path / "out", every=1)
    with pytest.raises(DataError, match=r"d\.mp4: broken video: Invalid"):
        take_frames(write(tmp_path / "d.mp4", b"no film" * 50), tmp_path / "out", every=1)
    hidden = write(tmp_path / "f.mp4", f"ffconcat version 1.0\nfile '{film(tmp_path / 'g.avi', [pixels(1, *SIZE)])}'\n")
    with pytest.raises(DataError, match=r"f\.mp4: broken video: "):
        take_frames(hidden, tmp_path / "out", every=1)
    with pytest.raises(DataError, match=r"e\.mp4: no such file$"):
        take_frames(tmp_path / "e.mp4", tmp_path / "out", every=1)
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_a_full_disk_leaves_no_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = film(tmp_path / "a.avi", [pixels(number, *SIZE) for number in range(4)])
    real = Path.write_bytes

    def fill(self: Path, data: bytes) -> int:
        if self.name == "a_00000200ms.jpg":
            raise OSError(28, "No space left on device", str(self))
        return real(self, data)

    monkeypatch.setattr(Path, "write_bytes", fill)
    with pytest.raises(OSError, match="No space left on device"):
        take_frames(path, tmp_path / "out", every=0.1)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_name_of_a_film_is_plain() -> None:
    assert [name_film(Path(name)) for name in ("match 12.mp4", "../ü(1).MOV", "*.avi")] == ["match_12", "ü_1", "film"]


def test_the_command_says_what_it_took_and_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "w/conf").mkdir(parents=True)
    (tmp_path / "w/dvc.yaml").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "w")
    path = film(tmp_path / "a.avi", [with_dot(10), with_dot(10), with_dot(30)])
    code, output, _ = run_bakeoff(monkeypatch, capsys, "frames", str(path), "--every", "0.1")
    assert code == 0
    named = [
        ("frames: 2 pictures", "3 frames", "data/raw/a/images/"),
        ("1 of 3", "left out"),
        ("a_", r"`split: {group: '([^/]+)_\d+ms[._]'}`"),
    ]
    assert [missing_in(line, *parts) for line, parts in zip(output.splitlines(), named, strict=True)] == [[]] * 3
    assert len(list(Path("data/raw/a/images").iterdir())) == 2
    code, _, errors = run_bakeoff(monkeypatch, capsys, "frames", str(path), "--every", "0")
    assert code == 2 and missing_in(errors, "--every: ", "0.001", "86,400", "got 0\n") == []
    data = film(tmp_path / "cut.avi", [pixels(number, *SIZE) for number in range(30)]).read_bytes()
    write(tmp_path / "cut.avi", data[: len(data) * 3 // 5])
    code, output, errors = run_bakeoff(monkeypatch, capsys, "frames", str(tmp_path / "cut.avi"), "--every", "0.1")
    kept = len(list(Path("data/raw/cut/images").iterdir()))
    assert code == 1 and 10 < kept < 30
    assert output.startswith(f"frames: {kept} pictures of {kept} frames in data/raw/cut/images/\n")
    assert missing_in(errors, f"{tmp_path}/cut.avi: broken", "missing") == []
