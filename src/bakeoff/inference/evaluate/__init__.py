"""Runs and files of models, judged on any split of any data: `bakeoff evaluate`."""
