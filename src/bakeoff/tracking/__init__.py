"""Runs -> MLflow, which gets copies; the files under models/ are the record. The only wing that imports mlflow."""
