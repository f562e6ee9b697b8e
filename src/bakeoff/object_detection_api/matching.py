"""`box_coder`, `matcher` and `similarity_calculator` <-> how boxes are coded and which anchors stand for them."""

from typing import Any

from bakeoff.networks.detector import BOX_SCALES, DetectionLoss
from bakeoff.object_detection_api.block import Block
from bakeoff.object_detection_api.report import Report
from bakeoff.object_detection_api.text_writer import Lines, block, field

SCALES = ("y_scale", "x_scale", "height_scale", "width_scale")


def written(box_scales: tuple[float, ...], rule: DetectionLoss) -> Lines:
    below = rule.matched_from if rule.background_below is None else rule.background_below
    scales = [field(name, scale) for name, scale in zip(SCALES, box_scales, strict=True)]
    return [
        *block("box_coder", block("faster_rcnn_box_coder", *scales)),
        *block(
            "matcher",
            block(
                "argmax_matcher",
                field("matched_threshold", rule.matched_from),
                field("unmatched_threshold", below),
                field("ignore_thresholds", False),
                field("negatives_lower_than_unmatched", True),
                field("force_match_for_each_row", rule.match_every_box),
                field("use_matmul_gather", True),
            ),
        ),
        *block("similarity_calculator", block("iou_similarity")),
    ]


def read_box_scales(ssd: Block, report: Report) -> list[float]:
    coder = ssd.inner("box_coder")
    chosen = coder.chosen("box_coder_oneof")
    if chosen in (None, "faster_rcnn_box_coder"):
        said = coder.inner("faster_rcnn_box_coder")
        return [said.number(name) for name in SCALES]
    report.changed(ssd, "box_coder", f"there is no {chosen} here; faster_rcnn_box_coder stands in its place")
    coder.pass_over(*([chosen] if chosen else []))
    return list(BOX_SCALES)


def read_matcher(ssd: Block, report: Report) -> dict[str, Any]:
    """The part of `loss` that says which anchors stand for a box."""
    similarity = ssd.inner("similarity_calculator")
    chosen = similarity.chosen("region_similarity")
    if chosen not in (None, "iou_similarity"):
        report.changed(ssd, "similarity_calculator", f"there is no {chosen} here; overlap (iou_similarity) is used")
    similarity.pass_over(*([chosen] if chosen else []))
    matcher = ssd.inner("matcher")
    if matcher.has("bipartite_matcher"):
        report.changed(ssd, "matcher", "there is no bipartite_matcher here; argmax_matcher stands in its place")
        matcher.pass_over("bipartite_matcher")
        return {}
    said = matcher.inner("argmax_matcher")
    matched, below = said.number("matched_threshold"), said.number("unmatched_threshold")
    return {
        "matched_from": matched,
        "background_below": None if below == matched else below,
        "match_every_box": said.flag("force_match_for_each_row"),
    }
