"""Pictures without a label -> those whose labels would teach a run's network most."""
