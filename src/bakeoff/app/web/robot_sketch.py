"""Where a file is uploaded on each robot, as a sketch: a window with its place, its fields and its button.

It is drawn here, from the words of each maker's documents, for pictures of their pages are theirs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bakeoff.export.devices import DeviceName
from bakeoff.foundation.html.svg import Element, Frame, draw, draw_svg, draw_text

FRAME = Frame(560, 250, left=0, right=0, top=0, bottom=0)
FIELD_HEIGHT, FIRST_FIELD = 38, 84


@dataclass(frozen=True)
class Sketch:
    window: str  # what one opens
    place: str  # where in it
    fields: tuple[tuple[str, str], ...]  # the words of a field, and what goes into it; FILE and LABELS are files
    button: str


PHOTONVISION = Sketch(
    "http://photonvision.local:5800", "Settings › Object Detection", (("Bulk Import", "FILE"),), "Upload"
)
HAILO = Sketch(
    "A terminal with Hailo's compiler", "The folder of this zip",
    (("Needs", "FILE and the folder hailo"), ("Type", "python hailo/compile.py"), ("Makes", "hailo/model.hef")),
    "Enter",
)  # fmt: skip
SKETCHES: Mapping[DeviceName, Sketch] = {
    "photonvision_rk3588": PHOTONVISION,
    "photonvision_rubik": PHOTONVISION,
    "limelight_coral": Sketch(
        "http://limelight.local:5801", "Pipeline type: Neural Detector",
        (("Network", "FILE after edgetpu_compiler"), ("Labels", "LABELS")), "Upload",
    ),
    "ftc_sdk": Sketch(
        "http://192.168.43.1:8080", "Manage › TensorFlow Lite model files", (("Model file", "FILE"),), "Upload"
    ),
    "oak": Sketch(
        "ModelConverter or HubAI of Luxonis", "New conversion: RVC2 or RVC4",
        (("ONNX file", "FILE"), ("Mean and scale", "127.5 and 127.5, RGB")), "Convert",
    ),
    "hailo8l": HAILO,
    "hailo8": HAILO,
    "raspberry_pi": Sketch(
        "A terminal on the robot", "The folder with your program",
        (("Copy there", "FILE"), ("Try it", "python reader.py FILE film.mp4")), "Enter",
    ),
}  # fmt: skip


def draw_sketch(option: DeviceName, file: str, labels: str) -> Element:
    """Return the sketch of a robot's page, with the names of the files that go into it."""
    sketch = SKETCHES[option]
    rows = [*_draw_window(sketch)]
    for number, (words, value) in enumerate(sketch.fields):
        rows += _draw_field(number, words, value.replace("FILE", file).replace("LABELS", labels))
    y = FIRST_FIELD + FIELD_HEIGHT * len(sketch.fields) + 12
    rows.append(draw("rect", x=200, y=y, width=120, height=32, rx=6, class_="button"))
    rows.append(draw_text(260, y + 21, sketch.button, anchor="middle", class_="on-button"))
    said = ", ".join(f"{words}: {value}" for words, value in sketch.fields)
    label = f"Sketch of {sketch.window}, {sketch.place}: {said}; then {sketch.button}"
    return draw_svg(FRAME, *rows, label=label.replace("FILE", file).replace("LABELS", labels))


def _draw_window(sketch: Sketch) -> Iterator[Element]:
    yield draw("rect", x=1, y=1, width=558, height=248, rx=10, class_="window")
    yield draw("line", x1=1, x2=559, y1=34, y2=34, class_="edge")
    for number in range(3):
        yield draw("circle", cx=20 + 18 * number, cy=18, r=5, class_="dot")
    yield draw_text(84, 23, sketch.window, class_="soft")
    yield draw_text(20, 64, sketch.place, class_="place")


def _draw_field(number: int, words: str, value: str) -> Iterator[Element]:
    y = FIRST_FIELD + FIELD_HEIGHT * number
    yield draw_text(190, y + 19, words, anchor="end")
    yield draw("rect", x=200, y=y, width=340, height=28, rx=5, class_="field")
    yield draw_text(210, y + 19, value, class_="value")
