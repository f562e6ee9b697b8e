"""Models on the machines that they are made for: how fast they answer there, and whether they answer the same."""
