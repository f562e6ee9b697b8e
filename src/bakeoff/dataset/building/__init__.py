"""Items of sources -> checked records in shards, and a report."""
