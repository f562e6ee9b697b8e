"""A variant -> the TF Object Detection API's `pipeline.config`, and that API's messages."""
