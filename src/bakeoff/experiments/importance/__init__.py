"""Trials that differ in a few keys -> what each key did to a number, in pictures and plain sentences."""
