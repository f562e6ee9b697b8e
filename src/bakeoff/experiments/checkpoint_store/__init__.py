"""Copies of checkpoints off this machine, from which any clone resumes."""
