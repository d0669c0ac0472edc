"""What lanes tell each other of their registers, and what they take."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched.codegen.emulator.matrix_registers import exchange_registers, is_of_registers
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.visitor import walk
from tests.codegen.checker import kernels as k
from tests.codegen.cuda.kernels import call
from tests.codegen.cuda.layouts import CASES, Case, mma, sizes

TX = E.Var("tx")
LANES = np.arange(32)
THREADS = LANES + 32  # of the second warp


def registers(name: str, dtype: str, scope: str = "local") -> E.Var:
    return E.Var(name, "handle", E.PointerType(dtype, scope))


def exchange(node: E.Call) -> tuple[list[E.Buffer], list[S.BufferStore], list[S.BufferStore]]:
    """The arrays between lanes, what is stored there, and then in the registers."""
    arrays: list[E.Buffer] = []

    def new(dtype: str, each: int) -> E.Buffer:
        arrays.append(k.array(f"lanes{len(arrays)}", 32 * each, dtype))
        return arrays[-1]

    told, taken = exchange_registers(node, TX, new)
    stores = [
        [one for one in walk(part) if isinstance(one, S.BufferStore)] for part in (told, taken)
    ]
    return arrays, *stores


def at(index: E.Expr) -> list[int]:
    """An index, for each lane of the second warp."""
    found = k.evaluate(index, {TX: THREADS.astype(np.int32).reshape(1, 1, 32, 1)})
    return np.broadcast_to(found, (1, 1, 32, 1)).reshape(-1).tolist()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.shape}-{'-'.join(case.types)}")
def test_products(case: Case) -> None:
    """Each lane stores its elements where the manual has them, and reads its rows and columns."""
    m, n, depth = sizes(case.shape)
    memories = [registers(name, dtype) for name, dtype in zip("abc", case.dtypes, strict=True)]
    (left, right), told, taken = exchange(mma(case, *memories))
    g, t = LANES // 4, LANES % 4
    for array, place, columns in ((left, case.a, depth), (right, case.b, n)):
        stores = [store for store in told if store.buffer is array]
        start = array.shape[0].value  # what the first warp has
        assert len(stores) == start // 32
        for i, store in enumerate(stores):
            row, column = place(g, t, i)
            assert at(store.indices[0]) == (start + row * columns + column).tolist()
    assert len(taken) == m * n // 32
    for i, store in enumerate(taken):
        row, column = case.c(g, t, i)
        loads = [one for one in walk(store.value) if isinstance(one, E.BufferLoad)]
        starts = (m * depth + row * depth, depth * n + column)
        for array, start, step in zip((left, right), starts, (1, n), strict=True):
            indices = [at(one.indices[0]) for one in loads if one.buffer is array]
            expected = [(start + step * inner).tolist() for inner in range(depth)]
            assert sorted(indices) == sorted(expected)


def test_sums_of_integers_are_limited_where_the_call_says_so() -> None:
    case = next(case for case in CASES if case.dtypes[0] == "int8")
    memories = [registers(name, dtype) for name, dtype in zip("abc", case.dtypes, strict=True)]
    node = mma(case, *memories)
    for flag in (0, 1):
        limited = E.Call(node.dtype, node.op, (*node.args[:12], E.IntImm(flag, "bool")))
        _, _, taken = exchange(limited)
        assert ("T.max" in str(taken[0])) is bool(flag)
        assert ("2147483647" in str(taken[0])) is bool(flag)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [0, 1])
def test_loads(count: int, transposed: int) -> None:
    """Lanes tell addresses of rows; each takes two elements of a row of each matrix."""
    shared = registers("s", "float16", "shared")
    node = call(
        "", "ptx_ldmatrix", transposed, count, ".b16", registers("a", "float16"), 0, shared, TX * 8
    )
    (addresses,), (told,), taken = exchange(node)
    assert at(told.indices[0]) == THREADS.tolist()
    assert at(told.value) == (THREADS * 8).tolist()
    assert [store.indices[0].value for store in taken] == list(range(2 * count))
    for number, store in enumerate(taken):
        (lane,) = (one for one in walk(store.value) if getattr(one, "buffer", None) is addresses)
        along, across = LANES % 4 * 2 + number % 2, LANES // 4
        row = along if transposed else across
        assert at(lane.indices[0]) == (32 + row + 8 * (number // 2)).tolist()


def test_memory_that_is_not_known_is_refused() -> None:
    pointer = E.Call("handle", "tir.call_extern", (E.StringImm("f"),))
    node = call("", "ptx_ldmatrix", 0, 1, ".b16", registers("a", "float16"), 0, pointer, 0)
    assert is_of_registers(node)
    assert not is_of_registers(pointer)
    with pytest.raises(BuildError, match="ptx_ldmatrix loads from unknown memory"):
        exchange(node)
