"""The primitives of schedules of blocks, by families."""
