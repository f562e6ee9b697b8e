"""`anchor_generator` <-> settings of the anchors."""

from typing import Any

from bakeoff.networks.anchors import Anchors, MultiboxAnchors, PyramidAnchors
from bakeoff.object_detection_api.block import Block
from bakeoff.object_detection_api.report import Report
from bakeoff.object_detection_api.text_writer import Lines, block, field, fields

OF_LEVELS, OF_MAPS = "multiscale_anchor_generator", "ssd_anchor_generator"


def written_for_levels(anchors: Anchors | PyramidAnchors, levels: tuple[int, ...]) -> Lines:
    per_octave = anchors.octave_steps if isinstance(anchors, Anchors) else anchors.scales_per_octave
    return block(
        "anchor_generator",
        block(
            OF_LEVELS,
            field("min_level", min(levels)),
            field("max_level", max(levels)),
            field("anchor_scale", anchors.scale),
            fields("aspect_ratios", anchors.aspect_ratios),
            field("scales_per_octave", per_octave),
        ),
    )


def written_for_maps(anchors: MultiboxAnchors, num_maps: int) -> Lines:
    return block(
        "anchor_generator",
        block(
            OF_MAPS,
            field("num_layers", num_maps),
            field("min_scale", anchors.min_scale),
            field("max_scale", anchors.max_scale),
            fields("aspect_ratios", anchors.aspect_ratios),
            field("interpolated_scale_aspect_ratio", anchors.interpolated_scale_aspect_ratio),
            field("reduce_boxes_in_lowest_layer", anchors.reduce_boxes_in_lowest_layer),
        ),
    )


def read_for_levels(ssd: Block, report: Report, levels: tuple[int, int], *, octave_key: str) -> dict[str, Any]:
    """`levels`: the lowest and highest that the network has."""
    said = _chosen(ssd, OF_LEVELS, report)
    if said is None:
        return {}
    stated = (said.whole("min_level"), said.whole("max_level"))
    if stated != levels:
        report.lost(said, "min_level", f"the network has levels {levels[0]} to {levels[1]}, and anchors on each")
    anchors: dict[str, Any] = {"scale": said.number("anchor_scale"), octave_key: said.whole("scales_per_octave")}
    ratios = said.numbers("aspect_ratios")
    return anchors | ({"aspect_ratios": ratios} if ratios else {})


def read_for_maps(ssd: Block, report: Report, num_maps: int) -> dict[str, Any]:
    said = _chosen(ssd, OF_MAPS, report)
    if said is None:
        return {}
    layers = said.whole("num_layers")
    if layers != num_maps:
        report.lost(said, "num_layers", f"the network has {num_maps} maps, and anchors on each")
    anchors: dict[str, Any] = {key: said.number(key) for key in ("min_scale", "max_scale")}
    anchors["interpolated_scale_aspect_ratio"] = said.number("interpolated_scale_aspect_ratio")
    anchors["reduce_boxes_in_lowest_layer"] = said.flag("reduce_boxes_in_lowest_layer")
    ratios = said.numbers("aspect_ratios")
    return anchors | ({"aspect_ratios": ratios} if ratios else {})


def _chosen(ssd: Block, wanted: str, report: Report) -> Block | None:
    outer = ssd.inner("anchor_generator")
    chosen = outer.chosen("anchor_generator_oneof")
    if chosen == wanted:
        return outer.inner(wanted)
    said = f"{chosen} does" if chosen else "no anchors do"
    report.changed(ssd, "anchor_generator", f"{said} not go with this network here; its own anchors stay")
    outer.pass_over(*([chosen] if chosen else []))
    return None
