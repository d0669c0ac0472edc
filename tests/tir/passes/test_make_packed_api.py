"""Functions with the parameters of packed functions."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import tir
from te_sched.errors import BuildError, DeclarationError, LoweringError
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.script import tir as T
from te_sched.tir import transform

HOSTED = te_sched.target.Target("llvm", host="llvm")
NUMBER = """
assert num_args == 1, "next_of: num_args should be 1"
assert not T.isnullptr(args), "next_of: TVMValue* arg pointer was NULL"
assert not T.isnullptr(arg_type_ids), "next_of: int* type_codes was NULL"
arg_type_ids_1 = T.decl_buffer((1,), "int32", data=arg_type_ids)
n_code: T.int32 = arg_type_ids_1[0]
assert n_code == 0 or n_code == 15, "next_of: Expect arg[0] to be int"
n: T.int32 = T.Cast("int32", T.tvm_struct_get(args, 0, 12, "int64"))
with T.attr(0, "compute_scope", "next_of_compute_"):
    out_ret_value_1 = T.Buffer((1,), "int64", data=out_ret_value, strides=(1,))
    out_ret_value_1[0] = T.Cast("int64", n + 1)
    out_ret_tcode_1 = T.Buffer((1,), "int32", data=out_ret_tcode, strides=(1,))
    out_ret_tcode_1[0] = 0
    return 0
return 0
"""


@T.prim_func
def next_of(n: T.int32) -> T.int32:
    T.func_attr({"target": HOSTED})
    return n + 1


def packed(*functions: PrimFunc) -> IRModule:
    module = IRModule({str(func.attrs["global_symbol"]): func for func in functions})
    return transform.MakePackedAPI()(module)


def lines(func: PrimFunc) -> list[str]:
    return [line.strip() for line in str(func).splitlines()]


def test_numbers_are_unpacked_and_returned() -> None:
    func = packed(next_of)["next_of"]
    assert (func.ret_type, func.attrs["calling_conv"]) == ("int32", 1)
    assert func.attrs["target"].host is None
    assert lines(func)[5:] == [line.strip() for line in NUMBER.strip().splitlines()]


def test_buffers_are_bound_and_checked() -> None:
    @T.prim_func
    def copy(a: T.handle, b: T.handle):
        n, stride, offset = T.int32(), T.int32(), T.int32()
        T.func_attr({"target": HOSTED})
        A = T.match_buffer(a, (n, 4), strides=(stride, 1), elem_offset=offset, offset_factor=4)
        B = T.match_buffer(b, (n,))
        for i in range(n):
            B[i] = A[i, 3]

    found = lines(packed(copy)["copy"])
    given = "T.if_then_else(T.isnullptr(copy_a_strides), "
    expected = [
        'n: T.int32 = T.Cast("int32", copy_a_shape_1[0])',
        f'A_s0: T.int32 = {given}T.Cast("int32", copy_a_shape_1[1]), '
        'T.Cast("int32", copy_a_strides_1[0]))',
        'offset: T.int32 = T.Cast("int32", T.Div(T.tvm_struct_get(a, 0, 8, "uint64"), '
        "T.uint64(4)))",
        'dev_id: T.int32 = T.tvm_struct_get(a, 0, 9, "int32")',
        'T.attr("default", "device_type", 1)',
        'assert 1 == T.Cast("int32", copy_b_strides_1[0]), '
        '"copy.b.strides: expected to be compact array"',
        'assert n == 0 or not T.isnullptr(B), "copy.b is expected to have non-NULL data pointer"',
        "A_1 = T.decl_buffer((n, 4), data=A, strides=(A_s0, 1), elem_offset=offset, "
        "offset_factor=4)",
    ]
    assert [line for line in expected if line not in found] == []
    constraint = "Argument copy.b.shape[0] has an unsatisfied constraint: n == "
    assert any(constraint in line for line in found)


def test_dimensions_that_broadcast_have_stride_0() -> None:
    @T.prim_func
    def first(a: T.handle, n: T.int32):
        T.func_attr({"target": HOSTED})
        A = T.match_buffer(a, (n,), "int8", buffer_type="auto")
        T.evaluate(A[0])

    strides = "T.if_then_else(T.isnullptr(first_a_strides), 1, T.Cast("
    text = str(packed(first)["first"])
    assert f"T.if_then_else(n == 1, 0, {strides}" in text


def test_the_device_of_kernels_is_set() -> None:
    @T.prim_func
    def clear(A: T.Buffer((4,), "float32")):
        T.func_attr({"target": T.target("cuda", host="llvm")})
        i = T.launch_thread("threadIdx.x", 4)
        A[i] = T.float32(0)

    found = packed(clear)["clear"]
    assert 'T.call_packed("__tvm_set_device", 2, dev_id)' in lines(found)
    assert found.attrs["target"].kind == "llvm"


def test_calls_of_packed_functions_are_packed() -> None:
    @T.prim_func
    def caller(n: T.int32):
        T.func_attr({"target": HOSTED})
        T.evaluate(tir.Call("int32", "tir.call_function", (tir.StringImm("next_of"), n)))

    text = str(packed(next_of, caller)["caller"])
    assert 'T.call_cpacked("next_of", n, T.reinterpret("handle", T.uint64(0)))' in text


def test_resources_are_the_last_parameter() -> None:
    context = tir.Var("device_api_context", "handle")
    body = tir.Evaluate(tir.call_extern("int32", "f", context))
    attrs = {"target": HOSTED, "global_symbol": "f"}
    func = packed(tir.PrimFunc([context], body, attrs=attrs))["f"]
    assert "assert num_args == 0" in str(func)
    assert 'T.call_extern("int32", "f", resource_handle)' in str(func)


def test_functions_without_a_host_or_callers_stay() -> None:
    module = IRModule(
        {
            "private": next_of.without_attr("global_symbol"),
            "device": next_of.with_attr("target", te_sched.target.Target("llvm")),
        }
    )
    assert transform.MakePackedAPI()(module) is module


def test_packed_functions_cannot_be_built() -> None:
    with pytest.raises(BuildError, match=r"intrinsic tir\.tvm_struct_get is not available"):
        te_sched.build(packed(next_of))


def test_rejects_functions_without_a_target() -> None:
    with pytest.raises(DeclarationError, match="function next_of has no target"):
        packed(next_of.without_attr("target"))


def test_rejects_returned_pointers() -> None:
    @T.prim_func
    def same(a: T.handle) -> T.handle:
        T.func_attr({"target": HOSTED})
        return a

    with pytest.raises(LoweringError, match="cannot return a value of dtype handle from packed"):
        packed(same)
