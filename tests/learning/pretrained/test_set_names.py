"""The names that transformers gives D-FINE's tensors, as its files have them, and the published ones."""

import pytest

from bakeoff.learning.pretrained.set_names import ALONE, MARK, published_names

NAMES = {
    "model.backbone.model.embedder.stem2a.convolution.weight": "backbone.stem.stem2a.conv.weight",
    "model.backbone.model.encoder.stages.2.blocks.1.layers.0.conv2.lab.scale":
        "backbone.stages.2.blocks.1.layers.0.conv2.lab.scale",
    "model.backbone.model.encoder.stages.1.downsample.normalization.running_var":
        "backbone.stages.1.downsample.bn.running_var",
    "model.encoder_input_proj.1.0.weight": "encoder.input_proj.1.conv.weight",
    "model.encoder_input_proj.1.1.running_mean": "encoder.input_proj.1.norm.running_mean",
    "model.encoder.encoder.0.layers.0.self_attn.out_proj.bias": "encoder.encoder.0.layers.0.self_attn.out_proj.bias",
    "model.encoder.aifi.0.layers.0.self_attn.o_proj.bias": "encoder.encoder.0.layers.0.self_attn.out_proj.bias",
    "model.encoder.encoder.0.layers.0.self_attn_layer_norm.weight": "encoder.encoder.0.layers.0.norm1.weight",
    "model.encoder.encoder.0.layers.0.final_layer_norm.weight": "encoder.encoder.0.layers.0.norm2.weight",
    "model.encoder.encoder.0.layers.0.fc2.weight": "encoder.encoder.0.layers.0.linear2.weight",
    "model.encoder.lateral_convs.0.norm.weight": "encoder.lateral_convs.0.norm.weight",
    "model.encoder.downsample_convs.0.conv2.conv.weight": "encoder.downsample_convs.0.0.cv2.conv.weight",
    "model.encoder.pan_blocks.0.csp_rep2.bottlenecks.1.conv1.conv.weight":
        "encoder.pan_blocks.0.cv3.0.bottlenecks.1.conv1.conv.weight",
    "model.encoder.fpn_blocks.0.conv3.conv.weight": "encoder.fpn_blocks.0.cv3.1.conv.weight",
    "model.decoder.layers.2.encoder_attn.sampling_offsets.bias":
        "decoder.decoder.layers.2.cross_attn.sampling_offsets.bias",
    "model.decoder.layers.2.final_layer_norm.bias": "decoder.decoder.layers.2.norm3.bias",
    "model.decoder.layers.2.mlp.layers.0.weight": "decoder.decoder.layers.2.linear1.weight",
    "model.decoder.layers.0.gateway.gate.weight": "decoder.decoder.layers.0.gateway.gate.weight",
    "model.decoder.lqe_layers.1.reg_conf.layers.0.weight": "decoder.decoder.lqe_layers.1.reg_conf.layers.0.weight",
    "model.decoder.class_embed.0.weight": "decoder.dec_score_head.0.weight",
    "model.decoder.bbox_embed.1.layers.2.bias": "decoder.dec_bbox_head.1.layers.2.bias",
    "model.decoder.query_pos_head.layers.1.weight": "decoder.query_pos_head.layers.1.weight",
    "model.enc_output.1.weight": "decoder.enc_output.norm.weight",
    "model.denoising_class_embed.weight": "decoder.denoising_class_embed.weight",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_transformers_becomes_the_published_one(name: str) -> None:
    beside = f"{MARK}stem1.lab.bias"
    assert published_names([beside, name])[name] == NAMES[name]


def test_names_of_other_programs_stay() -> None:
    names = ["model.decoder.layers.0.fc1.weight", "head.stems.0.conv.weight"]
    assert published_names(names) == dict(zip(names, names, strict=True))


def test_names_of_a_backbone_alone_get_its_place() -> None:
    names = [f"{ALONE}conv.weight", "stages.1.downsample.bn.bias"]
    assert list(published_names(names).values()) == [f"backbone.{name}" for name in names]
