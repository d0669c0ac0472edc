"""Executable tutorials (see README.md)."""
