"""A run of long ago -> the same run again, in a workspace of its own, and a verdict on whether it came out the same."""
