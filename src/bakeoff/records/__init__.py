"""From raw data to TFRecord shards, an index beside each, and a manifest that is written last."""

from bakeoff.records.box_csv import BoxCsv
from bakeoff.records.clips import Clips
from bakeoff.records.coco import Coco
from bakeoff.records.digits import DigitScenes, MovingDigits, SingleDigits
from bakeoff.records.folders import ImageFolders
from bakeoff.records.merged import Merged
from bakeoff.records.tfrecords import TfRecords
from bakeoff.records.voc import PascalVoc
from bakeoff.records.yolo import Yolo

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
