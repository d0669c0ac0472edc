"""Loops: what they say to the optimizer, and vectors with masks that LLVM makes of them."""

from __future__ import annotations

import platform
import re
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, tir, topi
from te_sched.codegen.llvm.loops import NOT_UNROLLED, serial_loop
from te_sched.codegen.llvm.module import ModuleText
from te_sched.codegen.llvm.statements import execute
from te_sched.codegen.llvm.types import Value, integer
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.lowering.vectorize_loops import vectorize_loops
from te_sched.script import tir as T
from tests.codegen.llvm.instructions import new_function, text_of
from tests.codegen.programs import buffer, build, function, loop

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the assembly is x86-64's"
)
AVX512 = "llvm -mcpu=skylake-avx512"
N = 64


def ramp(base: object, stride: object, lanes: int) -> E.Ramp:
    return E.Ramp(ops.convert(base), ops.convert(stride), lanes)


def assembly(schedule: te_sched.te.Schedule, args: list[te.Tensor]) -> str:
    text = te_sched.build(schedule, args, AVX512).get_source("asm")
    return str(text.partition("te_sched_main:")[2].partition("func_end")[0])


def vectorized(tensor: te.Tensor, lanes: int = 16) -> te_sched.te.Schedule:
    schedule = te.create_schedule(tensor.op)
    _, inner = schedule[tensor].split(tensor.op.axis[-1], lanes)
    schedule[tensor].vectorize(inner)
    return schedule


def guarded(width: int, lanes: int = 16) -> S.PrimFunc:
    """C[i] = A[i] + 1 in vectors, the last of which has lanes beyond the end."""
    A, C = buffer("A", [width]), buffer("C", [width])

    def vector(outer: E.Var) -> S.Stmt:
        lane = E.Var("lane")
        i = ops.add(ops.mul(outer, lanes), lane)
        store = S.BufferStore(C, E.BufferLoad(A, (i,)) + 1.0, (i,))
        body = S.IfThenElse(i < width, store)
        return S.For(lane, E.IntImm(0), E.IntImm(lanes), "vectorized", body)

    return vectorize_loops(function([A, C], loop(-(-width // lanes), vector)))


@pytest.mark.parametrize("lanes", [2, 6, 16, 32])
def test_guarded_vectors_are_right(lanes: int) -> None:
    for width in (96, 97, 127):
        a, c = np.random.default_rng(2).random(width).astype("float32"), np.zeros(width, "float32")
        build(guarded(width, lanes))(a, c)
        np.testing.assert_array_equal(c, a + 1)


def test_guarded_vectors_are_masked() -> None:
    text = build(guarded(1001), AVX512).get_source("asm")
    assert re.search(r"vmovups\s+%zmm\d+, .*\{%k", text)
    assert "gather" not in text


def test_padding_in_vectors_is_masked() -> None:
    A = te.placeholder((30, 30), name="A")

    def padded(y: E.Expr, x: E.Expr) -> E.Expr:
        inside = tir.all(y >= 1, y <= 30, x >= 1, x <= 30)
        return tir.if_then_else(inside, A[y - 1, x - 1], 0.0)

    B = te.compute((32, 32), padded, name="B")
    assert re.search(r"\{%k\d\} \{z\}", assembly(vectorized(B), [A, B]))
    a, b = np.random.default_rng(3).random((30, 30)).astype("float32"), np.ones((32, 32), "float32")
    te_sched.build(vectorized(B), [A, B])(a, b)
    np.testing.assert_array_equal(b, np.pad(a, 1))


def test_guarded_vectors_of_calls_are_loops_without_a_word_of_llvm(
    capfd: pytest.CaptureFixture[str],
) -> None:
    A = te.placeholder((1000,), name="A")
    B = te.compute((1000,), lambda i: tir.call_pure_extern("float32", "cbrtf", A[i]), name="B")
    a, b = np.random.default_rng(4).random(1000).astype("float32"), np.zeros(1000, "float32")
    te_sched.build(vectorized(B), [A, B])(a, b)
    np.testing.assert_allclose(b, np.cbrt(a), 1e-6)
    assert capfd.readouterr().err == ""


def test_lanes_that_meet_are_stored_one_after_the_other() -> None:
    K, H = buffer("K", [32], "int32"), buffer("H", [4], "int32")

    def body(i: E.Var) -> S.Stmt:
        place = E.BufferLoad(K, (i,))
        add = S.BufferStore(H, E.BufferLoad(H, (place,)) + 1, (place,))
        return S.IfThenElse(place >= 0, add)

    var = E.Var("i")
    func = function([K, H], S.For(var, E.IntImm(0), E.IntImm(32), "vectorized", body(var)))
    k, h = np.random.default_rng(5).integers(-1, 4, 32, dtype="int32"), np.zeros(4, "int32")
    build(vectorize_loops(func))(k, h)
    np.testing.assert_array_equal(h, np.bincount(k[k >= 0], minlength=4))


def test_guarded_vectors_of_two_are_made_without_a_word_of_llvm(
    capfd: pytest.CaptureFixture[str],
) -> None:
    A = te.placeholder((19, 19), name="A")
    B = te.compute((19, 17), lambda i, j: A[i, j] + A[i, j + 2], name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(s[B].split(B.op.axis[1], factor=2)[1])
    a, b = (
        np.random.default_rng(4).random((19, 19)).astype("float32"),
        np.zeros((19, 17), "float32"),
    )
    te_sched.build(s, [A, B])(a, b)
    np.testing.assert_array_equal(b, a[:, :17] + a[:, 2:])
    assert capfd.readouterr().err == ""


def test_lanes_that_lie_apart_make_llvm_say_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    A = te.placeholder((64, 32), name="A")
    padded = topi.nn.pad(A, [1, 1], [1, 1])
    B = te.compute((34, 66), lambda i, j: padded[j, i], name="B")
    s = te.create_schedule(B.op)
    s[padded].compute_inline()
    outer, inner = s[B].split(B.op.axis[0], nparts=4)
    s[B].reorder(B.op.axis[1], inner, outer)
    s[B].parallel(B.op.axis[1])
    s[B].vectorize(outer)
    with te_sched.config.scoped(cache=False):
        built = te_sched.build(s, [A, B])
    assert not capfd.readouterr().err
    a, b = np.random.rand(64, 32).astype("float32"), np.zeros((34, 66), "float32")
    built(a, b)
    np.testing.assert_array_equal(b, np.pad(a.T, 1))


def test_quotients_of_loops_are_those_of_each_iteration() -> None:
    A, rows = te.placeholder((7, 33), "float64", name="A"), te.placeholder((24,), "int32", "rows")
    B = te.compute((24, 33), lambda i, j: A[rows[i], j], name="B")
    s = te.create_schedule(B.op)
    _, columns, row, _ = s[B].tile(*B.op.axis, 4, 1)
    s[B].fuse(columns, row)
    a, chosen = np.random.rand(7, 33), np.arange(24, dtype="int32") % 7
    b = np.zeros((24, 33))
    te_sched.build(s, [A, rows, B])(a, chosen, b)
    np.testing.assert_array_equal(b, a[chosen])


def test_lanes_of_parameters_that_may_overlap_make_llvm_say_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    @T.prim_func
    def increased(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (n,))
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] + 1.0

    s = tir.Schedule(increased)
    _, inner = s.split(s.get_loops("B")[0], [None, 4])
    s.vectorize(inner)
    with te_sched.config.scoped(cache=False):
        built = te_sched.build(s.mod, target="llvm")
    assert not capfd.readouterr().err
    a, b = np.arange(6, dtype="float32"), np.zeros(6, "float32")
    built(a, b)
    np.testing.assert_array_equal(b, a + 1)


def written(
    extent: Any,
    body: Any,
    kind: str = "serial",
    *,
    has_masks: bool = False,
    is_scalarized: bool = False,
) -> str:
    """The text of a loop over the arrays A and C, and of its metadata."""
    out = new_function(ModuleText(has_masks=lambda: has_masks))
    for source in (A, C):
        out.environment[source.data] = Value(f"%{source.name}", "handle")
    var = E.Var("i")
    node = S.For(var, E.IntImm(0), E.IntImm(extent), kind, body(var), is_scalarized=is_scalarized)
    serial_loop(out, node, integer(0, "int32"), integer(extent, "int32"), execute)
    return out.module.render(b"") + "\n" + text_of(out)


A, C = buffer("A", [64]), buffer("C", [64])


def copied(i: E.Var) -> S.Stmt:
    return S.BufferStore(C, E.BufferLoad(A, (i,)), (i,))


@pytest.mark.parametrize(
    ("extent", "kind", "words"),
    [
        *[(9, "serial", []), (9, "unrolled", ["llvm.loop.unroll.full"])],
        *[(257, "unrolled", ["llvm.loop.unroll.enable"]), (9, "vectorized", ["vectorize.enable"])],
    ],
)
def test_loops_say_how_they_are_optimized(extent: int, kind: str, words: list[str]) -> None:
    text = written(extent, copied, kind)
    assert "llvm.loop.mustprogress" in text
    hints = [word for word in ("unroll.full", "unroll.enable", "vectorize.enable") if word in text]
    assert hints == [word.removeprefix("llvm.loop.") for word in words]
    assert f"icmp slt i32 %head.1.i, {extent}" in text


def scattered(i: E.Var) -> S.Stmt:
    return S.BufferStore(C, E.BufferLoad(A, (i * 2,)), (i,))


def neighbors(i: E.Var) -> S.Stmt:
    return S.BufferStore(C, E.BufferLoad(C, (i + 1,)), (i,))


def same_element(i: E.Var) -> S.Stmt:
    return S.BufferStore(C, E.BufferLoad(A, (i,)), (E.IntImm(0),))


def twice(i: E.Var) -> S.Stmt:
    return S.SeqStmt((copied(i), copied(i)))


def calling(name: str) -> Any:
    def body(i: E.Var) -> S.Stmt:
        value = E.Call("float32", name, (E.BufferLoad(A, (i,)),))
        return S.IfThenElse(i < 5, S.BufferStore(C, value, (i,)))

    return body


@pytest.mark.parametrize(
    ("body", "lanes", "width"),
    [
        *[(copied, 8, 8), (copied, 64, 16), (copied, 12, None), (copied, 1, None)],
        *[(scattered, 8, None), (neighbors, 8, None), (same_element, 8, None), (twice, 8, None)],
        *[(calling("tir.exp"), 8, 8), (calling("tir.sqrt"), 8, 8), (calling("tir.acosh"), 8, None)],
    ],
)
def test_scalarized_loops_that_have_vectors_with_masks(
    body: Any, lanes: int, width: int | None
) -> None:
    text = written(lanes, body, has_masks=True, is_scalarized=True)
    assert f'!"llvm.loop.vectorize.width", i32 {width}' in text or width is None
    assert ("vectorize.width" in text) == (width is not None)
    assert "vectorize.width" not in written(lanes, body, has_masks=False, is_scalarized=True)
    assert "vectorize.width" not in written(lanes, body, has_masks=True)


@pytest.mark.parametrize("annotations", [{}, {NOT_UNROLLED: 1}])
def test_annotated_loops_are_not_unrolled_by_llvm(annotations: dict[str, int]) -> None:
    A, C = buffer("A", [4]), buffer("C", [1])
    i = E.Var("i")
    step = S.BufferStore(C, E.BufferLoad(C, (E.IntImm(0),)) + E.BufferLoad(A, (i,)), (E.IntImm(0),))
    func = function([A, C], S.For(i, E.IntImm(0), E.IntImm(4), "serial", step, None, annotations))
    built = build(func, AVX512)
    assert ("llvm.loop.unroll.disable" in built.get_source("ll")) == bool(annotations)
    text = built.get_source("asm")
    assert len(re.findall("vaddss", text)) == (1 if annotations else 4)
