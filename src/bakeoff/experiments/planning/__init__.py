"""What a variant will take and do, before anything runs."""
