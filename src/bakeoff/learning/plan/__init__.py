"""What run.yaml makes of a training: its phases, its optimizers, their settings."""
