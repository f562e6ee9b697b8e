"""Raw data -> items, or records that are drawn: a file for each format, and the table of all of them."""

from bakeoff.sources.box_csv import BoxCsv
from bakeoff.sources.clips import Clips
from bakeoff.sources.coco import Coco
from bakeoff.sources.dataset import Merged
from bakeoff.sources.digits import DigitScenes, MovingDigits, SingleDigits
from bakeoff.sources.folders import ImageFolders
from bakeoff.sources.tfrecords import TfRecords
from bakeoff.sources.voc import PascalVoc
from bakeoff.sources.yolo import Yolo

SOURCES: dict[str, type] = {
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
