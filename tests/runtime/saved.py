"""Modules that are saved, and what must be true of them."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched.ir import ops
from te_sched.runtime import csource
from te_sched.runtime.module import Module
from tests.codegen.programs import build, elementwise

N = 100


needs_compiler = pytest.mark.skipif(csource.find_compiler() is None, reason="no C compiler")


KINDS = [".o", pytest.param(".so", marks=needs_compiler)]


def make(kind: str = "parallel") -> Module:
    return build(elementwise(lambda x: ops.add(x, 1.0), ["float32"], N, kind))


def check(module: Module) -> None:
    a, b = np.arange(N, dtype="float32"), np.zeros(N, "float32")
    module(a, b)
    np.testing.assert_array_equal(b, a + 1)
