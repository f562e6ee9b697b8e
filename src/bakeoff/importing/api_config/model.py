"""`model { ssd { … } }` -> settings of a detector, with the kind of network and the backbone that come nearest."""

from bakeoff.config.api_export import model as names
from bakeoff.config.api_export.messages import round_off
from bakeoff.config.api_export.model import CLASS_LOSSES, FOCAL, MATCHER, MINING, SSD
from bakeoff.importing.api_config.fields import Block, ConversionReport, Settings, nest
from bakeoff.learning.networks.detector_settings import BOX_SCALES, RESNETS, STRIDES
from bakeoff.learning.networks.letterbox import GREY, LETTERBOX
from bakeoff.learning.networks.network import Fit
from bakeoff.learning.networks.ssd import Ssd

NEAREST = (("resnet", "resnet50"), ("mobilenet_v1", "mobilenet_v1"))  # by what the type's name holds; else mobilenet_v2
STRETCH: Fit = "stretch"
USUAL_KEEP = 0.8  # of dropout: that API's default
STEPS = {"ssd": 32, "ssd_fpn": 32}  # the input side is a multiple of this, by kind of network


def read_model(ssd: Block, report: ConversionReport) -> Settings:
    """Return settings of the group `model`, with the `kind`."""
    settings = _read_extractor(ssd, report)
    kind = settings["kind"]
    settings |= _read_resizer(ssd, kind, settings.get("backbone.name", names.OWN_TYPE), report)
    settings |= _read_anchors(ssd, settings, report) | read_loss(ssd, report)
    scales = _read_box_scales(ssd, report)
    if kind != "ssd":
        return nest(settings | {"box_scales": scales} | _read_heads(ssd, kind, report))
    if tuple(scales) != Ssd.box_scales:
        report.change(ssd, "box_coder", f"this network codes boxes by {', '.join(map(str, Ssd.box_scales))}")
    heads = ssd.inner("box_predictor").inner(names.SHARED_HEADS)
    heads.pass_over(*names.OWN_HEAD)
    return nest(settings | heads.take(names.OWN_HEAD))


def _read_extractor(ssd: Block, report: ConversionReport) -> Settings:
    """Return which of this project's networks the feature extractor becomes, and the settings it says."""
    extractor = ssd.inner("feature_extractor")
    name = extractor.get("type")
    if name == names.OWN_TYPE:
        own, fpn = names.EXTRACTORS["ssd"], extractor.inner("fpn")
        fpn.pass_over(*names.LEVELS)
        return {"kind": "ssd"} | extractor.take(own) | fpn.take(own["fpn"])
    plain = name.removesuffix("_keras")
    known = {theirs.removesuffix("_keras"): network for network, theirs in names.TYPES.items()}
    if is_known := plain in known:
        kind, backbone = known[plain]
    else:
        has_levels = extractor.chosen() or ssd.inner("anchor_generator").has(names.LEVEL_ANCHORS)
        kind = "ssd_fpn" if has_levels else "ssd_multibox"
        near = (ours for part, ours in NEAREST if part in plain and (kind, ours) in names.TYPES)
        backbone = next(near, "mobilenet_v2")
        missing = repr(name) if name else "network without a type"
        missing += " with its two-way pyramid" if extractor.has("bifpn") else ""
        report.replace(extractor, "type", missing, repr(names.TYPES[kind, backbone]))
    theirs = names.TYPES[kind, backbone]
    if name == plain == theirs.removesuffix("_keras"):
        differs = "; a pyramid passes its levels on otherwise there" if kind == "ssd_fpn" else ""
        report.change(extractor, "type", f"becomes {theirs!r}, its name under TensorFlow 2{differs}")
    settings: Settings = {"kind": kind, "backbone.name": backbone}  # like that API's for TensorFlow 2
    settings |= extractor.take(names.EXTRACTORS[kind]) | {"convolutions": _read_convolutions(extractor, report)}
    if kind == "ssd_multibox":
        _read_maps(ssd, extractor, settings, report)
    else:
        _read_pyramid(extractor, settings, report, is_known=is_known)
    return settings


def _read_maps(ssd: Block, extractor: Block, settings: Settings, report: ConversionReport) -> None:
    """Correct the number of maps: old files say it only of the anchors."""
    stated = ssd.inner("anchor_generator").inner(names.MAP_ANCHORS).get("num_layers")
    if not extractor.has("num_layers") and stated != settings["num_maps"]:
        report.change(extractor, "num_layers", f"is not there; {stated} here, as the anchors have")
        settings["num_maps"] = stated


def _read_pyramid(extractor: Block, settings: Settings, report: ConversionReport, *, is_known: bool) -> None:
    backbone = settings["backbone.name"]
    if settings["pyramid.depthwise"] and backbone in RESNETS:
        report.change(extractor, "use_depthwise", f"{backbone} has a pyramid of full convolutions here")
        settings["pyramid.depthwise"] = False
    if not extractor.has("bifpn"):
        settings |= extractor.inner("fpn").take(names.PYRAMID)  # that API's defaults if there is none
        return
    bifpn = extractor.inner("bifpn")
    if is_known:
        report.replace(extractor, "bifpn", "two-way pyramid", "a plain one of the same levels")
    else:  # it is replaced with the network
        report.change(extractor, "bifpn", "a plain pyramid of the same levels stands in its place")
    bifpn.pass_over("num_iterations", "combine_method")
    settings |= bifpn.take(names.PYRAMID_LEVELS) | {"pyramid.depth": bifpn.get("num_filters") or 256}


def _read_convolutions(owner: Block, report: ConversionReport, *, normalised: bool = True) -> Settings:
    """Read the `conv_hyperparams` of a message; `normalised`: a batch norm follows its convolutions."""
    block = owner.inner("conv_hyperparams")
    settings: Settings = {"l2_weight": 0.0} | block.take(names.CONVOLUTIONS)
    if "activation" not in settings:
        missing = block.get("activation")
        report.change(block, "activation", f"there is no {missing} here; RELU_6 stands in its place")
    initializer = block.inner("initializer")
    kind = initializer.chosen()
    if kind in ("random_normal_initializer", "truncated_normal_initializer"):
        deviation = initializer.inner(kind).get("stddev")
        settings |= {"initializer": kind.removesuffix("_initializer"), "initial_deviation": deviation}
    elif block.has("initializer"):
        report.change(block, "initializer", f"there is no {kind} here; random_normal of 0.01 stands in its place")
        initializer.pass_over(kind)
    norm = block.chosen()
    if norm == "sync_batch_norm":
        settings |= block.inner(norm).take(names.BATCH_NORM)
        report.change(block, norm, "becomes a batch norm over each device's share of the batch")
    elif norm != "batch_norm" and normalised:
        report.drop(owner, "conv_hyperparams", "without batch_norm; convolutions are followed by a batch norm here")
    elif norm != "batch_norm":
        report.change(block, "batch_norm", "is not there, and nothing in these heads would have one")
    return settings


def _read_resizer(ssd: Block, kind: str, backbone: str, report: ConversionReport) -> Settings:
    """Return the side of the square that the network sees, and how images get into it."""
    resizer, fit = ssd.inner("image_resizer"), STRETCH
    chosen = resizer.chosen()
    if chosen == "fixed_shape_resizer":
        shape = resizer.inner(chosen)
        height, width = shape.get("height"), shape.get("width")
        size = max(height, width)
        if height != width:
            report.change(resizer, chosen, f"inputs are square here: {size} x {size} for {height} x {width}")
    elif chosen == "keep_aspect_ratio_resizer":
        shape = resizer.inner(chosen)
        size, fit = shape.get("max_dimension"), _read_letterbox(resizer, shape, chosen, report)
    else:
        size = 300
        report.change(ssd, "image_resizer", f"images are brought to a square here; {size} x {size} for want of one")
        resizer.pass_over(chosen)
    step = STEPS.get(kind, 1)
    fitting = max(step, (size + step // 2) // step * step)
    if fitting != size:
        report.change(ssd, "image_resizer", f"{backbone} here wants a multiple of {step}: {fitting} for {size}")
    return {"input_size": fitting} | ({} if fit == STRETCH else {"fit": fit})


def _read_letterbox(resizer: Block, shape: Block, chosen: str, report: ConversionReport) -> Fit:
    """Return letterbox for what always fills a side of the square and pads the other; else report what is another."""
    size, least = shape.get("max_dimension"), shape.get("min_dimension")
    is_padded, colour = shape.get("pad_to_max_dimension"), list(shape.get("per_channel_pad_value")) or [0.0] * 3
    shape.pass_over("min_dimension", "pad_to_max_dimension", "per_channel_pad_value")
    if not is_padded or least != size:
        report.change(resizer, chosen, f"images are brought to {size} x {size} here, whatever their aspect ratio")
        return STRETCH
    painted = f", on grey {GREY:g} for {', '.join(f'{level:g}' for level in colour)}" if set(colour) != {GREY} else ""
    report.change(resizer, chosen, f"becomes fit: {LETTERBOX}: images stand in the middle here, not top left{painted}")
    return LETTERBOX


def _read_anchors(ssd: Block, extractor: Settings, report: ConversionReport) -> Settings:
    outer = ssd.inner("anchor_generator")
    chosen = outer.chosen()
    [(wanted, table)] = names.ANCHORS[extractor["kind"]].items()
    if chosen != wanted:
        text = f"{chosen} does" if chosen else "no anchors do"
        report.change(ssd, "anchor_generator", f"{text} not go with this network here; its own anchors stay")
        outer.pass_over(chosen)
        return {"anchors": {}}
    block = outer.inner(wanted)
    anchors = block.take(table)
    if wanted == names.MAP_ANCHORS:
        maps = extractor["num_maps"]
        if anchors.pop("num_maps") != maps:
            report.drop(block, "num_layers", f"the network has {maps} maps, and anchors on each")
    else:
        own = (min(STRIDES).bit_length() - 1, max(STRIDES).bit_length() - 1)
        levels = [extractor.get(f"pyramid.{name}", level) for name, level in zip(names.LEVELS, own, strict=True)]
        for name, level in zip(names.LEVELS, levels, strict=True):
            if block.get(name) != level:
                report.drop(block, name, f"the network has levels {levels[0]} to {levels[1]}, and anchors on each")
    if not anchors["anchors.aspect_ratios"]:
        del anchors["anchors.aspect_ratios"]
    return anchors


def _read_heads(ssd: Block, kind: str, report: ConversionReport) -> Settings:
    """Return `predictor` and `predictor_convolutions` of a network whose heads all levels share, or each map has."""
    outer = ssd.inner("box_predictor")
    [wanted] = names.HEADS[kind]
    chosen = outer.chosen()
    if chosen != wanted:
        heads = "shared by all levels" if wanted == names.SHARED_HEADS else "of one map each"
        text = f"{chosen or 'no box predictor'} does not go with this network here, whose heads are {heads}"
        report.change(ssd, "box_predictor", text)
    if chosen not in names.HEAD_DEPTHS:
        return {}
    block = outer.inner(chosen)
    settings = block.take(names.HEAD)
    keep, drops = block.get("dropout_keep_probability"), block.get("use_dropout")
    settings["predictor.dropout"] = round_off(1 - keep) if drops else 0.0
    if not drops and block.has("dropout_keep_probability") and keep != USUAL_KEEP:
        report.drop(block, "dropout_keep_probability", "without use_dropout nothing is left out")
    if settings["predictor.depthwise"] and settings["predictor.kernel"] == 1:
        report.change(block, "use_depthwise", "a depthwise convolution of kernel 1 only scales; left out here")
        settings["predictor.depthwise"] = False
    if chosen == wanted:
        settings |= block.take(names.HEAD_DEPTHS[chosen])
    elif wanted == names.MAP_HEADS:
        settings |= dict.fromkeys(("predictor.min_depth", "predictor.max_depth"), block.get("depth"))
    if wanted == names.MAP_HEADS:
        _fit_depths(block, settings, report)
    normalised = settings["predictor.layers_before"] > 0 or settings["predictor.depthwise"]
    return settings | {"predictor_convolutions": _read_convolutions(block, report, normalised=normalised)}


def _fit_depths(block: Block, settings: Settings, report: ConversionReport) -> None:
    low, high = settings["predictor.min_depth"], settings["predictor.max_depth"]
    if low > high:
        report.change(block, "max_depth", f"{low} here, for {high}: the depth of every map, by min_depth")
        settings["predictor.max_depth"] = high = low
    if settings["predictor.layers_before"] and high == 0:
        report.change(block, "num_layers_before_predictor", "0 here: without a depth that API leaves them out")
        settings["predictor.layers_before"] = 0


def _read_box_scales(ssd: Block, report: ConversionReport) -> list[float]:
    if report.stand_in(ssd, "box_coder", ["faster_rcnn_box_coder"], "faster_rcnn_box_coder"):
        return list(BOX_SCALES)
    scales = ssd.inner("box_coder").inner("faster_rcnn_box_coder")
    return [scales.get(name) for name in names.BOX_CODER_SCALES]


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
