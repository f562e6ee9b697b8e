"""The code -> docs/reference/: every key, command, file and Example key, with the texts that stand in texts/.

`python -m reference` (or `make reference`) writes the pages. tests/test_reference.py fails if they are not these.
"""
