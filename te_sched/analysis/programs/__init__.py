"""Checks of programs at any level of lowering: accesses, races, initialization."""
