"""Random programs of blocks under random primitives of tir.Schedule, beside live TVM."""
