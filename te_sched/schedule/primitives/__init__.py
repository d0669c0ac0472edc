"""The primitives, one file for each family."""
