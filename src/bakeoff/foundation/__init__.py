"""Errors, files, machine, progress, signals, workspace, DVC, pages: decides nothing, imports nothing of ours."""
