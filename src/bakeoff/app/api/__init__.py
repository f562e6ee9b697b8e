"""What `import bakeoff` gives to people who write Python: the commands as functions that return tables and curves."""
