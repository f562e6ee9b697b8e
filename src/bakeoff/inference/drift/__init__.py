"""Are new images like those that a model was trained on?"""
