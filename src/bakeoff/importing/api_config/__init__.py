"""A pipeline.config of the TF Object Detection API -> options under conf/: `bakeoff import-config`."""
