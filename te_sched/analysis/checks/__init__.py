"""Bounds of accesses: proofs, and checks at run time."""
