"""Programs with known lowered IR, and tools that run them (see README.md)."""
