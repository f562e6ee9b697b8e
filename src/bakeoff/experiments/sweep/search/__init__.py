"""A search: what was drawn and what came of it -> what is tried next. Optuna is imported here alone."""
