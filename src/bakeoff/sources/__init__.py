"""From raw data to TFRecord shards, an index beside each, and a manifest that is written last."""

from bakeoff.sources.box_csv import BoxCsv
from bakeoff.sources.clips import Clips
from bakeoff.sources.coco import Coco
from bakeoff.sources.digits import DigitScenes, MovingDigits, SingleDigits
from bakeoff.sources.folders import ImageFolders
from bakeoff.sources.merged import Merged
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
