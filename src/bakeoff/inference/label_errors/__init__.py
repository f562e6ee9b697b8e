"""Predictions of models that did not train on an example -> labels that are probably wrong: `bakeoff suspects`."""
