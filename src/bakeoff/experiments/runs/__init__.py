"""What is known of each run in flight: training writes it to `status.json`, `bakeoff status`, `stop` and `clean` read
it.
"""
