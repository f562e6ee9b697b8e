"""What an evaluation found, for people: one page that needs nothing else, and a table with a row for every example."""
