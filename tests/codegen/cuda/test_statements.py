"""Loops, branches, memory and asserts."""

import pytest

from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from tests.codegen.cuda.kernels import allocate, array, call, kernel, text_of, thread


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


def test_refuses_memory_of_unknown_scope():
    tx, warp = thread(), array("w", 32, scope="warp")
    with pytest.raises(BuildError, match="array w of a kernel has scope 'warp'"):
        text_of(kernel(tx, [], allocate(warp, S.BufferStore(warp, E.FloatImm(0.0), (tx,)))))


def test_loops_of_constant_bounds_and_conditions_are_folded():
    tx, c, n = thread(), array("C", 32), E.Var("n")
    store, i, j = S.BufferStore(c, E.FloatImm(0.0), (tx,)), E.Var("i"), E.Var("j")
    parts = (
        S.For(i, E.IntImm(0), E.IntImm(0), "serial", store),  # never executed
        S.IfThenElse(E.IntImm(0, "bool"), store, S.For(j, n, n * 2, "serial", store)),
        S.AssertStmt(n > 3, E.StringImm("n is small"), store),
    )
    assert text_of(kernel(tx, [c, n], S.SeqStmt(parts))) == [
        "for (int j = n; j < n + n * 2; ++j) {",
        "  C[((int)threadIdx.x)] = 0.0f;",
        "}",
        "if (!(n > 3)) __trap();",
        "C[((int)threadIdx.x)] = 0.0f;",
    ]


def test_condition_with_lines_is_computed_in_each_iteration():
    tx, c = thread(), array("C", 64)
    pair = E.BufferLoad(c, (E.Ramp(tx * 2, E.IntImm(1), 2),))
    condition = E.Shuffle((pair,), (E.IntImm(0),)) > 0.0
    body = S.BufferStore(c, E.FloatImm(0.0), (tx,))
    assert text_of(kernel(tx, [c], S.While(condition, body))) == [
        "while (true) {",
        "  const float2 v = *(float2*)(C + ((int)threadIdx.x) * 2);",
        "  if (!(v.x > 0.0f)) break;",
        "  C[((int)threadIdx.x)] = 0.0f;",
        "}",
    ]


def test_condition_is_known_in_its_branch():
    tx, c, n = thread(), array("C", 32, "int32"), E.Var("n")
    stores = [S.BufferStore(c, n // 3, (tx,)) for _ in range(2)]
    assert text_of(kernel(tx, [c, n], S.IfThenElse(n >= 0, *stores))) == [
        "if (n >= 0) {",
        "  C[((int)threadIdx.x)] = n / 3;",
        "} else {",
        "  C[((int)threadIdx.x)] = te_floordiv_positive(n, 3);",
        "}",
    ]


def test_refuses_sizes_that_are_not_constant():
    tx, n = thread(), E.Var("n")
    shared = E.Var("s", "handle", E.PointerType("float32", "shared"))
    body = S.Allocate(shared, "float32", (n,), E.IntImm(1, "bool"), S.Evaluate(E.IntImm(0)))
    with pytest.raises(BuildError, match="size of array s of scope 'shared' is not a constant"):
        text_of(kernel(tx, [n], body))


def test_refuses_threads_inside_of_a_kernel():
    tx, c, i = thread(), array("C", 32), E.Var("i")
    store = S.BufferStore(c, E.FloatImm(0.0), (i,))
    loop = S.For(i, E.IntImm(0), E.IntImm(4), "thread_binding", store)
    with pytest.raises(BuildError, match="thread axis i is bound inside of a kernel"):
        text_of(kernel(tx, [c], loop))
