"""What stands at the end of a detector: outputs, targets and losses."""
