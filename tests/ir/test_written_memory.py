"""The memory that kernels may write: by stores, and through the pointers that calls are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.written_memory import memory_written_by, written_memory
from tests.codegen.checker import kernels as k


def call(op: str, *args: Any) -> E.Expr:
    return E.Call("handle", f"tir.{op}", args)


def access(data: E.Var, mode: int) -> E.Expr:
    kind = E.Call("float32", "tir.type_annotation", ())
    return call("tvm_access_ptr", kind, data, E.IntImm(0), E.IntImm(1), E.IntImm(mode))


CALLS: dict[str, tuple[Callable[..., E.Expr], str]] = {
    "no call": (lambda A, K: E.IntImm(0), ""),
    "prefetch": (lambda A, K: call("prefetch", call("address_of", A[K[0]])), ""),
    "atomic": (lambda A, K: call("atomic_add", call("address_of", A[K[0]]), E.FloatImm(1.0)), "A"),
    "read": (lambda A, K: call("call_extern", access(A.asobject().data, 1)), ""),
    "written": (lambda A, K: call("call_extern", access(A.asobject().data, 2)), "A"),
    "pointer": (lambda A, K: call("call_extern", A.asobject().data, K[0]), "A"),
    "offset": (lambda A, K: call("call_extern", call("offset", A.asobject().data, K[0])), "A"),
}


@pytest.mark.parametrize("name", CALLS)
def test_memory_that_kernels_write(name: str) -> None:
    make, written = CALLS[name]

    def build(ib: Any, A: Any, K: Any, C: Any, tx: Any) -> None:
        C[tx] = A[K[tx]]
        ib.emit(make(A, K))

    arrays = [k.array("A", 32), k.array("K", 32, "int32"), k.array("C", 32)]
    module = k.program(build, arrays, tx=32)
    for memory in (
        written_memory(module["main_kernel"].body),
        memory_written_by(module["main"], module),
    ):
        assert {var.name for var in memory} == {"C", *written}


def test_host_writes_what_it_stores_itself() -> None:
    module = k.program(
        lambda ib, A, C, tx: ib.emit(E.IntImm(0)), [k.array("A", 1), k.array("C", 1)], tx=1
    )
    host, buffer = module["main"], k.array("C", 1)
    store = S.BufferStore(buffer, E.FloatImm(1.0), (E.IntImm(0),))
    host = host.with_body(S.SeqStmt((store, host.body)))
    assert memory_written_by(host, module) == (buffer.data,)


def test_another_name_of_memory_may_be_written() -> None:
    data, other = (E.Var(name, "handle", E.PointerType("float32")) for name in ("A", "other"))
    body = S.LetStmt(other, data, S.Evaluate(E.IntImm(0)))
    assert written_memory(body) == {data}
