"""The graph of `SetDetector`: backbone, encoder, decoder, and the queries that denoise."""
