"""Arrays that several operators take."""

from __future__ import annotations

from te_sched import te
from tests.topi.running import floats, integers

X, CUBE = floats(4, 6), floats(2, 3, 4)


TIES = integers(5, 7, low=0, high=4)


IMAGES = floats(2, 4, 6, 6)


T, I = te.placeholder((4, 6), name="T"), te.placeholder((4, 6), "int32", name="I")  # noqa: E741
