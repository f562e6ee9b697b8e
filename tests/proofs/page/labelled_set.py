"""A set of small labelled photos, as the steps Photos and Labels leave it: `field`, with one ball in each."""

from pathlib import Path

from PIL import Image, ImageDraw

PHOTOS, SIZE = 16, (96, 96)
LABEL = (
    "<annotation><size><width>96</width><height>96</height><depth>3</depth></size><object><name>ball</name><bndbox>"
    "<xmin>{0}</xmin><ymin>{1}</ymin><xmax>{2}</xmax><ymax>{3}</ymax></bndbox></object></annotation>"
)


def label_photos(workspace: Path) -> None:
    folder = workspace / "data/raw/field"
    for inside in ("images", "annotations"):
        (folder / inside).mkdir(parents=True)
    for number in range(PHOTOS):
        x, y = 8 + 4 * (number % 8), 10 + 3 * number
        box = (x, y, x + 32, y + 28)
        image = Image.new("RGB", SIZE, (40, 90 + number, 60))
        ImageDraw.Draw(image).ellipse(box, fill="orange")
        image.save(folder / f"images/{number}.jpg")
        (folder / f"annotations/{number}.xml").write_text(LABEL.format(*box), encoding="utf-8")
    (workspace / "conf/data/field.yaml").write_text("kind: pascal_voc\npath: data/raw/field\n", encoding="utf-8")
