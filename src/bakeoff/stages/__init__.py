"""One module per stage of dvc.yaml, each a straight function from paths to files. `python -m bakeoff.stages.<verb>`."""
