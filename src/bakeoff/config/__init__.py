"""params.yaml and conf/ -> run.yaml, and its twin for the TF Object Detection API."""
