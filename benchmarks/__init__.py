"""Measurements, one module per table (see README.md)."""
