"""TVM before a pass, our pass, TVM after it: vectors, memory, copies of loops, common terms,
simplification.

Over the corpus (of its random programs a sample; all of them in `make campaign`), names included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

tvm = pytest.importorskip("tvm")

from te_sched.ir import expr as E  # noqa: E402
from te_sched.ir import stmt as S  # noqa: E402
from te_sched.ir.stmt import PrimFunc  # noqa: E402
from te_sched.ir.structural import structural_difference  # noqa: E402
from te_sched.ir.verify import verify  # noqa: E402
from te_sched.ir.visitor import walk  # noqa: E402
from te_sched.lowering.eliminate_common_subexpressions import (  # noqa: E402
    eliminate_common_subexpressions,
)
from te_sched.lowering.renormalize_split_patterns import renormalize_split_patterns  # noqa: E402
from te_sched.lowering.rewrite_storage import rewrite_storage  # noqa: E402
from te_sched.lowering.rewrite_unsafe_select import rewrite_unsafe_select  # noqa: E402
from te_sched.lowering.simplify import simplify  # noqa: E402
from te_sched.lowering.unroll_loops import unroll_loops  # noqa: E402
from te_sched.lowering.vectorize_loops import vectorize_loops  # noqa: E402
from tests.golden.corpus import Program  # noqa: E402
from tests.peer.bridge import Bridge, corpus_passes, passes_of  # noqa: E402
from tests.sampling import programs_for_peers  # noqa: E402

OURS: dict[str, Callable[[PrimFunc], PrimFunc]] = {
    "tir.VectorizeLoop": vectorize_loops,
    "tir.StorageRewrite": rewrite_storage,
    "tir.UnrollLoop": unroll_loops,
    "tir.RenormalizeSplitPattern": renormalize_split_patterns,
    "tir.RewriteUnsafeSelect": rewrite_unsafe_select,
    "tir.CommonSubexprElimTIR": eliminate_common_subexpressions,
}

# The levels at which TVM's programs are after some of its passes.
LEVELS = {
    "tir.StorageFlatten": "flat",
    "tir.VectorizeLoop": "vector",
    "tir.CommonSubexprElimTIR": "final",
}


def names(func: PrimFunc) -> list[str]:
    """The names of what lets bind and of the buffers that are touched."""
    return [
        node.var.name if isinstance(node, S.LetStmt | E.Let) else node.buffer.name
        for node in walk(func.body)
        if isinstance(node, S.LetStmt | E.Let | S.BufferStore | E.BufferLoad)
    ]


@pytest.mark.parametrize("program", programs_for_peers(), ids=lambda program: program.name)
def test_passes_are_tvms_on_the_corpus(program: Program) -> None:
    for recorded in corpus_passes(program):
        level = "buffers"
        for name, before, after in passes_of(recorded):
            level = LEVELS.get(name, level)
            verify(after, level)
            if name == "tir.Simplify":
                assert structural_difference(simplify(before), after) is None
            if name not in OURS:
                continue
            ours = OURS[name](before)
            assert structural_difference(ours, after) is None, name
            assert names(ours) == names(after), name
            if structural_difference(before, after) is None:
                assert ours is before, f"{name} copies a program that it does not change"


def script(body: str) -> Any:
    """A TVM module of one function over a: int32[1000] and n, m."""
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    return tvm.IRModule(
        {
            "main": tvm.script.from_source(
                "@T.prim_func(check_well_formed=False)\n"
                "def main(A: T.handle, n: T.int32, m: T.int32):\n"
                "    T.func_attr({'tir.noalias': True})\n"
                '    a = T.match_buffer(A, (1000,), "int32")\n' + lines
            )
        }
    )


def assert_is_tvms(name: str, peer: Any, body: str) -> None:
    module, bridge = script(body), Bridge()
    ours = OURS[name](bridge.convert(module["main"]))
    assert structural_difference(ours, bridge.convert(peer(module)["main"])) is None


VECTOR_STATEMENTS = (
    "a[i] = i + i",
    "a[i * 2 + 1] = i - i",
    "a[i * n] = (i + n) * (i + m)",
    "a[i * (-2) + 7] = n - i",
    "a[7] = i",
    "a[m] = n",
    "a[0] = a[0] + i",
    "a[i] = a[a[i]] + a[3]",
    "a[i] = T.max(i, 3) // 2 % n",
    "a[i] = T.if_then_else(n < 3, i, 5)",
    "a[i] = T.if_then_else(i < 3, i, 5)",
    "a[i] = T.Select(n < 3, i, 5)",
    'a[i] = T.Cast("int32", T.exp(T.Cast("float32", i)))',
    'a[i] = T.Cast("int32", T.rsqrt(T.Cast("float32", i)))',
    'T.evaluate(T.call_extern("int32", "f", i))',
    "a[i * 4 : i * 4 + 4] = T.Broadcast(i, 4)",
    "a[i * 4 : i * 4 + 4] = a[i * 4 + 16 : i * 4 + 20]",
    "if i < 3:\n        a[i] = n\n    else:\n        a[i] = m",
    "for j in range(i + 1):\n        a[i * 2 + j] = i + j",
    "x: T.int32 = i * 2\n    y: T.int32 = n * 2\n    a[i] = x + y",
    'b = T.allocate([n], "int32", "global")\n'
    '    B = T.Buffer((n,), "int32", data=b)\n    B[3] = i\n    a[i] = B[3] + n',
)


@pytest.mark.parametrize("statement", VECTOR_STATEMENTS)
def test_vectors_are_tvms(statement: str) -> None:
    body = f"for i in T.vectorized(4):\n    {statement}"
    assert_is_tvms("tir.VectorizeLoop", tvm.tir.transform.VectorizeLoop(True), body)


UNROLLED = (
    "for i in T.unroll(2, 5):\n    for j in T.unroll(2):\n        a[i * 3 + j] = i * 2 + n",
    "for i in T.unroll(2):\n"
    '    b = T.allocate([10], "int32", "global")\n'
    '    B = T.Buffer((10,), "int32", data=b)\n    B[i] = 1\n    a[i] = B[i]',
)
UNDER_PRAGMAS = (
    "for i in T.parallel(3):\n    a[i] = 1",
    "for i in range(16):\n    a[i] = 1",
    "for i in range(17):\n    a[i] = 1",
    "for i in range(9):\n    a[i] = 1\n    a[i + 1] = 1",
    "for i in range(3):\n    for j in T.unroll(30):\n        a[i] = j",
    "for i in range(4):\n    for j in range(8):\n        a[i] = j",
    "for i in range(16):\n    if i < 3:\n        a[i] = 1\n    else:\n        a[i] = 4",
    "for i in range(n):\n    for j in range(2):\n        a[i] = j",
)


@pytest.mark.parametrize("body", UNROLLED)
def test_unrolled_loops_are_tvms(body: str) -> None:
    assert_is_tvms("tir.UnrollLoop", tvm.tir.transform.UnrollLoop(), body)


@pytest.mark.parametrize("body", UNDER_PRAGMAS)
@pytest.mark.parametrize("explicit", [0, 1])
def test_loops_under_unroll_pragmas_are_tvms(body: str, explicit: int) -> None:
    inner = "\n".join("        " + line for line in body.splitlines())
    pragmas = (
        'with T.attr(0, "pragma_auto_unroll_max_step", 16):\n'
        f'    with T.attr(0, "pragma_unroll_explicit", {explicit}):\n{inner}'
    )
    assert_is_tvms("tir.UnrollLoop", tvm.tir.transform.UnrollLoop(), pragmas)


SELECTS = (
    "T.Select(n < 3, a[n], 0)",
    "T.Select(n < 3, n // m, n % m)",
    "T.Select(a[n] < 3, n, m)",
    'T.Select(n < 3, T.call_extern("int32", "f"), 0)',
    'T.Select(n < 3, T.call_pure_extern("int32", "f"), 0)',
    "T.Select(n < 3, T.if_then_else(m < 2, a[n], 3), 0)",
    "T.Select(n < 3, T.if_then_else(m < a[2], n, 3), 0)",
    "T.Select(n < 3, T.Select(m < 2, a[n], 0), 0)",
    "T.Select(T.Select(n < 3, a[3], 0) < 3, n + m, T.max(n, m))",
)


@pytest.mark.parametrize("select", SELECTS)
def test_selects_are_tvms(select: str) -> None:
    peer = tvm.tir.transform.RewriteUnsafeSelect()
    assert_is_tvms("tir.RewriteUnsafeSelect", peer, f"a[0] = {select}")
