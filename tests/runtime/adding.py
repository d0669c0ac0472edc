"""A program that adds a number."""

from __future__ import annotations

from te_sched.ir import ops
from te_sched.runtime.module import Module
from tests.codegen.programs import build, elementwise

N = 64


def adder(value: float, name: str = "main") -> Module:
    return build(elementwise(lambda x: ops.add(x, value), ["float32"], N), name=name)
