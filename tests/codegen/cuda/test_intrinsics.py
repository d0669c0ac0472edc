"""Intrinsics as CUDA writes them, and those that it does not have."""

import pytest

import te_sched
from te_sched import te
from te_sched.codegen.cuda import print_kernels
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from tests.codegen.cuda.kernels import (
    address,
    array,
    call,
    elementwise,
    kernel,
    stored,
    text_of,
    thread,
)


def test_function_of_halves_is_computed_in_float():
    text = print_kernels(elementwise(te.exp, ["float16"]))
    assert text.startswith("#include <cuda_fp16.h>\n")
    assert "C[((int)threadIdx.x)] = (half)expf((float)A[((int)threadIdx.x)]);" in text


def test_shuffle_and_atomic():
    tx, a, c = thread(), array("A", 32), array("C", 1)
    mask = call("uint32", "tvm_warp_activemask")
    down = call("float32", "tvm_warp_shuffle_down", mask, E.BufferLoad(a, (tx,)), 16, 32, 32)
    place = E.Call("handle", "tir.address_of", (E.BufferLoad(c, (E.IntImm(0),)),))
    body = S.Evaluate(call("float32", "atomic_add", place, down))
    assert text_of(kernel(tx, [a, c], body)) == [
        "atomicAdd(C, __shfl_down_sync(__activemask(), A[((int)threadIdx.x)], 16, 32));"
    ]


BROKEN = {
    "intrinsic tir.tvm_thread_allreduce": lambda: call("handle", "tvm_thread_allreduce"),
    "intrinsic tir.tvm_call_packed": lambda: call("int32", "tvm_call_packed", "f"),
    "a barrier of scope 'global'": lambda: call("handle", "tvm_storage_sync", "global"),
    "variable loose has no value": lambda: call("int32", "call_extern", "f", E.Var("loose")),
}


@pytest.mark.parametrize("what", BROKEN)
def test_refuses(what):
    with pytest.raises(BuildError, match=what) as caught:
        text_of(kernel(thread(), [], S.Evaluate(BROKEN[what]())))
    assert caught.value.why
    assert caught.value.help
    assert caught.value.where.startswith("kernel 'f'")


n, small, wide = E.Var("n"), E.Var("small", "int8"), E.Var("wide", "uint64")
x, half = E.Var("x", "float32"), E.Var("h", "float16")
TEXTS = {
    "1.0f / (1.0f + expf(-x))": te.sigmoid(x),
    "(half)(1.0f / (1.0f + expf(-((float)h))))": te.sigmoid(half),
    "rintf(x)": te.round(x),  # CUDA's round takes halves away from zero
    "(signed char)abs(small)": call("int8", "abs", small),
    "(signed char)__popc((unsigned char)small)": te.popcount(small),
    "__clz((unsigned char)small) - 24": te.clz(small),
    "__clzll(wide)": te.clz(wide),
    "(signed char)~small": ~small,
    "isnan((float)h)": te.isnan(half),
    "false": te.isnan(n),
    "__float_as_int(x)": call("int32", "reinterpret", x),
    "(unsigned int)n": call("uint32", "reinterpret", n),
    "8589934593ull": call("uint64", "large_uint_imm", 1, 2),
    "(signed char)__shfl_up_sync(1, small, n, 16)": call(
        "int8", "tvm_warp_shuffle_up", 1, small, n, 16, 32
    ),
    "ldexpf(x, n)": te_sched.tir.ldexp(x, n),
    "fmodf(x, 2.0f)": te.fmod(x, ops.const(2.0, "float32")),
}


@pytest.mark.parametrize("text", TEXTS)
def test_text(text):
    value = TEXTS[text]
    line = stored(lambda _: value, value.dtype, [n, small, wide, x, half])[-1]
    assert line == f"C[((int)threadIdx.x)] = {text};"


ATOMICS = {
    ("add", "int64"): "(long long)atomicAdd((unsigned long long*)C, (unsigned long long)1ll)",
    ("max", "float32"): "te_atomic_max(C, 1.0f)",
    ("min", "uint32"): "atomicMin(C, 1u)",
    ("exch", "float32"): "atomicExch(C, 1.0f)",
}


@pytest.mark.parametrize(("name", "dtype"), ATOMICS)
def test_atomic(name, dtype):
    c = array("C", 1, dtype)
    update = call(dtype, f"atomic_{name}", address(c), ops.const(1, dtype))
    assert text_of(kernel(thread(), [c], S.Evaluate(update))) == [f"{ATOMICS[name, dtype]};"]


@pytest.mark.parametrize(("name", "dtype"), [("max", "float64"), ("cas", "float32")])
def test_atomic_of_another_type_is_refused(name, dtype):
    c = array("C", 1, dtype)
    update = call(dtype, f"atomic_{name}", address(c), ops.const(1, dtype))
    with pytest.raises(BuildError, match=f"atomic {name} does not support {dtype}") as caught:
        text_of(kernel(thread(), [c], S.Evaluate(update)))
    assert "int32" in caught.value.why


@pytest.mark.parametrize("width", [0, 5, 64])
def test_shuffle_of_groups_that_do_not_exist_is_refused(width):
    """The hardware computes something else, without an error."""
    value = call("float32", "tvm_warp_shuffle", 1, ops.const(1.0, "float32"), 0, width, 32)
    fault = rf"shuffle width must be 1, 2, 4, 8, 16 or 32, got {width}\n"
    with pytest.raises(BuildError, match=fault):
        stored(lambda _: value)
