"""A trained network as files that others can run: a SavedModel, and TensorFlow Lite's for robots and phones."""
