"""The primitives, one file for each family. Each checks first, then changes, then records."""
