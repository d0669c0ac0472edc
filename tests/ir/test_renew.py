"""Programs with new definitions."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.ir import structural_equal
from te_sched.ir.renew import renew_defs, renewed_body
from te_sched.ir.visitor import walk
from te_sched.script import from_source
from tests.tensorir import programs

VIEWS = """
@T.prim_func
def views(a: T.handle, B: T.Buffer((16,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (n,))
    C = T.alloc_buffer((n,))
    for i in range(n):
        with T.block("copy"):
            vi = T.axis.spatial(n, i)
            s = T.int32()
            view = T.match_buffer(A[vi:vi + 1], (1,), strides=[s], offset_factor=1)
            C[vi] = view[0] + B[vi]
"""


def definitions(func: tir.PrimFunc) -> set[object]:
    """The variables, buffers and blocks of a function."""
    found: set[object] = {*func.params, *func.buffer_map.values()}
    for node in walk(func.body):
        if isinstance(node, tir.Block):
            buffers = [*node.alloc_buffers, *[match.buffer for match in node.match_buffers]]
            found |= {node, *buffers, *[one.data for one in buffers]}
            found |= {*[axis.var for axis in node.iter_vars], *node.iter_vars}
        elif isinstance(node, tir.For):
            found.add(node.loop_var)
    return found


TEXTS = [
    text for text in vars(programs).values() if isinstance(text, str) and "@T.prim_func" in text
]


@pytest.mark.parametrize("text", [VIEWS, *TEXTS])
def test_new_definitions_have_the_same_structure(text: str) -> None:
    func = from_source(text)
    new = renew_defs(func)
    assert structural_equal(new, func)
    assert new.script() == func.script()
    assert not definitions(new) & definitions(func)


def test_free_variables_stay_in_a_statement() -> None:
    n, i = te_sched.te.var("n"), tir.Var("i")
    loop = tir.For(i, 0, n, "serial", tir.Evaluate(i + n))
    new = renewed_body(loop)
    assert new.loop_var is not i
    assert new.extent is n
    assert structural_equal(new, loop)


def test_a_renewed_program_computes_the_same() -> None:
    func = from_source(programs.MATMUL)
    arrays = [np.random.default_rng(0).random((8, 8), dtype="float32") for _ in range(3)]
    results = []
    for one in (func, renew_defs(func)):
        given = [te_sched.nd.array(array) for array in arrays]
        te_sched.build(one, target="llvm")(*given)
        results.append(given[2].numpy())
    np.testing.assert_array_equal(*results)
