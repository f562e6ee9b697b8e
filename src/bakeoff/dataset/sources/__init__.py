"""Raw data -> items, or records that are drawn: a file for each format, and the table of all of them."""

from bakeoff.dataset.sources.box_csv import BoxCsv
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.clips import Clips
from bakeoff.dataset.sources.coco import Coco
from bakeoff.dataset.sources.dataset import Merged
from bakeoff.dataset.sources.synthetic_digits import DigitScenes, MovingDigits, SingleDigits
from bakeoff.dataset.sources.tfrecords import TfRecords
from bakeoff.dataset.sources.voc import PascalVoc
from bakeoff.dataset.sources.yolo import Yolo
from bakeoff.foundation.own_parts import PartTable

BUILT_IN: dict[str, type] = {
    "digit_scenes": DigitScenes,
    "single_digits": SingleDigits,
    "moving_digits": MovingDigits,
    "image_folders": ImageFolders,
    "pascal_voc": PascalVoc,
    "coco": Coco,
    "yolo": Yolo,
    "box_csv": BoxCsv,
    "clips": Clips,
    "tfrecords": TfRecords,
    "merged": Merged,
}
SOURCES = PartTable("SOURCES", BUILT_IN)
