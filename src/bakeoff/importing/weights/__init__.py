"""Weights that others have published: what there is, and fetching it into `data/weights/zoo/`."""
