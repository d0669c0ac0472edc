"""Functions for lines of hostile calls that return objects of each kind of te_sched.

Each call returns a new object, except if it is slow to build.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import te_sched
from te_sched import nd, te, tir


def vector(dtype: str = "float32") -> Any:
    """An input of one dimension."""
    return te.placeholder((8,), dtype, name="V")


def matrix(dtype: str = "float32") -> Any:
    """An input of two dimensions."""
    return te.placeholder((8, 8), dtype, name="M")


def image(dtype: str = "float32") -> Any:
    """An input of four dimensions."""
    return te.placeholder((1, 4, 8, 8), dtype, name="D")


def placed(*shape: Any, dtype: str = "float32") -> Any:
    """An input of any shape."""
    return te.placeholder(shape, dtype, name="P")


def computed() -> Any:
    """A tensor of two dimensions, computed from another one."""
    A = matrix()
    return te.compute((8, 8), lambda i, j: A[i, j] + 1, name="C")


def summed() -> Any:
    """A reduction."""
    A, k = matrix(), te.reduce_axis((0, 8), name="k")
    return te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="R")


class Scheduled:
    """A schedule of two stages, and its parts."""

    def __init__(self) -> None:
        self.A = te.placeholder((8, 8), name="A")
        self.B = te.compute((8, 8), lambda i, j: self.A[i, j] + 1, name="B")
        self.k = te.reduce_axis((0, 8), name="k")
        self.C = te.compute((8,), lambda i: te.sum(self.B[i, self.k], axis=self.k), name="C")
        self.s = te.create_schedule(self.C.op)
        self.i, self.j = self.B.op.axis
        self.stage = self.s[self.B]


def schedule() -> Any:
    """A schedule."""
    return Scheduled().s


@functools.cache
def built() -> Any:
    """A module that adds 1 to eight numbers."""
    A = vector()
    B = te.compute((8,), lambda i: A[i] + 1, name="B")
    return te_sched.build(te.create_schedule(B.op), [A, B], name="main")


def program() -> Any:
    """A module of one function."""
    A = vector()
    B = te.compute((8,), lambda i: A[i] + 1, name="B")
    return te_sched.lower(te.create_schedule(B.op), [A, B])


def ones(*shape: int, dtype: str = "float32") -> Any:
    """An array."""
    return nd.array(np.ones(shape or (8,), dtype))


def statement() -> Any:
    """A statement."""
    return program()["main"].body


def adder() -> Any:
    """A tensor intrinsic."""
    a = te.placeholder((8,), name="a")
    c = te.compute((8,), lambda i: a[i] + 1, name="c")
    ab, cb = (tir.decl_buffer((8,), "float32", name, offset_factor=1) for name in "ac")
    body = lambda ins, outs: tir.call_packed("f", ins[0], outs[0])  # noqa: E731
    return te.decl_tensor_intrin(c.op, body, binds={a: ab, c: cb})


def deep(depth: int) -> Any:
    """A sum of terms, nested to a depth."""
    n = te.var("n")
    total: Any = n
    for _ in range(depth):
        total = total + n * n
    return total


def nested(depth: int) -> list[Any]:
    """A nested list."""
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


def endless() -> list[Any]:
    """A list that contains itself."""
    inner: list[Any] = []
    inner.append(inner)
    return inner


class Unshown:
    """An object whose repr raises."""

    def __repr__(self) -> str:
        raise ValueError("no text")
