"""Random graphs beside TVM: what both print after each pass, and what both compute."""
