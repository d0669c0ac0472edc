"""Programs with known lowered IR, and the tools that run them (see README.md)."""
