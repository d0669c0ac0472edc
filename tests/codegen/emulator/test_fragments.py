"""Fragments on the emulated device: memory for each warp, loops over rows."""

from __future__ import annotations

import re
from typing import Any

import pytest

from te_sched.codegen.emulator.fragments import Fragments, is_fragment, is_of_warp
from te_sched.errors import AccessError, BuildError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from tests.codegen.cuda.kernels import address, allocate, array, call
from tests.codegen.emulator.kernels import WORDS, run, written


@pytest.mark.parametrize("what", ["number", "place", "stride"])
def test_fragments(what: str) -> None:
    def body(ib: Any, A: Any, I: Any, B: Any, tx: Any) -> None:  # noqa: E741
        c = ib.allocate("float32", (256,), "c", scope="wmma.accumulator").asobject().data
        number, start, stride = (
            I[0] if what == one else usual
            for one, usual in (("number", 0), ("place", 0), ("stride", 16))
        )
        ib.emit(WORDS("handle", "tir.tvm_fill_fragment", c, 16, 16, 16, number, 1.0))
        there = WORDS("handle", "tir.address_of", B[start]), stride, "row_major"
        ib.emit(WORDS("handle", "tir.tvm_store_matrix_sync", c, 16, 16, 16, 0, *there))

    module = written(body)
    if what != "stride":
        assert (run(module, 0) == 1).all()
    with pytest.raises(AccessError, match=r"write [cB] at"):
        run(module, 17)


SIZES = (16, 8, 32)
MEMORY, OTHER = array("A", 2048, "float16"), array("B", 2048, "float16")
USES = [("a", "matrix_a", 512), ("b", "matrix_b", 256), ("c", "accumulator", 128)]
A, B, C = (
    array(name, 2 * size, "float32" if name == "c" else "float16", f"wmma.{use}")
    for name, use, size in USES
)
CALLS = {
    "tvm_fill_fragment": (C.data, *SIZES, 1, E.FloatImm(2.0)),
    "tvm_load_matrix_sync": (A.data, *SIZES, 1, address(MEMORY), 64, "col_major"),
    "tvm_store_matrix_sync": (B.data, *SIZES, 0, address(OTHER), 64, "row_major"),
    "tvm_mma_sync": (C.data, 1, A.data, 0, B.data, 0, C.data, 0),
}
EXPANDED = {  # of warp w, which has two fragments of each matrix
    "tvm_fill_fragment": (16, "c[w * 256 + 128 + row * 8:+8] = T.Broadcast(T.float32(2), 8)"),
    "tvm_load_matrix_sync": (
        16,
        'a[w * 1024 + 512 + row * 32:+32] = T.Cast("float32x32", A[row:+2048:64])',
    ),
    "tvm_store_matrix_sync": (
        32,
        'B[row * 64:+8] = T.Cast("float16x8", b[w * 512 + row * 8:+8])',
    ),
    "tvm_mma_sync": (
        16,
        "c[w * 256 + 128 + row * 8:+8] = c[w * 256 + row * 8:+8]"
        + "".join(
            f" + T.Broadcast(a[w * 1024 + {f'(row * 32 + {k})' if k else 'row * 32'}], 8)"
            f" * b[w * 512{f' + {8 * k}' if k else ''}:+8]"
            for k in range(32)
        ),
    ),
}


def kernel_body() -> S.SeqStmt:
    calls = (call("handle", name, *args) for name, args in CALLS.items())
    return S.SeqStmt(tuple(S.Evaluate(one) for one in calls))


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_loops_over_rows(name: str) -> None:
    body = kernel_body()
    fragments = Fragments("f", body, E.Var("w"))
    for one, size in ((A, 1024), (B, 512), (C, 256)):
        allocation = fragments.room(allocate(one, body), E.IntImm(3))
        assert (allocation.dtype, allocation.extents[0].value) == ("float32", 3 * size)
    loop = fragments.expand(body.seq[list(CALLS).index(name)])
    assert isinstance(loop, S.For)
    text = str(loop.body).split("\n")[-1]
    text = re.sub(r"\[([^\[:]+):\1 \+ (\d+)", r"[\1:+\2", text)  # [x:x + 8] as [x:+8]
    assert (loop.extent.value, text) == EXPANDED[name]


def test_statements_of_warps_do_nothing_else() -> None:
    body, i = kernel_body(), E.Var("i")
    store = S.BufferStore(MEMORY, E.FloatImm(0.0, "float16"), (i,))
    assert is_of_warp(S.For(i, E.IntImm(0), E.IntImm(2), "serial", body))
    assert not is_of_warp(S.SeqStmt((body, store)))
    assert not is_of_warp(S.SeqStmt(()))
    assert is_fragment(A.data)
    assert not is_fragment(MEMORY.data)


def test_fragments_without_memory_are_refused() -> None:
    body = kernel_body()
    fragments = Fragments("f", body, E.Var("w"))
    with pytest.raises(BuildError, match="fragment c has no memory, or no constant m, n, k in"):
        fragments.expand(body.seq[0])
    with pytest.raises(BuildError, match="pointer p refers to unknown memory in kernel 'f'"):
        fragments.first(E.Var("p"))
