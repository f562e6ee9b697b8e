"""A run -> a signed statement of what went in and what came out, and a copy compared with it to the byte."""
