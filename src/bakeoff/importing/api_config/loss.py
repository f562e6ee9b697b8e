"""What errors of a detector cost, and which of its boxes count: `matcher`, `loss`, `post_processing` -> settings."""

from typing import Any

from bakeoff.config.api_export import model as names
from bakeoff.importing.api_config.fields import Block, ConversionReport

Settings = dict[str, Any]


def read_loss(ssd: Block, report: ConversionReport) -> Settings:
    """Return the settings `loss`, `mining` and `suppression`."""
    rule = _read_loss(ssd, report) | _read_matcher(ssd, report)
    scores = "softmax" if rule.get("classes") == "softmax" else "sigmoid"
    return {"loss": rule, "mining": _read_mining(ssd), "suppression": _read_suppression(ssd, scores, report)}


def _read_matcher(ssd: Block, report: ConversionReport) -> Settings:
    """Return the part of `loss` that says which anchors stand for a box."""
    similarity = ssd.inner("similarity_calculator")
    chosen = similarity.chosen("region_similarity")
    if chosen not in (None, "iou_similarity"):
        report.change(ssd, "similarity_calculator", f"there is no {chosen} here; overlap (iou_similarity) is used")
    similarity.pass_over(chosen)
    matcher = ssd.inner("matcher")
    if matcher.has("bipartite_matcher"):
        report.change(ssd, "matcher", "there is no bipartite_matcher here; argmax_matcher stands in its place")
        matcher.pass_over("bipartite_matcher")
        return {}
    block = matcher.inner("argmax_matcher")
    matched, below = block.get("matched_threshold"), block.get("unmatched_threshold")
    return {
        "matched_from": matched,
        "background_below": None if below == matched else below,
        "match_every_box": block.get("force_match_for_each_row"),
    }


def _read_loss(ssd: Block, report: ConversionReport) -> Settings:
    """Return the part of `loss` that says what errors cost."""
    block = ssd.inner("loss")
    settings = block.take(names.LOSS_WEIGHTS) | ssd.take(names.LOSS_BESIDE)
    _read_class_loss(block, settings, report)
    boxes = block.inner("localization_loss")
    chosen = boxes.chosen("localization_loss")
    if chosen == "weighted_smooth_l1":
        settings["smooth_l1_delta"] = boxes.inner(chosen).get("delta")
    elif chosen:
        report.change(boxes, chosen, "there is no such loss on boxes here; weighted_smooth_l1 stands in its place")
        boxes.pass_over(chosen)
    softmax, as_zeros = settings.get("classes") == "softmax", ssd.get("encode_background_as_zeros")
    settings["background_logit"] = ssd.get("add_background_class") and not softmax
    settings["background_is_class"] = settings["background_logit"] and not as_zeros
    if softmax and as_zeros:
        report.change(ssd, "encode_background_as_zeros", "false here: with softmax the background is class 0")
    if softmax and not ssd.get("add_background_class"):
        report.change(ssd, "add_background_class", "true here: with softmax the background is class 0")
    if not (softmax or as_zeros or settings["background_logit"]):
        report.change(ssd, "encode_background_as_zeros", "true here: without add_background_class it has no number")
    return settings


def _read_class_loss(block: Block, settings: Settings, report: ConversionReport) -> None:
    losses = block.inner("classification_loss")
    chosen = losses.chosen("classification_loss")
    kinds = {theirs: ours for ours, theirs in names.CLASS_LOSSES.items()}
    if chosen not in kinds:
        if chosen:
            report.change(losses, chosen, "there is no such loss on classes here; a focal loss stands in its place")
            losses.pass_over(chosen)
        return
    settings["classes"] = kinds[chosen]
    loss = losses.inner(chosen)
    if settings["classes"] == "sigmoid_focal":
        settings |= loss.take(names.FOCAL)
        if not loss.has("alpha"):
            report.change(loss, "alpha", "without one both sides weigh 1; said here as 0.5 with twice the class weight")
            report.change(block, "classification_weight", "twice as much here, because of alpha")
            settings["focal_alpha"] = 0.5
            settings["class_weight"] *= 2


def _read_mining(ssd: Block) -> Settings | None:
    loss = ssd.inner("loss")
    if not loss.has("hard_example_miner"):
        return None
    miner = loss.inner("hard_example_miner")
    ranked_by = {theirs: ours for ours, theirs in names.RANKED_BY.items()}
    return miner.take(names.MINING) | {"ranked_by": ranked_by[miner.get("loss_type")]}


def _read_suppression(ssd: Block, scores: str, report: ConversionReport) -> Settings:
    after = ssd.inner("post_processing")
    converter = after.get("score_converter")
    if converter != scores.upper():
        report.change(after, "score_converter", f"the loss asks for {scores.upper()} here, not {converter}")
    block = after.inner("batch_non_max_suppression")
    settings, per_class = block.take(names.SUPPRESSION), block.get("max_detections_per_class")
    most = settings["max_detections"]
    if per_class > most:
        report.change(block, "max_detections_per_class", f"{most} here, for {per_class}: there are no more in all")
    return settings | {"max_detections_per_class": None if per_class >= most else per_class}
