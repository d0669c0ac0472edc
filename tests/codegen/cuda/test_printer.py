"""The text of small kernels, to the letter."""

import pytest

from te_sched import te
from te_sched.codegen.cuda import print_kernels
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from tests.codegen.cuda.kernels import (
    allocate,
    array,
    body_of,
    call,
    elementwise,
    kernel,
    text_of,
    thread,
)


def printed(kernels):
    return body_of(print_kernels(kernels))


def stored(value, dtype="float32", params=()):
    """C[tx] = value(tx)"""
    tx, c = thread(), array("C", 32, dtype)
    return text_of(kernel(tx, [c, *params], S.BufferStore(c, value(tx), (tx,))))


def test_whole_source():
    assert print_kernels(elementwise(lambda a, b: a + b, ["float32"] * 2)) == (
        'extern "C" __global__ void __launch_bounds__(64) main_kernel(\n'
        "    const float* __restrict__ A,\n"
        "    const float* __restrict__ B,\n"
        "    float* __restrict__ C) {\n"
        "  C[((int)threadIdx.x)] = A[((int)threadIdx.x)] + B[((int)threadIdx.x)];\n"
        "}\n"
    )


def test_vector_copy_is_one_access():
    assert printed(elementwise(lambda a: a, ["float32"], 4)) == [
        "*(float4*)(C + ((int)threadIdx.x) * 4) = *(const float4*)(A + ((int)threadIdx.x) * 4);"
    ]


def test_vector_arithmetic_is_by_lanes():
    assert printed(elementwise(lambda a: a * 2.0, ["float32"], 2)) == [
        "const float2 v = *(const float2*)(A + ((int)threadIdx.x) * 2);",
        "*(float2*)(C + ((int)threadIdx.x) * 2) = make_float2(v.x * 2.0f, v.y * 2.0f);",
    ]


def test_eight_halves_are_one_access():
    assert printed(elementwise(lambda a: a, ["float16"], 8)) == [
        "*(uint4*)(C + ((int)threadIdx.x) * 8) = *(const uint4*)(A + ((int)threadIdx.x) * 8);"
    ]


def test_access_wider_than_16_bytes_is_cut():
    assert printed(elementwise(lambda a: a, ["float64"], 4)) == [
        "const int i = ((int)threadIdx.x) * 4;",
        "const int i_1 = ((int)threadIdx.x) * 4;",
        "*(double2*)(C + i) = *(const double2*)(A + i_1);",
        "*(double2*)(C + (i + 2)) = *(const double2*)(A + (i_1 + 2));",
    ]


def test_misaligned_vector_is_read_in_parts():
    tx, a, c = thread(), array("A", 64), array("C", 64)
    one = E.IntImm(1)
    load = E.BufferLoad(a, (E.Ramp(tx * 2 + 1, one, 2),))
    lines = text_of(kernel(tx, [a, c], S.BufferStore(c, load, (E.Ramp(tx * 2, one, 2),))))
    assert lines == [
        "const int i = ((int)threadIdx.x) * 2 + 1;",
        "*(float2*)(C + ((int)threadIdx.x) * 2) = make_float2(A[i], A[i + 1]);",
    ]


def test_strided_store_in_place_reads_all_lanes_first():
    tx, a = thread(), array("A", 64)
    load = E.BufferLoad(a, (E.Ramp(E.IntImm(0), E.IntImm(3), 2),))
    lines = text_of(kernel(tx, [a], S.BufferStore(a, load, (E.Ramp(tx, E.IntImm(2), 2),))))
    assert lines == [
        "const float v = A[0];",
        "const float v_1 = A[3];",
        "A[((int)threadIdx.x)] = v;",
        "A[((int)threadIdx.x) + 2] = v_1;",
    ]


def test_guarded_vector_load_is_a_branch():
    tx, a, c = thread(), array("A", 64), array("C", 64)
    index = E.Ramp(tx * 2, E.IntImm(1), 2)
    zero = E.Broadcast(E.FloatImm(0.0), 2)
    value = E.Call("float32x2", "tir.if_then_else", (tx < 3, E.BufferLoad(a, (index,)), zero))
    assert text_of(kernel(tx, [a, c], S.BufferStore(c, value, (index,)))) == [
        "float2 chosen;",
        "if (((int)threadIdx.x) < 3) {",
        "  const float2 v = *(const float2*)(A + ((int)threadIdx.x) * 2);",
        "  chosen = v;",
        "} else {",
        "  chosen = make_float2(0.0f, 0.0f);",
        "}",
        "*(float2*)(C + ((int)threadIdx.x) * 2) = chosen;",
    ]


def test_scalar_choice_is_an_expression():
    a = array("A", 32)
    lines = stored(
        lambda tx: te.if_then_else(tx < 3, E.BufferLoad(a, (tx,)), ops.const(0.5, "float32")),
        params=[a],
    )
    assert lines == [
        "C[((int)threadIdx.x)] = ((int)threadIdx.x) < 3 ? A[((int)threadIdx.x)] : 0.5f;"
    ]


DIVISIONS = {
    "nonnegative": (lambda n, tx: tx // 3, "((int)threadIdx.x) / 3"),
    "power of two": (lambda n, tx: n // 4, "n >> 2"),
    "remainder of a power of two": (lambda n, tx: n % 4, "n & 3"),
    "any sign": (lambda n, tx: n // 3, "te_floordiv_positive(n, 3)"),
    "any divisor": (lambda n, tx: E.FloorMod(tx, n), "te_floormod(((int)threadIdx.x), n)"),
    "towards zero": (lambda n, tx: te.truncdiv(n, 3), "n / 3"),
}


@pytest.mark.parametrize("name", DIVISIONS)
def test_division(name):
    compute, expected = DIVISIONS[name]
    n = E.Var("n")
    lines = stored(lambda tx: compute(n, tx), "int32", [n])
    assert lines == [f"C[((int)threadIdx.x)] = {expected};"]


CONSTANTS = {
    "0.1f": (0.1, "float32"),
    "1e+20f": (1e20, "float32"),
    "__int_as_float(0xff800000)": (-float("inf"), "float32"),
    "-3.4028235e+38f": (-3.4028234663852886e38, "float32"),
    "0.1": (0.1, "float64"),
    "half(0.5f)": (0.5, "float16"),
    "(-2147483647 - 1)": (-(1 << 31), "int32"),
    "5ll": (5, "int64"),
    "4294967295u": ((1 << 32) - 1, "uint32"),
    "-7": (-7, "int8"),
}


@pytest.mark.parametrize("text", CONSTANTS)
def test_constant(text):
    value, dtype = CONSTANTS[text]
    kind = E.FloatImm if "float" in dtype else E.IntImm
    assert stored(lambda _: kind(value, dtype), dtype) == [f"C[((int)threadIdx.x)] = {text};"]


def test_narrow_integers_wrap():
    assert printed(elementwise(lambda a, b: a * b, ["int8"] * 2)) == [
        "C[((int)threadIdx.x)] = (signed char)(A[((int)threadIdx.x)] * B[((int)threadIdx.x)]);"
    ]


def test_function_of_halves_is_computed_in_float():
    text = print_kernels(elementwise(te.exp, ["float16"]))
    assert text.startswith("#include <cuda_fp16.h>\n")
    assert "C[((int)threadIdx.x)] = (half)expf((float)A[((int)threadIdx.x)]);" in text


def test_extremum_of_floats_defines_its_helper():
    text = print_kernels(elementwise(lambda a: te.max(a, 0.0), ["float32"]))
    assert "te_max(A[((int)threadIdx.x)], 0.0f)" in text
    assert text.count("T te_max(T a, T b)") == 1


def test_shared_memory_and_barrier():
    tx, shared, c = thread(), array("A.shared", 32, scope="shared"), array("C", 32)
    steps = (
        S.BufferStore(shared, E.FloatImm(1.0), (tx,)),
        S.Evaluate(call("handle", "tvm_storage_sync", "shared")),
        S.BufferStore(c, E.BufferLoad(shared, (31 - tx,)), (tx,)),
    )
    assert text_of(kernel(tx, [c], allocate(shared, S.SeqStmt(steps)))) == [
        "__shared__ __align__(16) float A_shared[32];",
        "A_shared[((int)threadIdx.x)] = 1.0f;",
        "__syncthreads();",
        "C[((int)threadIdx.x)] = A_shared[31 - ((int)threadIdx.x)];",
    ]


def test_dynamic_shared_memory_is_one_array():
    tx, c = thread(), array("C", 32)
    a, b = (array(name, 40, scope="shared.dyn") for name in ("a", "b"))
    store = S.BufferStore(c, E.BufferLoad(a, (tx,)) + E.BufferLoad(b, (tx,)), (tx,))
    assert text_of(kernel(tx, [c], allocate(a, allocate(b, store)))) == [
        "extern __shared__ __align__(128) unsigned char dynamic_shared[];",
        "float* a = (float*)dynamic_shared;",
        "float* b = (float*)(dynamic_shared + 256);",
        "C[((int)threadIdx.x)] = a[((int)threadIdx.x)] + b[((int)threadIdx.x)];",
    ]


def test_loops_reuse_names_and_unroll():
    tx, c = thread(), array("C", 32)
    loops = [
        S.For(i, E.IntImm(0), E.IntImm(4), kind, S.BufferStore(c, E.FloatImm(0.0), (i,)))
        for kind, i in (("serial", E.Var("i")), ("unrolled", E.Var("i")))
    ]
    assert text_of(kernel(tx, [c], S.SeqStmt(tuple(loops)))) == [
        "for (int i = 0; i < 4; ++i) {",
        "  C[i] = 0.0f;",
        "}",
        "#pragma unroll",
        "for (int i = 0; i < 4; ++i) {",
        "  C[i] = 0.0f;",
        "}",
    ]


def test_names_are_identifiers_of_their_own():
    tx, c = thread(), array("float", 32)
    other = array("a.b", 32)
    text = print_kernels(
        {"f": kernel(tx, [c, other], S.BufferStore(c, E.BufferLoad(other, (tx,)), (tx,)))}
    )
    assert text.splitlines()[1:3] == [
        "    float* __restrict__ float_1,",
        "    const float* __restrict__ a_b) {",
    ]


def test_shuffle_and_atomic():
    tx, a, c = thread(), array("A", 32), array("C", 1)
    mask = call("uint32", "tvm_warp_activemask")
    down = call("float32", "tvm_warp_shuffle_down", mask, E.BufferLoad(a, (tx,)), 16, 32, 32)
    place = E.Call("handle", "tir.address_of", (E.BufferLoad(c, (E.IntImm(0),)),))
    body = S.Evaluate(call("float32", "atomic_add", place, down))
    assert text_of(kernel(tx, [a, c], body)) == [
        "atomicAdd(C, __shfl_down_sync(__activemask(), A[((int)threadIdx.x)], 16, 32));"
    ]


def test_imported_source_stands_before_the_kernels():
    tx, c = thread(), array("C", 32)
    value = call("float32", "call_pure_extern", "twice", E.FloatImm(2.0))
    source = "__device__ float twice(float x) { return x + x; }"
    body = S.AttrStmt(
        E.StringImm(""), "pragma_import_c", E.StringImm(source), S.BufferStore(c, value, (tx,))
    )
    text = print_kernels({"f": kernel(tx, [c], body)})
    assert text.startswith(source)
    assert "C[((int)threadIdx.x)] = twice(2.0f);" in text


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


def test_refuses_memory_of_unknown_scope():
    tx, warp = thread(), array("w", 32, scope="warp")
    with pytest.raises(BuildError, match="array w of a kernel has scope 'warp'"):
        text_of(kernel(tx, [], allocate(warp, S.BufferStore(warp, E.FloatImm(0.0), (tx,)))))


def test_refuses_kernel_names_that_c_does_not_allow():
    tx, c = thread(), array("C", 32)
    body = S.BufferStore(c, E.FloatImm(0.0), (tx,))
    with pytest.raises(BuildError, match="kernel name 'a-b'"):
        print_kernels({"a-b": kernel(tx, [c], body)})


def test_integers_from_memory_wrap_around():
    (line,) = printed(elementwise(lambda a: a + 1, ["int32"]))
    assert "(int)((unsigned int)A[" in line


def test_what_is_named_of_memory_wraps_around():
    tx, t, a, c = thread(), E.Var("t", "int32"), array("A", 32, "int32"), array("C", 32, "int32")
    store = S.BufferStore(c, t + 1, (tx,))
    lines = text_of(kernel(tx, [a, c], S.LetStmt(t, E.BufferLoad(a, (tx,)), store)))
    assert "(int)((unsigned int)t + (unsigned int)1)" in lines[-1]


def test_shift_by_a_number_from_memory_asks_for_its_range():
    lines = printed(elementwise(lambda a, b: a << b, ["int32"] * 2))
    assert "te_shift_left(A[" in lines[-1]
    assert "te_shift" not in printed(elementwise(lambda a: a << 3, ["int32"]))[-1]


def test_refuses_kernel_names_that_nvrtc_would_crash_of():
    tx, c = thread(), array("C", 32)
    body = S.BufferStore(c, E.FloatImm(0.0), (tx,))
    with pytest.raises(BuildError, match="kernel name 'xxx"):
        print_kernels({"x" * 100_000: kernel(tx, [c], body)})
