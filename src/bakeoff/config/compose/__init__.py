"""conf/ + params.yaml -> `Run`: composed once, checked once, written down, then only read."""
