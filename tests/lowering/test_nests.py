"""The loops of one stage: levels, values of axes, guards round a statement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import LoweringError
from te_sched.ir.expr import BufferLoad, Call, IntImm, ProducerLoad
from te_sched.ir.stmt import AttrStmt, For, IfThenElse, Stmt
from te_sched.lowering.bounds import infer_bound
from te_sched.lowering.nests import (
    BindTensors,
    Nest,
    NestContext,
    ReplaceBuffers,
    guarded,
    has_dependent_domain,
    make_nest,
    threads_of,
    wrap,
)
from tests.arith.brute import show
from tests.lowering.build import EFFECT, read, store, temporary, var
from tests.schedule.programs import chain, product

A, B = temporary("A", 8), temporary("B", 8)


def nest_of(schedule: Any, tensor: Any, outer: frozenset[Any] = frozenset()) -> Nest:
    normal = schedule.normalize()
    scope = NestContext(infer_bound(normal), lambda _: A, lambda stage, axis, body: body, outer)
    return make_nest(normal[tensor], scope)


def loops(nest: Nest) -> list[str]:
    """What the levels of a nest put round a statement, outermost first."""
    found = []
    body: Any = wrap(EFFECT, [one for level in nest.levels for one in level])
    while isinstance(body, For | AttrStmt):
        if isinstance(body, For):
            found.append(f"{body.kind} {body.loop_var.name}*{body.extent}")
        else:
            tag = getattr(body.node, "thread_tag", "")
            found.append(" ".join(filter(None, (body.key, tag, str(body.value)))))
        body = body.body
    return found


def test_each_leaf_is_a_loop() -> None:
    p = chain()
    _, inner = p.s[p.D].split(p.D.op.axis[1], factor=4)
    p.s[p.D].vectorize(inner)
    nest = nest_of(p.s, p.D)
    assert loops(nest) == ["serial i*16", "serial j.outer*2", "vectorized j.inner*4"]
    j = p.D.op.axis[1].var
    assert show(nest.substitution()[j]) == "(j.inner + (j.outer * 4))"


def test_loop_of_one_iteration_is_a_value() -> None:
    p = chain()
    p.s[p.D].split(p.D.op.axis[1], factor=8)
    nest = nest_of(p.s, p.D)
    assert loops(nest) == ["serial i*16", "serial j.inner*8"]


def test_thread_is_launched_once() -> None:
    p = chain()
    thread = te.thread_axis("threadIdx.x")
    p.s[p.D].bind(p.D.op.axis[0], thread)
    assert loops(nest_of(p.s, p.D)) == ["thread_extent threadIdx.x 16", "serial j*8"]
    assert loops(nest_of(p.s, p.D, frozenset([thread]))) == ["serial j*8"]
    assert threads_of(p.s[p.D], p.D.op.axis) == {thread}


def test_pragmas_stand_round_their_loop() -> None:
    p = chain()
    p.s[p.D].pragma(p.D.op.axis[1], "unroll_explicit", 1)
    around = ["serial i*16", "pragma_unroll_explicit 1", "serial j*8"]
    assert loops(nest_of(p.s, p.D)) == around


def test_virtual_threads_need_a_constant_number() -> None:
    n = te.var("n")
    X = te.placeholder((n,), name="X")
    Y = te.compute((n,), lambda i: X[i] + 1, name="Y")
    s = te.create_schedule(Y.op)
    s[Y].bind(Y.op.axis[0], te.thread_axis("vthread"))
    with pytest.raises(LoweringError, match="bound to a virtual thread but has extent n"):
        nest_of(s, Y)


def test_first_condition_is_outermost() -> None:
    x = var("x")
    made: Any = guarded(EFFECT, [x < 1, x < 2], likely=True)
    assert isinstance(made, IfThenElse)
    assert isinstance(made.condition, Call)
    assert made.condition.op == "tir.likely"
    assert show(made.condition.args[0]) == "(x < 1)"
    assert show(made.then_case.condition.args[0]) == "(x < 2)"
    assert made.then_case.then_case is EFFECT
    assert guarded(EFFECT, []) is EFFECT


def test_reads_of_tensors_become_reads_of_buffers() -> None:
    p, i = chain(), var("i")
    load = ProducerLoad(p.A, (i, IntImm(0)))
    bound: Any = BindTensors({i: IntImm(3)}, lambda _: A).visit(load)
    assert type(bound) is BufferLoad
    assert bound.buffer is A
    assert [index.value for index in bound.indices] == [3, 0]


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_stages_of_rows_at_wide_indices_compute_in_their_types(dtype: str) -> None:
    # Row 7 is computed alone. Its index is wider than the axis, and data wraps around as int32.
    table, data = te.placeholder((10,), "int32", name="table"), te.placeholder((8,), "int32", "D")
    row = te.compute((8,), lambda i: table[te.floormod(data[i] - i * 46341, 10)], name="row")
    below = te.compute((8,), lambda i: table[te.floormod(3 - i, 10)], name="below")
    last = te.placeholder((1,), dtype, name="last")

    def at(i: Any) -> Any:  # 7, whatever it is
        return te.min(te.max(last[i], te.const(9, dtype)), te.const(7, dtype))

    B = te.compute((1,), lambda i: row[at(i)] * 100 + below[at(i)])
    s = te.create_schedule(B.op)
    numbers, out = np.arange(10, dtype="int32"), np.zeros(1, "int32")
    values = np.full(8, -(2**31) + 1, "int32")
    te_sched.build(s, [table, data, last, B])(numbers, values, np.zeros(1, dtype), out)
    wrapped = (values - np.arange(8, dtype="int32") * np.int32(46341))[7]
    assert out[0] == wrapped % 10 * 100 + (3 - 7) % 10


def test_buffers_are_replaced_where_read_and_written() -> None:
    i = var("i")
    made: Stmt = ReplaceBuffers({A: B}).visit(store(A, read(A, i) + 1.0, i))
    assert made.buffer is made.value.a.buffer is B
    kept = store(B, read(B, i), i)
    assert ReplaceBuffers({A: B}).visit(kept) is kept


def test_dependent_domains() -> None:
    assert not has_dependent_domain(product().C.op)
    counts = te.placeholder((4,), "int32", name="counts")
    X = te.placeholder((4, 8), name="X")

    def total(i: Any) -> Any:
        k = te.reduce_axis((0, counts[i]), name="k")
        return te.sum(X[i, k], axis=k)

    assert has_dependent_domain(te.compute((4,), total, name="Y").op)


@pytest.mark.parametrize(("scope", "tag"), [("local", "threadIdx.x"), ("shared", "blockIdx.y")])
def test_threads_compute_all_of_their_own_memory(scope: str, tag: str) -> None:
    A = te.placeholder((1, 3, 2), name="A")
    B = te.compute((1, 3, 2), lambda i, j, k: A[i, j, k] + 1, name="B")
    C = te.compute((1, 3, 2), lambda i, j, k: B[i, j, k] * 2, name="C")
    s, thread = te.create_schedule(C.op), te.thread_axis(tag)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].set_scope(scope)
    _, inner = s[B].split(B.op.axis[1], 3)
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    s[C].bind(C.op.axis[1], thread)
    s[B].bind(inner, thread)
    var = tag.replace(".", "_")
    text = te_sched.lower(s, [A, C]).script()  # as TVM 0.19's
    assert f"B_1[k] = A_1[{var} * 2 + k] + T.float32(1)" in text
    assert "if" not in text
    array, device = np.random.rand(1, 3, 2).astype("float32"), te_sched.emulated_cuda(0)
    out = te_sched.nd.array(np.zeros_like(array), device)
    te_sched.build(s, [A, C], "cuda")(te_sched.nd.array(array, device), out)
    np.testing.assert_array_equal(out.numpy(), (array + 1) * 2)


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0, 0), (1, 1)])
def test_fused_axes_may_be_empty(shape: tuple[int, int]) -> None:
    source = te.placeholder(shape, name="source")
    twice = te.compute(shape, lambda i, j: source[i, j] * 2, name="twice")
    s = te.create_schedule(twice.op)
    outer, _ = s[twice].split(s[twice].fuse(*twice.op.axis), 5)
    s[twice].parallel(outer)
    out = np.zeros(shape, "float32")
    te_sched.build(s, [source, twice])(np.ones(shape, "float32"), out)
    np.testing.assert_array_equal(out, 2)
