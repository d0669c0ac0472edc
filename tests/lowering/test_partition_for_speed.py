"""What is cut for a processor: as far as it pays, and every iteration still runs once, in order."""

from __future__ import annotations

import operator
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import config, te
from te_sched.codegen.target import as_target
from te_sched.driver import functions_for_processor
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir.expr import Buffer, Call, Expr, IntImm, PointerType, Var
from te_sched.ir.stmt import BufferStore, For, IfThenElse, PrimFunc, SeqStmt, Stmt
from te_sched.lowering.partition_loops import partition_loops
from te_sched.lowering.speed_cutter import SpeedCutter
from te_sched.lowering.statements import nodes_of
from tests.sampling import sampled

FOR_SPEED = {"partition_for_speed": True}
CONSTANT = {"partition_const_loop": True}
KEPT = {"partition_const_loop": True, "no_unroll_loop_with_extent_one": True}


def chosen(choices: dict[str, bool]) -> Any:
    return config.scoped(lowering=replace(config.current().lowering, **choices))


def text(s: Any, args: Any) -> str:
    with chosen(FOR_SPEED):
        return te_sched.lower(s, args).script()


def rows(n: Any, m: int, factor: int) -> Any:
    """A sum of rows in tiles of `factor` columns: schedule, arguments, axes."""
    A = te.placeholder((n, m), name="A")
    C = te.compute((n, m), lambda i, j: A[i, j] + 1.0, name="C")
    s = te.create_schedule(C.op)
    return s, [A, C], s[C].op.axis[0], *s[C].split(C.op.axis[1], factor)


def test_much_work_is_cut_and_little_is_not():
    assert "if " not in text(*rows(1000, 1000, 32)[:2])
    assert "if " in text(*rows(10, 50, 32)[:2])


def test_a_program_does_not_double_with_each_guard() -> None:
    n = te.var("n")
    A, B = te.placeholder((n, 50), name="A"), te.placeholder((50, 18), name="B")
    k = te.reduce_axis((0, 50), "k")
    C = te.compute((n, 18), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    R = s.rfactor(C, s[C].split(k, factor=8)[1], 2)
    xo, yo, xi, yi = s[C].tile(*s[C].op.axis, 3, 4)
    s[C].reorder(xi, yi, xo, s[C].op.reduce_axis[0])
    s[R].compute_at(s[C], yo)
    lanes, i = s[R].split(s[R].op.axis[0], nparts=6)
    s[R].reorder(s[R].op.reduce_axis[0], i, s[R].op.axis[2], s[R].op.axis[1], lanes)
    s[R].vectorize(lanes)
    main = functions_for_processor(s, [A, B, C], as_target("llvm"))["main"]
    assert len(list(nodes_of(main.body, frozenset((BufferStore,))))) < 200  # it was 408

    a, b = np.ones((31, 50), "float32"), np.ones((50, 18), "float32")
    c = np.zeros((31, 18), "float32")
    te_sched.build(s, [A, B, C], "llvm -opt-level=1")(a, b, c)
    np.testing.assert_array_equal(c, 50)


def test_a_parallel_loop_chooses_its_body():
    s, args, i, outer, _ = rows(1000, 1000, 32)
    s[args[1]].reorder(outer, i)
    s[args[1]].parallel(outer)
    lowered = text(s, args)
    assert lowered.count("T.parallel") == 1
    assert "if j_outer < 31:" in lowered
    assert "else:" in lowered


def test_a_last_iteration_of_a_parallel_loop_is_a_constant():
    s, args, i, outer, _ = rows(1000, 1000, 32)
    s[args[1]].reorder(outer, i)
    s[args[1]].parallel(outer)
    assert "T.grid(1000, 8)" in text(s, args)


def test_what_is_cut_off_is_cut_again_where_it_is_large():
    s, args, i, *_ = rows(1000, 1000, 32)
    s[args[1]].split(i, 300)
    lowered = text(s, args)
    assert "if " not in lowered


def test_a_cut_that_moves_makes_two_versions():
    A = te.placeholder((400, 100), name="A")
    C = te.compute((400, 100), lambda i, j: A[i, j] + 1.0, name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[1], 8)
    s[C].vectorize(inner)
    s[C].fuse(C.op.axis[0], outer)
    lowered = text(s, [A, C])
    assert lowered.count("if ") == 2
    assert "T.Broadcast(T.float32(1), 8)" in lowered


def test_nothing_inside_vectors_is_cut():
    s, args, i, *_ = rows(1024, 1000, 32)
    s[args[1]].vectorize(i)
    assert text(s, args).count("vectorized") <= 1


def test_room_that_moves_with_a_loop_has_its_largest_size():
    A = te.placeholder((66, 66), name="A")
    B = te.compute((66, 66), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((66, 66), lambda i, j: B[i, j] + 1.0, name="C")
    s = te.create_schedule(C.op)
    outer, _ = s[C].split(s[C].fuse(*C.op.axis), factor=32)
    s[B].compute_at(s[C], outer)
    assert "T.allocate([132]" in text(s, [A, C])


def test_hints_hold_in_copies_of_a_loop():
    A = te.placeholder((40, 40), name="A")
    padded = lambda i, j: te.if_then_else(j < 30, A[i, j], 0.0)  # noqa: E731
    C = te.compute((40, 40), padded, name="C")
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], 16)
    s[C].pragma(C.op.axis[1], "loop_partition_hint")
    with chosen(KEPT):
        lowered = te_sched.lower(s, [A, C]).script()
    assert "if_then_else" not in lowered


# -- every iteration, once and in order ------------------------------------------------

_OPERATORS: dict[type, Any] = {
    E.Add: operator.add,
    E.Sub: operator.sub,
    E.Mul: operator.mul,
    E.FloorDiv: operator.floordiv,
    E.FloorMod: operator.mod,
    E.Min: min,
    E.Max: max,
    E.LT: operator.lt,
    E.LE: operator.le,
    E.GT: operator.gt,
    E.GE: operator.ge,
    E.EQ: operator.eq,
    E.NE: operator.ne,
    E.And: operator.and_,
    E.Or: operator.or_,
}


def value(e: Any, values: dict[Var, int]) -> int:
    if isinstance(e, IntImm):
        return e.value
    if isinstance(e, Var):
        return values[e]
    if isinstance(e, Call):
        return value(e.args[0], values)
    if isinstance(e, E.Not):
        return 1 - value(e.a, values)
    return int(_OPERATORS[type(e)](value(e.a, values), value(e.b, values)))


def stores(node: Any, values: dict[Var, int]) -> list[tuple[str, int]]:
    """What a statement stores where, in order."""
    if isinstance(node, For):
        first, count = value(node.min, values), value(node.extent, values)
        turns = [{**values, node.loop_var: turn} for turn in range(first, first + count)]
        return [one for turn in turns for one in stores(node.body, turn)]
    if isinstance(node, SeqStmt):
        return [one for part in node.seq for one in stores(part, values)]
    if isinstance(node, IfThenElse):
        case = node.then_case if value(node.condition, values) else node.else_case
        return [] if case is None else stores(case, values)
    if isinstance(node, BufferStore):
        return [(node.buffer.name, value(node.indices[0], values))]
    return []


def buffer(name: str) -> Buffer:
    data = Var(name, "handle", PointerType("int32"))
    return Buffer(data, "int32", (IntImm(99),), (), IntImm(0), name)


def affine(rng: random.Random, variables: list[Var]) -> Expr:
    total: Expr = IntImm(rng.randint(-5, 5))
    for var in rng.sample(variables, rng.randint(1, min(2, len(variables)))):
        scale, divisor = rng.choice([1, 1, 3, 8, -2]), rng.choice([1, 1, 4])
        total = ops.add(total, ops.floordiv(ops.mul(var, scale), divisor))
    return total


def nest(rng: random.Random, variables: list[Var], sizes: list[Var], depth: int) -> Stmt:
    """Loops with guards that mention the variables outside."""
    if depth == 0:
        return BufferStore(buffer("B"), IntImm(0), (affine(rng, variables),))
    var = Var(f"i{depth}")
    extents = [IntImm(rng.randint(1, 9)), *sizes, ops.floordiv(ops.add(sizes[0], 3), 4)]
    extent = rng.choice(extents + [ops.add(one, 1) for one in variables])
    kind = rng.choice(["serial", "serial", "parallel", "unrolled"])
    inner = [*variables, var]
    parts = []
    for _ in range(rng.randint(1, 2)):
        limit = rng.choice([IntImm(rng.randint(0, 20)), *sizes])
        compare = rng.choice([E.LT, E.LE, E.GE, E.GT, E.EQ])
        guard = Call("bool", "tir.likely", (compare(affine(rng, inner), limit),))
        parts.append(IfThenElse(guard, nest(rng, inner, sizes, depth - 1)))
    body = parts[0] if len(parts) == 1 else SeqStmt(tuple(parts))
    return For(var, rng.choice([IntImm(0), IntImm(3)]), extent, kind, body)


@pytest.mark.parametrize("choices", [{}, CONSTANT, KEPT, FOR_SPEED])
@pytest.mark.parametrize("seed", sampled(range(60), 10))
def test_every_iteration_runs_once(choices: dict[str, bool], seed: int) -> None:
    rng = random.Random(seed)
    n, m = Var("n"), Var("m", is_size=True)
    func = PrimFunc((n, m), nest(rng, [], [n, m], rng.randint(1, 3)), {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SpeedCutter, "worth", rng.choice([1, 8192]))
        cut = partition_loops(func, config.Lowering(**choices))
    for sizes in ((0, 0), (1, 6), (7, 2), (9, 9)):
        values = dict(zip((n, m), sizes, strict=True))
        assert stores(cut.body, values) == stores(func.body, values)


@pytest.mark.parametrize("extent", [1, 3, 10])
def test_room_of_a_size_given_by_the_call_is_left_alone(extent: int) -> None:
    n = te.var("n")
    A = te.placeholder((n, 30), name="A")
    B = te.compute((n, 30), lambda i, j: A[i, j] * 2.0, name="B")
    k = te.reduce_axis((0, n), "k")
    C = te.compute((30,), lambda i: te.sum(B[k, i], axis=k), name="C")
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], nparts=4)
    a, c = np.ones((extent, 30), "float32"), np.zeros(30, "float32")
    te_sched.build(s, [A, C])(a, c)
    np.testing.assert_array_equal(c, 2 * extent)


def test_lanes_that_read_what_the_iteration_before_has_fetched_stay_together() -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((n,), lambda i: B[n - 1 - i], name="C")
    s = te.create_schedule(C.op)
    copy = s.cache_write(C, "global")
    outer, _ = s[C].split(C.op.axis[0], factor=13)
    s[copy].compute_at(s[C], outer)
    _, inner = s[copy].split(copy.op.axis[0], factor=5)
    s[copy].vectorize(inner)
    s[B].compute_at(s[copy], inner)
    s[B].double_buffer()
    build = te_sched.build(s, [A, C])
    for size in (6, 13, 48):
        a, c = np.random.default_rng(size).random((2, size)).astype("float32")
        build(a, c)
        np.testing.assert_array_equal(c, a[::-1] * 2)
