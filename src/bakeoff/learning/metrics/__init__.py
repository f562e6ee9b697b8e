"""Scores as values: what was counted so far, added up; `result` turns it into numbers."""
