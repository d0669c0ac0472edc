"""The primitives, one file for each family. Each checks, and computes the new state on drafts."""
