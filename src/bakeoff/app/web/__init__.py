"""The workspace as pages in a browser: what they do is a file of the workspace or a command, and they show which."""
