"""MLflow: its client, its runs, its UI."""
