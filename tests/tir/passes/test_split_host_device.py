"""Parts of functions for a device become functions, which the host launches."""

from __future__ import annotations

import pytest

from te_sched import IRModule, te, tir
from te_sched.errors import BuildError, DeclarationError
from te_sched.ir.blocks import DeclBuffer
from te_sched.ir.stmt import AssertStmt, AttrStmt, LetStmt, PrimFunc
from te_sched.script import tir as T
from te_sched.target import Target
from te_sched.tir import transform
from te_sched.tir.passes.split_host_device import lower_kernel_launches, split_host_device

CUDA = Target("cuda", host="llvm")


def scaled() -> PrimFunc:
    """A function of an argument, a symbolic size and a loop around the launch."""

    @T.prim_func
    def func(a: T.handle, factor: T.float32) -> None:
        n = T.int32(is_size_var=True)
        A = T.match_buffer(a, (n, 8), "float32")
        for k in range(3):
            tx = T.launch_thread("threadIdx.x", 8)
            A[k, tx] = A[k, tx] * factor

    return func.with_attr("target", CUDA)


def split(func: PrimFunc) -> IRModule:
    """The function and its kernels."""
    annotated = transform.AnnotateDeviceRegions()(IRModule({"func": func}))
    return transform.SplitHostDevice()(annotated)


def test_kernel_has_sorted_parameters_of_its_own() -> None:
    kernel = split(scaled())["func_kernel"]
    assert [param.name for param in kernel.params] == ["A", "factor", "k", "n"]
    assert str(kernel.attrs["target"]) == "cuda"
    assert "global_symbol" not in kernel.attrs
    assert type(kernel.body) is DeclBuffer
    assert kernel.body.buffer.data is kernel.params[0]


def test_regions_of_processors_return_an_error_code() -> None:
    n = te.var("n")
    body = AttrStmt(Target("llvm"), "target", tir.IntImm("int32", 0), tir.Evaluate(n))
    func = PrimFunc((n,), body, {}, {"target": CUDA})
    module = transform.SplitHostDevice()(IRModule({"main": func}))
    host = module["main"].body
    assert type(host) is LetStmt
    assert type(host.body) is AssertStmt
    assert module["main_kernel"].ret_type == "int32"


def test_names_that_are_taken_are_not_used() -> None:
    kernels = split_host_device(
        {
            "func": transform.AnnotateDeviceRegions()(IRModule({"func": scaled()}))["func"],
            "func_kernel": PrimFunc((), tir.Evaluate(0), {}),
        },
        lambda target: False,
    )
    assert list(kernels) == ["func", "func_kernel", "func_kernel_1"]


def test_functions_without_a_target_are_kept() -> None:
    module = IRModule({"f": PrimFunc((), tir.Evaluate(0), {})})
    assert transform.SplitHostDevice()(module) is module
    with pytest.raises(DeclarationError, match=r"function main has no target"):
        transform.AnnotateDeviceRegions()(module)


def test_launch_passes_extents_of_axes_and_memory() -> None:
    @T.prim_func(private=True)
    def kernel(data: T.handle("int32"), n: T.int32) -> None:
        T.func_attr({"target": T.target("cuda")})
        A = T.decl_buffer((n * 8,), "int32", data=data)
        blocks: T.int32 = n + 1
        bx = T.launch_thread("blockIdx.x", blocks)
        S = T.allocate([16], "int32", "shared.dyn")
        tx = T.launch_thread("threadIdx.x", 8)
        S_1 = T.Buffer((16,), "int32", data=S, scope="shared.dyn")
        S_1[tx] = 0
        A[bx * 8 + tx] = S_1[tx]

    m = te.var("m")
    data = tir.decl_buffer((m,), "int32", name="A").data
    call = tir.Call("void", "tir.call_function", [tir.StringImm("kernel"), data, m])
    main = PrimFunc((data, m), tir.Evaluate(call), {}, {"target": Target("llvm")})
    module = transform.LowerDeviceKernelLaunch()(IRModule({"main": main, "kernel": kernel}))
    assert 'T.call_packed("kernel", A, m, m + 1, 8, 64)' in str(module["main"])
    launched = module["kernel"].attrs
    assert (launched["calling_conv"], launched["global_symbol"]) == (2, "kernel")
    assert launched["tir.kernel_launch_params"] == [
        *("blockIdx.x", "threadIdx.x", "tir.use_dyn_shared_memory")
    ]


def test_other_processors_are_called_by_name() -> None:
    call = tir.Call("int32", "tir.call_function", [tir.StringImm("other")])
    main = PrimFunc((), tir.Evaluate(call), {}, {"target": Target("llvm")})
    other = PrimFunc((), tir.Evaluate(0), {}, {"target": Target("llvm -mcpu=skylake")})
    module = transform.LowerDeviceKernelLaunch()(IRModule({"main": main, "other": other}))
    assert 'T.call_extern("int32", "other")' in str(module["main"])
    assert module["other"].attrs["global_symbol"] == "other"


def test_calls_on_the_same_device_are_kept() -> None:
    module = split(scaled())
    assert transform.LowerDeviceKernelLaunch()(module) is module


def test_targets_may_be_texts() -> None:
    body = AttrStmt(tir.StringImm("cuda"), "target", tir.IntImm("int32", 0), tir.Evaluate(1))
    func = PrimFunc((), body, {}, {"target": "llvm"})
    module = transform.SplitHostDevice()(IRModule({"main": func}))
    assert module["main_kernel"].attrs["target"] == "cuda"


def test_extents_that_the_host_cannot_compute_are_refused() -> None:
    A = tir.decl_buffer((8,), "int32", name="A")
    i = tir.Var("i")
    axis = te.thread_axis("threadIdx.x")
    launch = AttrStmt(axis, "thread_extent", i + 1, tir.BufferStore(A, 0, [axis.var]))
    kernel = PrimFunc((A.data,), tir.For(i, 0, 4, "serial", launch), {}, {"target": "cuda"})
    call = tir.Call("void", "tir.call_function", [tir.StringImm("kernel"), A.data])
    main = PrimFunc((A.data,), tir.Evaluate(call), {}, {"target": "llvm"})
    with pytest.raises(BuildError, match=r"cannot launch kernel 'kernel': its extents depend on i"):
        lower_kernel_launches({"main": main, "kernel": kernel}, lambda target: target == "llvm")
