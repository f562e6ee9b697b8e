"""Weights that a training starts from: others' files, their names, their lineage."""
