"""Arguments of packed calls on the stack, and memory of devices."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import tir
from te_sched.errors import BuildError, LoweringError
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.script import tir as T
from te_sched.tir import transform

LLVM = te_sched.target.Target("llvm")
MIXED = """
stack_tcode: T.handle("int32") = T.tvm_stack_alloca("arg_tcode", 4)
stack_tcode_1 = T.decl_buffer((T.uint64(4),), "int32", data=stack_tcode)
stack_value: T.handle = T.tvm_stack_alloca("arg_value", 4)
T.tvm_struct_set(stack_value, 0, 12, T.Cast("int64", n))
stack_tcode_1[0] = 0
T.tvm_struct_set(stack_value, 1, 12, T.Cast("float64", T.float32(2.5)))
stack_tcode_1[1] = 2
T.tvm_struct_set(stack_value, 2, 12, "text")
stack_tcode_1[2] = 11
T.call_packed_lowered("f", stack_value, stack_tcode, 0, 3)
if n > 0:
    T.tvm_struct_set(stack_value, 0, 12, p)
    if T.isnullptr(p):
        stack_tcode_1[0] = 4
    else:
        stack_tcode_1[0] = 3
    T.call_packed_lowered("g", stack_value, stack_tcode, 0, 1)
"""


def lowered(func: PrimFunc) -> PrimFunc:
    found: PrimFunc = transform.LowerTVMBuiltin()(IRModule({"main": func}))["main"]
    return found


def lines(func: PrimFunc) -> list[str]:
    return [line.strip() for line in str(func).splitlines()]


def test_arguments_are_stored_with_their_types() -> None:
    @T.prim_func
    def mixed(n: T.int32, p: T.handle):
        T.func_attr({"target": LLVM})
        T.call_packed("f", n, T.float32(2.5), "text")
        if n > 0:
            T.call_packed("g", p)

    assert lines(lowered(mixed))[5:] == [line.strip() for line in MIXED.strip().splitlines()]


def test_nested_calls_have_places_of_their_own() -> None:
    @T.prim_func
    def nested(n: T.int32):
        T.func_attr({"target": LLVM})
        T.evaluate(T.call_packed("a", T.call_packed("b", n, n), 1))

    found = lines(lowered(nested))
    inner = 'T.call_packed_lowered("b", stack_value, stack_tcode, 3, 5)'
    assert f'T.tvm_struct_set(stack_value, 0, 12, T.Cast("int64", {inner}))' in found
    assert 'T.call_packed_lowered("a", stack_value, stack_tcode, 0, 2)' in found


def test_arrays_are_described_on_the_stack_of_each_parallel_iteration() -> None:
    A = tir.decl_buffer((4, 8), "float64", name="A", strides=[tir.Var("s"), 1])
    i = tir.Var("i")
    call = tir.Evaluate(tir.call_packed("f", A))
    loop = tir.AttrStmt(
        tir.StringImm("default"), "device_id", 0, tir.For(i, 0, 2, "parallel", call)
    )
    found = lowered(tir.PrimFunc([A], loop, attrs={"target": LLVM})).body
    assert isinstance(found, tir.For)
    text = [line.strip() for line in str(found).splitlines()]
    expected = [
        'stack_array: T.handle = T.tvm_stack_alloca("array", 1)',
        'stack_shape: T.handle("int64") = T.tvm_stack_alloca("shape", 4)',
        "stack_shape_1[1] = T.int64(8)",
        "T.tvm_struct_set(stack_array, 0, 2, T.address_of(stack_shape_2[0]))",
        "T.tvm_struct_set(stack_array, 0, 6, T.uint8(64))",
        "T.tvm_struct_set(stack_array, 0, 10, 1)",
        'T.tvm_struct_set(stack_value, 0, 12, T.tvm_struct_get(stack_array, 0, 0, "handle"))',
        "stack_tcode_1[0] = 7",
    ]
    assert [line for line in expected if line not in text] == []


def test_c_packed_calls_keep_their_resources() -> None:
    @T.prim_func
    def call(n: T.int32, resource: T.handle):
        T.func_attr({"target": LLVM})
        T.call_cpacked("f", n, resource)

    end = 'T.call_cpacked_lowered("f", stack_value, stack_tcode, 0, 1, resource)'
    assert lines(lowered(call))[-1] == end


def memory(device: int, count: int) -> PrimFunc:
    @T.prim_func
    def used():
        T.func_attr({"target": LLVM})
        T.attr("dummy", "device_type", device)
        T.attr("dummy", "device_id", 3)
        A = T.allocate([count], "float32")
        A_1 = T.decl_buffer((count,), data=A)
        A_1[0] = T.float32(0)

    return used


@pytest.mark.parametrize(("device", "count"), [(2, 16), (1, 256)])
def test_memory_of_devices_and_large_memory_is_a_workspace(device: int, count: int) -> None:
    found = lines(lowered(memory(device, count)))
    workspace = f"T.TVMBackendAllocWorkspace({device}, 3, T.uint64({4 * count}), 2, 32)"
    assert found[5:] == [
        f'A_1: T.handle("float32", "global") = {workspace}',
        'T.attr(A_1, "storage_alignment", 64)',
        "if T.isnullptr(A_1):",
        "T.tvm_throw_last_error()",
        f"A_1_1 = T.decl_buffer(({count},), data=A_1)",
        "A_1_1[0] = T.float32(0)",
        f"if T.TVMBackendFreeWorkspace({device}, 3, A_1) != 0:",
        "T.tvm_throw_last_error()",
    ]


def test_small_memory_of_processors_stays() -> None:
    assert "A_1 = T.decl_buffer((255,))" in str(lowered(memory(1, 255)))


def test_functions_of_devices_stay() -> None:
    func = memory(2, 16)
    assert lowered(func.without_attr("target")).body is func.body
    assert lowered(func.with_attr("target", te_sched.target.Target("cuda"))).body is func.body


def test_lowered_calls_cannot_be_built() -> None:
    @T.prim_func
    def call(n: T.int32):
        T.func_attr({"target": LLVM})
        T.call_packed("f", n)

    with pytest.raises(BuildError, match=r"intrinsic tir\.tvm_stack_alloca is not available"):
        te_sched.build(lowered(call))


def test_rejects_memory_of_an_unknown_device() -> None:
    @T.prim_func
    def unknown():
        T.func_attr({"target": LLVM})
        with T.attr("dummy", "device_type", 2):
            A = T.allocate([16], "float32")
            T.evaluate(A)

    with pytest.raises(LoweringError, match="the number of the device is not known"):
        lowered(unknown)
    hosted = unknown.without_attr("target").with_attr("tir.is_host_func", True)
    hosted = hosted.with_body(hosted.body.body)
    with pytest.raises(LoweringError, match="the type of the device is not known"):
        lowered(hosted)
