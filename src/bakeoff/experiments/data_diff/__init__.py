"""Two data sets -> what changed between them, in pictures, labels and boxes."""
