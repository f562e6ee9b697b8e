"""The step loop, and what a training is set up from."""
