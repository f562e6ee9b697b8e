"""Noisy pictures that are red or blue, which the smallest network tells apart after a few steps."""

import io

import numpy as np
from PIL import Image

SMALL = {
    "experiment": "experiment: demo_images",
    "model": "model: {use: cnn_small, input_size: 32}",
    "lr": "lr: {use: constant, peak: 0.003, warmup_steps: 0}",
    "optimizer": "optimizer: {use: adam}",
    "train": "train: {use: smoke, steps: 60, batch_size: 16}",
    "export": "export: {use: saved_model}",
}


def coloured(label: int, seed: int, mixed: int = 150) -> bytes:
    """Return a red (0) or blue (1) picture; `mixed` is how much of the colour it has, of 165."""
    noise = np.random.default_rng(seed).integers(0, 90, (32, 32, 3), np.uint8)
    noise[..., 2 * label] += mixed
    buffer = io.BytesIO()
    Image.fromarray(noise).save(buffer, "PNG")
    return buffer.getvalue()
