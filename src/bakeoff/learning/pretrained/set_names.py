"""Other names of D-FINE's tensors -> those of the whole network in the published code.

The library transformers has names of its own. A file of the backbone alone has names without `backbone.` in front.
"""

import re
from collections.abc import Iterable

MARK, ALONE = "model.backbone.model.embedder.", "stem.stem1."
RULES = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"^model\.backbone\.model\.embedder\.", "backbone.stem."),
        (r"^model\.backbone\.model\.encoder\.", "backbone."),
        (r"^(backbone\..+\.)convolution\.", r"\1conv."),
        (r"^(backbone\..+\.)normalization\.", r"\1bn."),
        (r"^model\.encoder_input_proj\.(\d+)\.0\.", r"encoder.input_proj.\1.conv."),
        (r"^model\.encoder_input_proj\.(\d+)\.1\.", r"encoder.input_proj.\1.norm."),
        (r"^model\.encoder\.(?:aifi|encoder)\.", "encoder.encoder."),
        (r"^(encoder\.encoder\..+\.)final_layer_norm\.", r"\1norm2."),
        (r"^model\.encoder\.", "encoder."),
        (r"\.downsample_convs\.(\d+)\.conv(\d)\.", r".downsample_convs.\1.0.cv\2."),
        (r"((?:fpn|pan)_blocks\.\d+)\.conv1\.", r"\1.cv1."),
        (r"((?:fpn|pan)_blocks\.\d+)\.csp_rep1\.", r"\1.cv2.0."),
        (r"((?:fpn|pan)_blocks\.\d+)\.conv2\.", r"\1.cv2.1."),
        (r"((?:fpn|pan)_blocks\.\d+)\.csp_rep2\.", r"\1.cv3.0."),
        (r"((?:fpn|pan)_blocks\.\d+)\.conv3\.", r"\1.cv3.1."),
        (r"((?:fpn|pan)_blocks\.\d+)\.conv4\.", r"\1.cv4."),
        (r"^model\.decoder\.(layers|lqe_layers)\.", r"decoder.decoder.\1."),
        (r"^(?:model\.decoder\.)?class_embed\.", "decoder.dec_score_head."),
        (r"^(?:model\.decoder\.)?bbox_embed\.", "decoder.dec_bbox_head."),
        (r"^model\.decoder\.", "decoder."),
        (r"^model\.enc_output\.0\.", "decoder.enc_output.proj."),
        (r"^model\.enc_output\.1\.", "decoder.enc_output.norm."),
        (r"^model\.(enc_score_head|enc_bbox_head|denoising_class_embed)\.", r"decoder.\1."),
        (r"\.self_attn_layer_norm\.", ".norm1."),
        (r"\.final_layer_norm\.", ".norm3."),
        (r"\.encoder_attn\.", ".cross_attn."),
        (r"(\.layers\.\d+)\.fc([12])\.", r"\1.linear\2."),
        (r"(\.layers\.\d+)\.mlp\.layers\.0\.", r"\1.linear1."),
        (r"(\.layers\.\d+)\.mlp\.layers\.[12]\.", r"\1.linear2."),
        (r"\.self_attn\.o_proj\.", ".self_attn.out_proj."),
    )
)


def published_names(names: Iterable[str]) -> dict[str, str]:
    """Return the published name of each, which is its own where the names are of another program."""
    names = list(names)
    if any(name.startswith(ALONE) for name in names):
        return {name: f"backbone.{name}" for name in names}
    if not any(name.startswith(MARK) for name in names):
        return {name: name for name in names}
    return {name: _published(name) for name in names}


def _published(name: str) -> str:
    for pattern, other in RULES:
        name = pattern.sub(other, name)
    return name
