"""Expressions by lanes, and branches for what must not be evaluated."""

import pytest

import te_sched
from te_sched import te
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from tests.codegen.cuda.kernels import (
    array,
    call,
    elementwise,
    kernel,
    printed,
    stored,
    text_of,
    thread,
)


def test_vector_arithmetic_is_by_lanes():
    assert printed(elementwise(lambda a: a * 2.0, ["float32"], 2)) == [
        "const float2 v = *(const float2*)(A + ((int)threadIdx.x) * 2);",
        "*(float2*)(C + ((int)threadIdx.x) * 2) = make_float2(v.x * 2.0f, v.y * 2.0f);",
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


def test_what_is_named_of_memory_wraps_around():
    tx, t, a, c = thread(), E.Var("t", "int32"), array("A", 32, "int32"), array("C", 32, "int32")
    store = S.BufferStore(c, t + 1, (tx,))
    lines = text_of(kernel(tx, [a, c], S.LetStmt(t, E.BufferLoad(a, (tx,)), store)))
    assert "(int)((unsigned int)t + (unsigned int)1)" in lines[-1]


def test_second_condition_with_lines_is_a_branch():
    """What it loads need not exist where the first one decides."""
    a = array("A", 64)

    def both(tx):
        pair = E.BufferLoad(a, (E.Ramp(tx * 2, E.IntImm(1), 2),))
        return te.all(tx < 3, E.Shuffle((pair,), (E.IntImm(1),)) > 0.0)

    assert stored(both, "bool", [a]) == [
        "bool holds;",
        "holds = ((int)threadIdx.x) < 3;",
        "if (holds) {",
        "  const float2 v = *(const float2*)(A + ((int)threadIdx.x) * 2);",
        "  holds = v.y > 0.0f;",
        "}",
        "C[((int)threadIdx.x)] = holds;",
    ]


VECTORS = {
    "make_int4(3, 5, 7, 9)": lambda n: E.Ramp(E.IntImm(3), E.IntImm(2), 4),
    "make_int4(n, n + 2, n + 4, n + 6)": lambda n: E.Ramp(n, E.IntImm(2), 4),
    "make_int4(1, 1 + n * 1, 1 + n * 2, 1 + n * 3)": lambda n: E.Ramp(E.IntImm(1), n, 4),
    "make_int4(n, n, n, n)": lambda n: E.Broadcast(n, 4),
    "make_int4(7, 3, 3, 9)": lambda n: E.Shuffle(
        (E.Ramp(E.IntImm(3), E.IntImm(2), 4),), tuple(E.IntImm(k) for k in (2, 0, 0, 3))
    ),
    "make_int4(v, v, v, v)": lambda n: E.Broadcast(te_sched.tir.Select(n < 3, n + 1, n), 4),
}


@pytest.mark.parametrize("text", VECTORS)
def test_lanes_of_vectors(text):
    tx, n, c = thread(), E.Var("n"), array("C", 128, "int32")
    store = S.BufferStore(c, VECTORS[text](n), (E.Ramp(tx * 4, E.IntImm(1), 4),))
    assert text_of(kernel(tx, [c, n], store))[-1].endswith(f" = {text};")


BROKEN = {
    "cannot choose between vectors by a vector": lambda v, n: E.Call(
        "int32x2", "tir.if_then_else", (E.Ramp(n, n, 2) < E.Broadcast(n, 2), v, v)
    ),
    "lane numbers of a Shuffle must be constants": lambda v, n: E.Shuffle((v,), (n, n)),
    "intrinsic tir.call_llvm_pure_intrin is not available": lambda v, n: call(
        "int32x2", "call_llvm_pure_intrin", n
    ),
    "cannot pass a int32x8 as an argument": lambda v, n: call(
        "int32x2", "call_pure_extern", "f", E.Broadcast(n, 8)
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_refuses(fault):
    tx, n, a = thread(), E.Var("n"), array("A", 64, "int32")
    place = (E.Ramp(tx * 2, E.IntImm(1), 2),)
    value = BROKEN[fault](E.BufferLoad(a, place), n)
    with pytest.raises(BuildError, match=fault):
        text_of(kernel(tx, [a, n], S.BufferStore(a, value, place)))
