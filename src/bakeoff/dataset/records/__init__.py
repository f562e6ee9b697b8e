"""What a record is, and the shards, indexes and manifest that hold records."""
