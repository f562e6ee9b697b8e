"""Shards -> batches: order, decode, augment. Modules that compute import TensorFlow; settings do not."""
