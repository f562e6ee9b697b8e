"""`model { ssd { … } }` -> settings of a detector, with the kind of network and the backbone that come nearest."""

from typing import Any

from bakeoff.config.api_export import model as names
from bakeoff.config.api_export.messages import round_off
from bakeoff.importing.api_config.fields import Block, ConversionReport
from bakeoff.importing.api_config.loss import read_loss
from bakeoff.learning.networks.detector_settings import BOX_SCALES
from bakeoff.learning.networks.ssd import Ssd

NEAREST = (("resnet", "resnet50"), ("mobilenet_v1", "mobilenet_v1"))  # by what the type's name holds; else mobilenet_v2
USUAL_KEEP = 0.8  # of dropout: that API's default
STEPS = {"ssd": 32, "ssd_fpn": 32}  # the input side is a multiple of this, by kind of network

Settings = dict[str, Any]


def read_model(ssd: Block, report: ConversionReport) -> Settings:
    """Return settings of the group `model`, with the `kind`."""
    kind, extractor = _read_extractor(ssd, report)
    backbone = extractor["backbone"]["name"] if "backbone" in extractor else names.OWN_TYPE
    settings = {"kind": kind, "input_size": _read_size(ssd, kind, backbone, report)} | extractor
    settings |= {"anchors": _read_anchors(ssd, kind, extractor, report)} | read_loss(ssd, report)
    scales = _read_box_scales(ssd, report)
    if kind != "ssd":
        return settings | {"box_scales": scales} | _read_heads(ssd, report, shared=kind == "ssd_fpn")
    if tuple(scales) != Ssd.box_scales:
        report.change(ssd, "box_coder", f"this network codes boxes by {', '.join(map(str, Ssd.box_scales))}")
    heads = ssd.inner("box_predictor").inner(names.SHARED_HEADS)
    heads.pass_over("depth", "kernel_size", "share_prediction_tower", "class_prediction_bias_init")
    return settings | {"head_convolutions": heads.get("num_layers_before_predictor")}


def _read_extractor(ssd: Block, report: ConversionReport) -> tuple[str, Settings]:
    """Return which of this project's networks the feature extractor becomes, and the settings it says."""
    extractor = ssd.inner("feature_extractor")
    name = extractor.get("type")
    if name == names.OWN_TYPE:
        return "ssd", _read_own_extractor(extractor)
    plain = name.removesuffix("_keras")
    pyramids = {theirs.removesuffix("_keras"): ours for ours, theirs in names.PYRAMIDS.items()}
    maps = {theirs.removesuffix("_keras"): ours for ours, theirs in names.MAPS.items()}
    if plain in pyramids:
        kind, backbone = "ssd_fpn", pyramids[plain]
    elif plain in maps:
        kind, backbone = "ssd_multibox", maps[plain]
    else:
        has_levels = extractor.chosen("feature_pyramid_oneof") or ssd.inner("anchor_generator").has(names.LEVEL_ANCHORS)
        kind, known = ("ssd_fpn", names.PYRAMIDS) if has_levels else ("ssd_multibox", names.MAPS)
        backbone = next((ours for part, ours in NEAREST if part in plain and ours in known), "mobilenet_v2")
        report.replace(extractor, "type", repr(name) if name else "network without a type", repr(known[backbone]))
    theirs = (names.PYRAMIDS if kind == "ssd_fpn" else names.MAPS)[backbone]
    if name == plain == theirs.removesuffix("_keras"):
        differs = "; a pyramid passes its levels on otherwise there" if kind == "ssd_fpn" else ""
        report.change(extractor, "type", f"becomes {theirs!r}, its name under TensorFlow 2{differs}")
    settings: Settings = {
        "backbone": {"name": backbone} | extractor.take(names.BACKBONE),  # like that API's for TensorFlow 2
        "convolutions": _read_convolutions(extractor, report),
    }
    depthwise = extractor.get("use_depthwise")
    if kind == "ssd_multibox":
        return kind, settings | {"num_maps": _read_maps(ssd, extractor, report), "depthwise_maps": depthwise}
    if depthwise and backbone == "resnet50":
        report.change(extractor, "use_depthwise", "resnet50 has a pyramid of full convolutions here")
        depthwise = False
    return kind, settings | {"pyramid": _read_pyramid(extractor, report) | {"depthwise": depthwise}}


def _read_maps(ssd: Block, extractor: Block, report: ConversionReport) -> int:
    """Return the number of maps. Old files say it only of the anchors."""
    anchors = ssd.inner("anchor_generator").inner(names.MAP_ANCHORS)
    usual: int = extractor.get("num_layers")
    stated: int = anchors.get("num_layers")
    if extractor.has("num_layers") or stated == usual:
        return usual
    report.change(extractor, "num_layers", f"is not there; {stated} here, as the anchors have")
    return stated


def _read_own_extractor(extractor: Block) -> Settings:
    fpn = extractor.inner("fpn")
    fpn.pass_over("min_level", "max_level")
    return {
        "width": extractor.get("depth_multiplier"),
        "pyramid_channels": fpn.get("additional_layer_depth"),
        "batch_norm_momentum": extractor.inner("conv_hyperparams").inner("batch_norm").get("decay"),
    }


def _read_pyramid(extractor: Block, report: ConversionReport) -> Settings:
    if not extractor.has("bifpn"):
        return extractor.inner("fpn").take(names.PYRAMID)
    bifpn = extractor.inner("bifpn")
    report.replace(extractor, "bifpn", "two-way pyramid", "a plain one of the same levels")
    bifpn.pass_over("num_iterations", "combine_method")
    return bifpn.take(names.PYRAMID | {"depth": "num_filters"}) | ({} if bifpn.get("num_filters") else {"depth": 256})


def _read_convolutions(owner: Block, report: ConversionReport, *, normalised: bool = True) -> Settings:
    """Read the `conv_hyperparams` of a message; `normalised`: a batch norm follows its convolutions."""
    block = owner.inner("conv_hyperparams")
    regularizer, activation = block.inner("regularizer"), block.get("activation")
    penalised = regularizer.has("l2_regularizer")
    settings: Settings = {"l2_weight": regularizer.inner("l2_regularizer").get("weight") if penalised else 0.0}
    activations = {theirs: ours for ours, theirs in names.ACTIVATIONS.items()}
    if activation in activations:
        settings["activation"] = activations[activation]
    else:
        report.change(block, "activation", f"there is no {activation} here; RELU_6 stands in its place")
    settings |= _read_initializer(block, report)
    norm = block.chosen("normalizer_oneof")
    if norm in ("batch_norm", "sync_batch_norm"):
        settings |= block.inner(norm).take(names.BATCH_NORM)
        if norm == "sync_batch_norm":
            report.change(block, norm, "becomes a batch norm over each device's share of the batch")
    elif normalised:
        report.drop(owner, "conv_hyperparams", "without batch_norm; convolutions are followed by a batch norm here")
    else:
        report.change(block, "batch_norm", "is not there, and nothing in these heads would have one")
    return settings


def _read_initializer(block: Block, report: ConversionReport) -> Settings:
    initializer = block.inner("initializer")
    kind = initializer.chosen("initializer_oneof")
    if kind in ("random_normal_initializer", "truncated_normal_initializer"):
        deviation = initializer.inner(kind).get("stddev")
        return {"initializer": kind.removesuffix("_initializer"), "initial_deviation": deviation}
    if block.has("initializer"):
        report.change(block, "initializer", f"there is no {kind} here; random_normal of 0.01 stands in its place")
        initializer.pass_over(kind)
    return {}


def _read_size(ssd: Block, kind: str, backbone: str, report: ConversionReport) -> int:
    """Return the side of the square that the network sees."""
    resizer = ssd.inner("image_resizer")
    chosen = resizer.chosen("image_resizer_oneof")
    if chosen == "fixed_shape_resizer":
        shape = resizer.inner(chosen)
        height, width = shape.get("height"), shape.get("width")
        size = max(height, width)
        if height != width:
            report.change(resizer, chosen, f"inputs are square here: {size} x {size} for {height} x {width}")
    elif chosen == "keep_aspect_ratio_resizer":
        shape = resizer.inner(chosen)
        size = shape.get("max_dimension")
        shape.pass_over("min_dimension", "pad_to_max_dimension", "per_channel_pad_value")
        report.change(resizer, chosen, f"images are brought to {size} x {size} here, whatever their aspect ratio")
    else:
        size = 300
        report.change(ssd, "image_resizer", f"images are brought to a square here; {size} x {size} for want of one")
        resizer.pass_over(chosen)
    step = STEPS.get(kind, 1)
    fitting = max(step, (size + step // 2) // step * step)
    if fitting != size:
        report.change(ssd, "image_resizer", f"{backbone} here wants a multiple of {step}: {fitting} for {size}")
    return fitting


def _read_anchors(ssd: Block, kind: str, extractor: Settings, report: ConversionReport) -> Settings:
    outer = ssd.inner("anchor_generator")
    chosen = outer.chosen("anchor_generator_oneof")
    wanted = names.MAP_ANCHORS if kind == "ssd_multibox" else names.LEVEL_ANCHORS
    if chosen != wanted:
        text = f"{chosen} does" if chosen else "no anchors do"
        report.change(ssd, "anchor_generator", f"{text} not go with this network here; its own anchors stay")
        outer.pass_over(chosen)
        return {}
    block = outer.inner(wanted)
    if kind == "ssd_multibox":
        maps = extractor["num_maps"]
        if block.get("num_layers") != maps:
            report.drop(block, "num_layers", f"the network has {maps} maps, and anchors on each")
        anchors = block.take(names.MULTIBOX_ANCHORS)
    else:
        if kind == "ssd_fpn":
            levels = (extractor["pyramid"]["min_level"], extractor["pyramid"]["max_level"])
        else:
            levels = (min(Ssd.strides).bit_length() - 1, max(Ssd.strides).bit_length() - 1)
        for name, level in zip(("min_level", "max_level"), levels, strict=True):
            if block.get(name) != level:
                report.drop(block, name, f"the network has levels {levels[0]} to {levels[1]}, and anchors on each")
        octave = "scales_per_octave" if kind == "ssd_fpn" else "octave_steps"
        anchors = block.take({"scale": "anchor_scale", octave: "scales_per_octave"})
    ratios = block.get("aspect_ratios")
    return anchors | ({"aspect_ratios": ratios} if ratios else {})


def _read_heads(ssd: Block, report: ConversionReport, *, shared: bool) -> Settings:
    """Return `predictor` and `predictor_convolutions` of a network whose heads are `shared` by all levels or not."""
    outer = ssd.inner("box_predictor")
    wanted = names.SHARED_HEADS if shared else names.OWN_HEADS
    chosen = outer.chosen("box_predictor_oneof")
    if chosen != wanted:
        heads = "shared by all levels" if shared else "of one map each"
        text = f"{chosen or 'no box predictor'} does not go with this network here, whose heads are {heads}"
        report.change(ssd, "box_predictor", text)
    if chosen not in (names.OWN_HEADS, names.SHARED_HEADS):
        return {}
    block = outer.inner(chosen)
    predictor = block.take(names.HEADS)
    keep, drops = block.get("dropout_keep_probability"), block.get("use_dropout")
    predictor["dropout"] = round_off(1 - keep) if drops else 0.0
    if not drops and block.has("dropout_keep_probability") and keep != USUAL_KEEP:
        report.drop(block, "dropout_keep_probability", "without use_dropout nothing is left out")
    if predictor["depthwise"] and predictor["kernel"] == 1:
        report.change(block, "use_depthwise", "a depthwise convolution of kernel 1 only scales; left out here")
        predictor["depthwise"] = False
    if shared and chosen == wanted:
        predictor |= block.take(names.SHARED_DEPTH)
    elif not shared:
        low, high = (block.get(name) for name in (("min_depth", "max_depth") if chosen == wanted else ("depth",) * 2))
        if low > high:
            report.change(block, "max_depth", f"{low} here, for {high}: the depth of every map, by min_depth")
            high = low
        if predictor["layers_before"] and high == 0:
            report.change(block, "num_layers_before_predictor", "0 here: without a depth that API leaves them out")
            predictor["layers_before"] = 0
        predictor |= {"min_depth": low, "max_depth": high}
    normalised = predictor["layers_before"] > 0 or predictor["depthwise"]
    convolutions = _read_convolutions(block, report, normalised=normalised)
    return {"predictor": predictor, "predictor_convolutions": convolutions}


def _read_box_scales(ssd: Block, report: ConversionReport) -> list[float]:
    coder = ssd.inner("box_coder")
    chosen = coder.chosen("box_coder_oneof")
    if chosen in (None, "faster_rcnn_box_coder"):
        scales = coder.inner("faster_rcnn_box_coder")
        return [scales.get(name) for name in names.BOX_CODER_SCALES]
    report.change(ssd, "box_coder", f"there is no {chosen} here; faster_rcnn_box_coder stands in its place")
    coder.pass_over(chosen)
    return list(BOX_SCALES)
