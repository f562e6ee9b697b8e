"""What was measured, and what names a run."""
