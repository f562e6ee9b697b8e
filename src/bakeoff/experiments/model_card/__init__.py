"""A finished run -> the model card and the datasheet that go with its files to others."""
