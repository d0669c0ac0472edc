"""Functions with parameters replaced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import DeclarationError
from te_sched.ir import structural_equal
from te_sched.script import from_source

PRODUCT = """
@T.prim_func
def product(a: T.handle, b: T.handle, n: T.int32):
    m = T.int32()
    A = T.match_buffer(a, (m, n))
    B = T.match_buffer(b, (m,))
    for i, j in T.grid(m, n):
        with T.block("sum"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vj]
"""


def test_values_and_buffers_replace_symbols() -> None:
    func = from_source(PRODUCT)
    a, _, n = func.params
    whole = func.specialize({a: tir.decl_buffer((4, 8))})
    assert "for i, j in T.grid(4, 8):" in whole.script()
    assert len(whole.params) == 2
    assert "A = T.match_buffer(a, (m, 8))" in func.specialize({n: 8}).script()
    assert "A: T.Buffer((4, 8), " in func.specialize({a: tir.decl_buffer((4, n)), n: 8}).script()
    assert func.specialize({}) is func
    assert func.script() == from_source(PRODUCT).script()


def test_a_specialized_function_computes_the_same() -> None:
    func = from_source(PRODUCT)
    special = func.specialize({func.params[0]: tir.decl_buffer((4, 8))})
    data = np.random.default_rng(0).random((4, 8), dtype="float32")
    out = te_sched.nd.array(np.zeros(4, "float32"))
    te_sched.build(special, target="llvm")(te_sched.nd.array(data), out)
    np.testing.assert_allclose(out.numpy(), data.sum(axis=1), rtol=1e-5)


def test_constants_are_folded() -> None:
    func = from_source(
        "@T.prim_func\ndef f(n: T.int32, m: T.int32):\n    T.evaluate((n + 1) * 42 // m + n % 4)\n"
    )
    n, m = func.params
    assert func.specialize({n: 7, m: 2}).body.value.value == 171
    assert structural_equal(func.specialize({n: m}).body.value, (m + 1) * 42 // m + m % 4)


def test_a_pointer_may_become_an_expression() -> None:
    func = from_source(
        "@T.prim_func\ndef f(p: T.handle('float32'), q: T.handle('float32')):\n"
        "    A = T.decl_buffer((4,), data=p)\n    A[0] = T.float32(1)\n"
    )
    other = tir.decl_buffer((8,), name="other", data=func.params[1])
    special = func.specialize({func.params[0]: tir.address_of(other[4])})
    assert "= T.address_of(other[4])" in special.script()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda f: [1], r"specialize\(\) got \[1\], expected a dictionary"),
        (lambda f: {te.var("x"): 1}, r"x is not a parameter of product"),
        (
            lambda f: {f.buffer_map[f.params[0]].shape[0]: 3},
            r"func\.specialize\(\{func\.params\[0\]: tir\.decl_buffer\(\(16, ",
        ),
        (
            lambda f: {f.params[2]: tir.decl_buffer((2,))},
            r"a Buffer cannot be used in an expression",
        ),
        (lambda f: {f.params[0]: 3}, r"the buffer given for A does not fit"),
        (lambda f: {f.params[0]: tir.decl_buffer((2,))}, r"the buffer given for A does not fit"),
        (
            lambda f: {f.params[0]: tir.decl_buffer((2, 2), strides=[2, 1])},
            r"the buffer given for A does not fit",
        ),
        (
            lambda f: {f.params[0]: tir.decl_buffer((2, 2), scope="shared")},
            r"the buffer given for A does not fit\n.*\n.*its scope is shared",
        ),
        (
            lambda f: {f.params[0]: tir.decl_buffer((2, 2)), f.params[1]: tir.decl_buffer((3,))},
            r"the buffer given for B does not fit",
        ),
    ],
)
def test_what_does_not_fit_is_refused(given: Any, message: str) -> None:
    func = from_source(PRODUCT)
    with pytest.raises(DeclarationError, match=message):
        func.specialize(given(func))
