"""Raw files -> records: sources read them, building checks and writes them, records is the format."""
