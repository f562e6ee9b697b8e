"""A change -> whether it made the model worse, surely enough to hold it back."""
