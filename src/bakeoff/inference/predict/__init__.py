"""Images and videos through a trained network, a SavedModel or a .tflite: the same answers in the same form."""
