"""Arrays of numbers of all kinds."""

from __future__ import annotations

from tests.topi.running import booleans, floats, integers

X, Y = floats(3, 5), floats(3, 5, seed=1)


ROW, COLUMN = floats(5, low=0.5), floats(3, 1, low=0.5)


POSITIVE, UNIT, ABOVE = floats(3, 5, low=0.5), floats(3, 5, low=-0.9, high=0.9), floats(4, low=1.1)


INTS, OTHERS = integers(3, 5), integers(3, 5, low=1, seed=2)


TRUTH, FLAGS = booleans(3, 5), booleans(3, 5, seed=3)
