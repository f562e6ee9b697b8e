"""Work of other machines: copies of work in flight, in a store that all of them reach."""
