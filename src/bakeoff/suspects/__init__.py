"""Predictions of models that did not train on an example, held against its label: `bakeoff suspects`."""
