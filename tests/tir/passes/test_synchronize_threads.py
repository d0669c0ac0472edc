"""Barriers in functions whose launches may be anywhere, as TVM's ThreadSync inserts them."""

from __future__ import annotations

import te_sched
from te_sched.script import tir as T
from te_sched.tir.transform import ThreadSync


@T.prim_func
def rows(A: T.Buffer((64,), "int32")) -> None:
    """A launch of threads inside of a loop."""
    j = T.launch_thread("blockIdx.x", 8)
    B = T.decl_buffer((8,), "int32", scope="shared")
    for k in range(4):
        i = T.launch_thread("threadIdx.x", 8)
        B[i] = A[i + j * 8 + k]
        A[i + j * 8] = A[i + j * 8] + B[7 - i]


def test_functions_with_launches_anywhere_get_barriers() -> None:
    module = ThreadSync("shared")(te_sched.IRModule({"rows": rows}))
    lines = [line.strip() for line in str(module).splitlines()]
    start = lines.index('i = T.launch_thread("threadIdx.x", 8)')
    sync = 'T.tvm_storage_sync("shared")'
    assert [line == sync for line in lines[start + 1 :]] == [True, False, True, False]


def test_other_scopes_get_no_barriers() -> None:
    module = te_sched.IRModule({"rows": rows})
    for scope in ("shared.dyn", "warp", "global"):
        assert ThreadSync(scope)(module)["rows"] is rows


def test_dynamic_shared_memory_may_overlap() -> None:
    @T.prim_func
    def func(A: T.Buffer((8,), "int32")) -> None:
        i = T.launch_thread("threadIdx.x", 8)
        B = T.decl_buffer((8,), "int32", scope="shared.dyn")
        C = T.decl_buffer((8,), "int32", scope="shared.dyn")
        B[i] = A[i]
        A[i] = B[i]
        C[i] = A[i]
        A[i] = C[i]

    module = ThreadSync("shared.dyn")(te_sched.IRModule({"func": func}))
    assert str(module).count('T.tvm_storage_sync("shared.dyn")') == 1
