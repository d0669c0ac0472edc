"""Schedules for the tests of views."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from te_sched import te, tir
from tests.tensorir.programs import MATMUL, program


def product(size=64):
    """C = A B."""
    A = te.placeholder((size, 32), name="A")
    B = te.placeholder((32, size), name="B")
    k = te.reduce_axis((0, 32), name="k")
    C = te.compute((size, size), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_schedule(C.op), A, B, C


def tiled():
    """The product in tiles, with a cache."""
    s, A, B, C = product()
    local = s.cache_write(C, "local")
    io, jo, _, ji = s[C].tile(*C.op.axis, 8, 16)
    s[local].compute_at(s[C], jo)
    s[C].vectorize(ji)
    s[C].parallel(io)
    return s, A, B, C


def chain(count, attached=False):
    """A chain of stages."""
    A = te.placeholder((16,), name="A")
    values = [A]
    for number in range(count):
        last = values[-1]
        values.append(te.compute((16,), lambda i, last=last: last[i] + 1.0, name=f"X{number}"))
    s = te.create_schedule(values[-1].op)
    if attached:
        for one, other in pairwise(values[1:]):
            s[one].compute_at(s[other], other.op.axis[0])
    return s


def broken():
    """A schedule that cannot be lowered: B is attached to a loop that does not read it."""
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((8,), lambda i: B[i] * 2.0, name="C")
    D = te.compute((8,), lambda i: B[i] + C[i], name="D")
    s = te.create_schedule(D.op)
    s[B].compute_at(s[C], C.op.axis[0])
    return s


def scheduled() -> Any:
    """A product in local memory, with its initialization apart."""
    sch = tir.Schedule(program(MATMUL))
    i, _, k = sch.get_loops("C")
    outer, _ = sch.split(i, [None, 4])
    sch.parallel(outer)
    sch.cache_read("C", 0, "local")
    sch.decompose_reduction("C", k)
    return sch
