"""What errors of a detector cost, and which of its boxes count: `matcher`, `loss`, `post_processing` -> settings."""

from bakeoff.config.api_export.model import CLASS_LOSSES, FOCAL, MATCHER, MINING, SSD
from bakeoff.importing.api_config.fields import Block, ConversionReport, Settings


def read_loss(ssd: Block, report: ConversionReport) -> Settings:
    """Return the settings `loss`, `mining` and `suppression`."""
    block = ssd.inner("loss")
    settings = ssd.take(SSD) | _read_matcher(ssd, report)
    _read_class_loss(block, settings, report)
    report.stand_in(block, "localization_loss", ["weighted_smooth_l1"], "weighted_smooth_l1")
    settings |= block.inner("hard_example_miner").take(MINING) if block.has("hard_example_miner") else {"mining": None}
    _read_background(ssd, settings, report)
    _read_scores(ssd.inner("post_processing"), settings, report)
    return settings


def _read_matcher(ssd: Block, report: ConversionReport) -> Settings:
    """Return the part of `loss` that says which anchors stand for a box."""
    report.stand_in(ssd, "similarity_calculator", ["iou_similarity"], "iou_similarity")
    if report.stand_in(ssd, "matcher", ["argmax_matcher"], "argmax_matcher"):
        return {}
    block = ssd.inner("matcher").inner("argmax_matcher")
    below, settings = block.get("unmatched_threshold"), block.take(MATCHER)
    return settings | {"loss.background_below": None if below == settings["loss.matched_from"] else below}


def _read_class_loss(block: Block, settings: Settings, report: ConversionReport) -> None:
    losses = block.inner("classification_loss")
    chosen = losses.chosen()
    kinds = {theirs: ours for ours, theirs in CLASS_LOSSES.items()}
    if report.stand_in(block, "classification_loss", kinds, "a focal loss") or chosen is None:
        return
    settings["loss.classes"] = kinds[chosen]
    loss = losses.inner(chosen)
    if kinds[chosen] == "sigmoid_focal":
        settings |= loss.take(FOCAL)
        if not loss.has("alpha"):
            report.change(loss, "alpha", "without one both sides weigh 1; said here as 0.5 with twice the class weight")
            report.change(block, "classification_weight", "twice as much here, because of alpha")
            settings["loss.focal_alpha"] = 0.5
            settings["loss.class_weight"] *= 2


def _read_background(ssd: Block, settings: Settings, report: ConversionReport) -> None:
    softmax, as_zeros = settings.get("loss.classes") == "softmax", ssd.get("encode_background_as_zeros")
    is_added = ssd.get("add_background_class")
    settings["loss.background_logit"] = is_added and not softmax
    settings["loss.background_is_class"] = is_added and not softmax and not as_zeros
    if softmax and as_zeros:
        report.change(ssd, "encode_background_as_zeros", "false here: with softmax the background is class 0")
    if softmax and not is_added:
        report.change(ssd, "add_background_class", "true here: with softmax the background is class 0")
    if not (softmax or as_zeros or is_added):
        report.change(ssd, "encode_background_as_zeros", "true here: without add_background_class it has no number")


def _read_scores(after: Block, settings: Settings, report: ConversionReport) -> None:
    """Add the most detections of a class, and report a score converter that the loss does not ask for."""
    scores = "SOFTMAX" if settings.get("loss.classes") == "softmax" else "SIGMOID"
    converter = after.get("score_converter")
    if converter != scores:
        report.change(after, "score_converter", f"the loss asks for {scores} here, not {converter}")
    block = after.inner("batch_non_max_suppression")
    per_class, most = block.get("max_detections_per_class"), settings["suppression.max_detections"]
    if per_class > most:
        report.change(block, "max_detections_per_class", f"{most} here, for {per_class}: there are no more in all")
    settings["suppression.max_detections_per_class"] = None if per_class >= most else per_class
