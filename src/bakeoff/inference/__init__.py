"""Trained models at work: predictions, drift, label errors, what to label next, devices."""
