"""Runs -> what they differ in, how good each is, and whether one is better than another."""
