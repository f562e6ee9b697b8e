"""Overrides with several values -> configurations, each a DVC experiment. Only this folder runs experiments."""
