"""Runs -> MLflow, which gets copies; the files under models/ are the record. The only room that imports mlflow."""
