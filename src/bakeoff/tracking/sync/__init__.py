"""The sender: from journals to MLflow."""
