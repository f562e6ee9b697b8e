"""D-FINE N of the library transformers with random weights: its answers, and its file of safetensors.

python transformers_there.py out side queries classes
"""

import sys
from pathlib import Path

import numpy as np
import torch
from transformers import DFineConfig, DFineForObjectDetection, HGNetV2Config

out, side, queries, classes = Path(sys.argv[1]), *map(int, sys.argv[2:])
torch.manual_seed(6)
backbone = HGNetV2Config(
    embedding_size=16, hidden_sizes=[64, 256, 512, 1024], depths=[1, 1, 2, 1], stem_channels=[3, 16, 16],
    stage_in_channels=[16, 64, 256, 512], stage_mid_channels=[16, 32, 64, 128], stage_out_channels=[64, 256, 512, 1024],
    stage_num_blocks=[1, 1, 2, 1], stage_downsample=[False, True, True, True],
    stage_light_block=[False, False, True, True], stage_kernel_size=[3, 3, 5, 5], stage_numb_of_layers=[3, 3, 3, 3],
    use_learnable_affine_block=True, out_features=["stage3", "stage4"],
)  # fmt: skip
settings = DFineConfig(
    backbone_config=backbone, encoder_hidden_dim=128, encoder_in_channels=[512, 1024], feat_strides=[16, 32],
    encoder_ffn_dim=512, encode_proj_layers=[1], hidden_expansion=0.34, depth_mult=0.5, d_model=128,
    decoder_in_channels=[128, 128], num_feature_levels=2, decoder_layers=3, decoder_n_points=[6, 6],
    decoder_ffn_dim=512, num_queries=queries, num_labels=classes,
)  # fmt: skip
network = DFineForObjectDetection(settings).eval()
for name, parameter in network.named_parameters():
    if not parameter.abs().max() and "reg_scale" not in name:
        torch.nn.init.normal_(parameter, 0, 0.05)
for name, layer in network.named_modules():
    if isinstance(layer, torch.nn.Linear) and not name.endswith("offsets"):  # so that no two queries are all but equal
        torch.nn.init.xavier_normal_(layer.weight)
    if hasattr(layer, "running_var"):
        torch.nn.init.normal_(layer.running_mean, 0, 0.2)
        torch.nn.init.uniform_(layer.running_var, 0.5, 1.5)
network.save_pretrained(out)
pixels = np.random.default_rng(6).integers(0, 256, (3, side, side, 3)).astype(np.float32)
with torch.no_grad():
    answer = network(torch.tensor(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))) / 255)
np.savez(out / "numbers.npz", pixels=pixels, logits=answer.logits.numpy(), boxes=answer.pred_boxes.numpy())
