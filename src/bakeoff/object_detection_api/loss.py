"""`loss`, the flags beside it and `post_processing` <-> what errors cost and what counts as found."""

from typing import Any

from bakeoff.networks.detector import DetectionLoss, HardExamples, Suppression
from bakeoff.object_detection_api.block import Block
from bakeoff.object_detection_api.report import Report
from bakeoff.object_detection_api.text_writer import Lines, Word, block, field

CLASSES = {"sigmoid_focal": "weighted_sigmoid_focal", "sigmoid": "weighted_sigmoid", "softmax": "weighted_softmax"}
RANKED_BY = {"both": "BOTH", "classes": "CLASSIFICATION", "boxes": "LOCALIZATION"}


def written(rule: DetectionLoss, mining: HardExamples | None) -> Lines:
    focal = [field("alpha", rule.focal_alpha), field("gamma", rule.focal_gamma)]
    of_classes = block(CLASSES[rule.classes], *(focal if rule.classes == "sigmoid_focal" else []))
    return [
        *field("encode_background_as_zeros", rule.scores == "sigmoid"),
        *field("negative_class_weight", rule.background_weight),
        *field("normalize_loss_by_num_matches", rule.divide_by_matches),
        *field("normalize_loc_loss_by_codesize", rule.divide_boxes_by_code_size),
        *block(
            "loss",
            block("classification_loss", of_classes),
            block("localization_loss", block("weighted_smooth_l1", field("delta", rule.smooth_l1_delta))),
            _mining(mining) if mining else [],
            field("classification_weight", rule.class_weight),
            field("localization_weight", rule.box_weight),
        ),
    ]


def _mining(mining: HardExamples) -> Lines:
    return block(
        "hard_example_miner",
        field("num_hard_examples", mining.max_examples),
        field("iou_threshold", mining.max_overlap),
        field("loss_type", Word(RANKED_BY[mining.ranked_by])),
        field("max_negatives_per_positive", mining.max_negatives_per_positive),
        field("min_negatives_per_image", mining.min_negatives_per_image),
    )


def written_suppression(suppression: Suppression, rule: DetectionLoss) -> Lines:
    of_class = suppression.max_detections_per_class or suppression.max_detections
    return block(
        "post_processing",
        block(
            "batch_non_max_suppression",
            field("score_threshold", suppression.min_score),
            field("iou_threshold", suppression.max_overlap),
            field("max_detections_per_class", of_class),
            field("max_total_detections", suppression.max_detections),
        ),
        field("score_converter", Word(rule.scores.upper())),
    )


def read(ssd: Block, report: Report) -> dict[str, Any]:
    """The part of `loss` that says what errors cost."""
    said = ssd.inner("loss")
    settings: dict[str, Any] = {
        "class_weight": said.number("classification_weight"),
        "box_weight": said.number("localization_weight"),
        "background_weight": ssd.number("negative_class_weight"),
        "divide_by_matches": ssd.flag("normalize_loss_by_num_matches"),
        "divide_boxes_by_code_size": ssd.flag("normalize_loc_loss_by_codesize"),
    }
    _read_classes(said, settings, report)
    boxes = said.inner("localization_loss")
    if boxes.has("weighted_smooth_l1"):
        settings["smooth_l1_delta"] = boxes.inner("weighted_smooth_l1").number("delta")
    elif chosen := boxes.chosen("localization_loss"):
        report.changed(boxes, chosen, "there is no such loss on boxes here; weighted_smooth_l1 stands in its place")
        boxes.pass_over(chosen)
    background_as_zeros = ssd.flag("encode_background_as_zeros")
    ssd.pass_over("add_background_class")  # whether that API keeps one number more that nothing reads
    softmax = settings.get("classes") == "softmax"
    if background_as_zeros == softmax:
        text = "with softmax the background is class 0" if softmax else "with sigmoids it is a row of zeros"
        report.changed(ssd, "encode_background_as_zeros", f"the background is coded otherwise here: {text}")
    return settings


def _read_classes(said: Block, settings: dict[str, Any], report: Report) -> None:
    losses = said.inner("classification_loss")
    chosen = losses.chosen("classification_loss")
    names = {theirs: ours for ours, theirs in CLASSES.items()}
    if chosen not in names:
        if chosen:
            report.changed(losses, chosen, "there is no such loss on classes here; a focal loss stands in its place")
            losses.pass_over(chosen)
        return
    settings["classes"] = names[chosen]
    inner = losses.inner(chosen)
    if chosen != CLASSES["sigmoid_focal"]:
        return
    settings["focal_gamma"] = inner.number("gamma")
    settings["focal_alpha"] = inner.number("alpha")
    if not inner.has("alpha"):
        report.changed(inner, "alpha", "without one both sides weigh 1; said here as 0.5 with twice the class weight")
        settings["focal_alpha"] = 0.5
        settings["class_weight"] *= 2


def read_mining(ssd: Block) -> dict[str, Any] | None:
    if not ssd.inner("loss").has("hard_example_miner"):
        return None
    said = ssd.inner("loss").inner("hard_example_miner")
    ranked_by = {theirs: ours for ours, theirs in RANKED_BY.items()}
    return {
        "max_examples": said.whole("num_hard_examples"),
        "max_overlap": said.number("iou_threshold"),
        "ranked_by": ranked_by[said.text("loss_type")],
        "max_negatives_per_positive": said.whole("max_negatives_per_positive"),
        "min_negatives_per_image": said.whole("min_negatives_per_image"),
    }


def read_suppression(ssd: Block, scores: str, report: Report) -> dict[str, Any]:
    after = ssd.inner("post_processing")
    converter = after.text("score_converter")
    if converter != scores.upper():
        report.changed(after, "score_converter", f"the loss asks for {scores.upper()} here, not {converter}")
    said = after.inner("batch_non_max_suppression")
    total, of_class = said.whole("max_total_detections"), said.whole("max_detections_per_class")
    return {
        "min_score": said.number("score_threshold"),
        "max_overlap": said.number("iou_threshold"),
        "max_detections": total,
        "max_detections_per_class": None if of_class >= total else of_class,
    }
