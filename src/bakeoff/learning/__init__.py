"""Records and run.yaml -> weights: input, networks, tasks, metrics, schedules, training and what it starts from."""
