"""What a run keeps while it trains, and which run that is."""
