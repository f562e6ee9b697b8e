"""The TF Object Detection API's language: a variant as its `pipeline.config`, and such a file as options of conf/."""
