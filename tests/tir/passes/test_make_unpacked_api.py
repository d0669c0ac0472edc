"""Functions with pointers as parameters."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.errors import LoweringError
from te_sched.ir.stmt import IRModule
from te_sched.script import from_source
from te_sched.tir import transform

CALLS = """
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), n: T.int32):
        T.func_attr({"target": T.target("llvm", host="llvm")})
        M.clear(T.tvm_stack_make_array(A.data, T.tvm_stack_make_shape(8), 0, 1, T.float32(0), 0))
        A[n] = T.float32(1)

    @T.prim_func
    def clear(A: T.Buffer((8,), "float32")):
        T.func_attr({"target": T.target("llvm", host="llvm")})
        A[0] = T.float32(0)
"""
MAIN = """
def main(A: T.handle("float32", "global"), n: T.int32) -> T.int32:
    T.func_attr({"target": T.target({"keys": ["cpu"], "kind": "llvm", "tag": ""})})
    T.attr("default", "device_id", 0)
    T.attr("default", "device_type", 1)
    Module.clear(A)
    A_1 = T.Buffer((8,), data=A)
    A_1[n] = T.float32(1)
    return 0
"""


def unpacked(text: str) -> IRModule:
    found: IRModule = transform.MakeUnpackedAPI()(from_source(text))
    return found


@pytest.mark.not_read_back("it calls a function that the module lacks")
def test_buffers_and_arrays_are_pointers() -> None:
    module = unpacked(CALLS)
    text = str(IRModule({"main": module["main"]}))
    assert [line.strip() for line in text.splitlines()][-8:] == [
        line.strip() for line in MAIN.strip().splitlines()
    ]
    assert isinstance(module["clear"].params[0], tir.Var)
    assert not module["clear"].buffer_map


def test_private_functions_and_those_without_a_host_stay() -> None:
    private = from_source(CALLS.replace("@T.prim_func\n", "@T.prim_func(private=True)\n"))
    assert transform.MakeUnpackedAPI()(private) is private
    without = from_source(CALLS.replace(', host="llvm"', ""))
    assert transform.MakeUnpackedAPI()(without) is without


def test_functions_without_buffers_need_no_device() -> None:
    func = """
@T.prim_func
def f(n: T.int32):
    T.func_attr({"target": T.target("llvm", host="llvm")})
    T.evaluate(n)
"""
    module = transform.MakeUnpackedAPI()(IRModule({"f": from_source(func)}))
    assert isinstance(module["f"].body, tir.SeqStmt)


def test_rejects_shapes_that_are_not_passed() -> None:
    text = """
@T.prim_func
def main(a: T.handle):
    T.func_attr({"target": T.target("llvm", host="llvm")})
    m = T.int32()
    A = T.match_buffer(a, (m,))
    A[0] = T.float32(m)
"""
    module = IRModule({"main": from_source(text)})
    with pytest.raises(LoweringError, match="buffer A of main as a pointer: the caller does not"):
        transform.MakeUnpackedAPI()(module)


def test_results() -> None:
    clear = unpacked(CALLS)["clear"]
    a = np.full(8, 5, "float32")
    te_sched.build(clear)(a)
    np.testing.assert_array_equal(a, [0, *[5] * 7])
