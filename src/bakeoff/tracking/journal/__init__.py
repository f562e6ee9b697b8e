"""A run as it reports itself, in files of its own."""
