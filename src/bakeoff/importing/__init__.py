"""What comes from elsewhere: datasets, published weights, a pipeline.config."""
