"""Runs on shares of the training set -> how much more data would bring, beside more steps and another network."""
