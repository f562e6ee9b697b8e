"""What learning means: examples -> targets -> loss, outputs -> predictions -> score."""
