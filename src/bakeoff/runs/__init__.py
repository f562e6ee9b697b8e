"""What is known of each run in flight: said by training in `status.json`, read by `bakeoff status`, `stop`, `clean`."""
