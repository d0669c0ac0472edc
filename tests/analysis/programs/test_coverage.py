"""Outputs that are written wholly, and temporaries that are written before they are read.

Programs that lowering made are right; here they are broken on purpose: a guard, an extent, an index
or a whole statement is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import te_sched
from te_sched import te, tir
from te_sched.analysis import check
from te_sched.errors import BuildError
from te_sched.ir.expr import LT, BufferLoad, IntImm
from te_sched.ir.stmt import BufferStore, Evaluate, For, IfThenElse, IRModule, PrimFunc, SeqStmt
from te_sched.ir.visitor import Mapper, replace

Change = Callable[[Any], Any]


def broken(func: PrimFunc, kind: type, change: Change) -> PrimFunc:
    """The function with the first node of a class changed that `change` changes."""
    done: list[Any] = []

    def visit(mapper: Mapper, node: Any) -> Any:
        changed = node if done else change(node)
        if changed is not node:
            done.append(node)
            return changed
        return mapper.generic(node)

    mapper = type("Breaking", (Mapper,), {f"visit_{kind.__name__}": visit})()
    body = mapper.visit(func.body)
    assert done
    return func.with_body(body)


def split_program(size: Any = 20, factor: int = 8, attach: bool = True, kind: str = "") -> Any:
    """B[i, j] = A[i, j] + 1 inside of C[i] = sum(B[i, k]), with C split."""
    A = te.placeholder((size, 12), name="A")
    B = te.compute((size, 12), lambda i, j: A[i, j] + 1.0, name="B")
    k = te.reduce_axis((0, 12), "k")
    C = te.compute((size,), lambda i: te.sum(B[i, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    outer, _ = s[C].split(C.op.axis[0], factor)
    if attach:
        s[B].compute_at(s[C], outer)
    if kind:
        getattr(s[C], kind)(outer)
    return s, [A, C]


def copies(size: Any = 20) -> Any:
    """C = A in three shapes of loops: fused, tiled, reordered."""
    A = te.placeholder((size, 12), name="A")
    C = te.compute((size, 12), lambda i, j: A[i, j] * 2.0, name="C")
    return te.create_schedule(C.op), A, C


def fused(size: Any = 20) -> Any:
    s, A, C = copies(size)
    s[C].split(s[C].fuse(*C.op.axis), 7)
    return s, [A, C]


def tiled(size: Any = 20) -> Any:
    s, A, C = copies(size)
    s[C].tile(*C.op.axis, 8, 5)
    return s, [A, C]


def scan(size: int = 6) -> Any:
    X = te.placeholder((size, 4), name="X")
    state = te.placeholder((size, 4), name="state")
    first = te.compute((1, 4), lambda _, i: X[0, i], name="first")
    step = te.compute((size, 4), lambda t, i: state[t - 1, i] + X[t, i], name="step")
    total = te.scan(first, step, state, inputs=[X], name="total")
    return te.create_schedule(total.op), [X, total]


def lowered(program: Any) -> PrimFunc:
    s, args = program
    return te_sched.lower(s, args, stop_after="schedule_ops")["main"]


def shorter(loop: str, by: int = 1) -> tuple[type, Change]:
    """A loop that ends too early."""

    def change(node: For) -> For:
        if node.loop_var.name != loop:
            return node
        return replace(node, extent=node.extent - by)  # type: ignore[no-any-return]

    return For, change


def later(loop: str) -> tuple[type, Change]:
    """A loop that begins one too late."""

    def change(node: For) -> For:
        if node.loop_var.name != loop:
            return node
        return replace(node, min=IntImm(1), extent=node.extent - 1)  # type: ignore[no-any-return]

    return For, change


def tighter(limit: int, new: int) -> tuple[type, Change]:
    """A guard that leaves out too much."""

    def change(node: LT) -> Any:
        is_it = type(node.b) is IntImm and node.b.value == limit
        return LT(node.a, IntImm(new)) if is_it else node

    return LT, change


def moved(buffer: str, by: int, place: int = 0) -> tuple[type, Change]:
    """A store into the wrong elements."""

    def change(node: BufferStore) -> BufferStore:
        if node.buffer.name != buffer:
            return node
        indices = list(node.indices)
        indices[place] = indices[place] + by
        return BufferStore(node.buffer, node.value, tuple(indices))

    return BufferStore, change


def scaled(buffer: str, by: int) -> tuple[type, Change]:
    def change(node: BufferStore) -> BufferStore:
        if node.buffer.name != buffer:
            return node
        return BufferStore(node.buffer, node.value, (node.indices[0] * by, *node.indices[1:]))

    return BufferStore, change


def dropped(place: int) -> tuple[type, Change]:
    """A sequence without one of its statements."""

    def change(node: SeqStmt) -> Any:
        parts = [*node.seq[:place], Evaluate(IntImm(0)), *node.seq[place + 1 :]]
        return SeqStmt(tuple(parts))

    return SeqStmt, change


def without_init() -> tuple[type, Change]:
    """The update of a reduction without what begins it."""

    def change(node: IfThenElse) -> Any:
        is_init = _stores_constant(node.then_case)
        return Evaluate(IntImm(0)) if is_init else node

    return IfThenElse, change


def _stores_constant(node: Any) -> bool:
    return isinstance(node, BufferStore) and type(node.value).__name__ == "FloatImm"


def reversed_order() -> tuple[type, Change]:
    return SeqStmt, lambda node: SeqStmt(tuple(reversed(node.seq)))


def reads_next(buffer: str) -> tuple[type, Change]:
    """A read in the row after the right one."""

    def change(node: BufferLoad) -> BufferLoad:
        if node.buffer.name != buffer:
            return node
        return BufferLoad(node.buffer, (node.indices[0] + 1, *node.indices[1:]))

    return BufferLoad, change


BROKEN = {
    "loop too short": (fused(), shorter("i.j.fused.outer"), "coverage"),
    "inner loop too short": (fused(), shorter("i.j.fused.inner"), "coverage"),
    "loop too late": (tiled(), later("j.outer"), "coverage"),
    "guard too tight": (tiled(), tighter(20, 19), "coverage"),
    "guard too tight in the inner dimension": (tiled(), tighter(12, 11), "coverage"),
    "store beside": (tiled(), moved("C", 1), "coverage"),
    "store beside in the inner dimension": (tiled(), moved("C", 1, 1), "coverage"),
    "store with gaps": (tiled(), scaled("C", 2), "coverage"),
    "no first step": (scan(), dropped(0), "coverage"),
    "scan too short": (scan(), shorter("total.idx"), "coverage"),
    "producer dropped": (split_program(), dropped(0), "initialized"),
    "producer last": (split_program(), reversed_order(), "initialized"),
    "producer dropped at the root": (split_program(attach=False), dropped(0), "initialized"),
    "producer too short": (split_program(), shorter("j"), "initialized"),
    "producer rows too short": (split_program(), shorter("i"), "initialized"),
    "producer beside": (split_program(), moved("B", 1), "initialized"),
    "producer's guard too tight": (split_program(), tighter(20, 17), "initialized"),
    "reads beyond the producer": (split_program(), reads_next("B"), "initialized"),
    "no init": (split_program(attach=False), without_init(), "initialized"),
}

RIGHT: dict[str, Any] = {
    "split": split_program(),
    "split evenly": split_program(24),
    "at the root": split_program(attach=False),
    "parallel": split_program(kind="parallel"),
    "fused": fused(),
    "tiled": tiled(),
    "scan": scan(),
    "one row": tiled(1),
}


@pytest.mark.parametrize("name", BROKEN)
def test_refutes(name: str) -> None:
    program, change, kind = BROKEN[name]
    func = lowered(program)
    func = broken(func, *change)
    findings = check(func)
    assert kind in [one.kind for one in findings.refuted], str(findings)
    refusal = r"is not written completely|before it is written|program (reads|writes)"
    with pytest.raises(BuildError, match=refusal):
        te_sched.build(IRModule({"main": func}))


@pytest.mark.parametrize("name", RIGHT)
def test_proves(name: str) -> None:
    s, args = RIGHT[name]
    findings = check(s, args)
    assert {one.verdict for one in findings} == {"proved"}, str(findings)
    assert {one.kind for one in findings} >= {"coverage"}


@pytest.mark.parametrize("make", [fused, tiled, split_program])
def test_proves_for_all_sizes(make: Callable[[Any], Any]) -> None:
    s, args = make(te.var("n"))
    findings = check(s, args)
    assert {one.verdict for one in findings} == {"proved"}, str(findings)


@pytest.mark.parametrize(
    "change", [shorter("i.outer"), shorter("i.inner"), moved("C", 1), later("i.outer")]
)
def test_refutes_for_all_sizes(change: tuple[type, Change]) -> None:
    findings = check(broken(lowered(tiled(te.var("n"))), *change))
    assert findings.refuted[0].kind == "coverage", str(findings)
    assert "where n = " in findings.refuted[0].why


def test_a_hand_written_function_may_write_some_elements() -> None:
    ib = tir.ir_builder.create()
    c = tir.decl_buffer((8,), "float32", "C")
    view = ib.buffer_ptr(c)
    with ib.for_range(0, 4, "i") as i:
        view[i] = 1.0
    handle = tir.Var("c", "handle")
    findings = check(tir.PrimFunc([handle], ib.get(), buffer_map={handle: c}))
    (coverage,) = (one for one in findings if one.kind == "coverage")
    assert coverage.verdict == "unproved"
    assert "nothing writes C[4]: it keeps what the caller gives" in str(findings)


def test_a_hand_written_function_must_write_its_temporaries() -> None:
    ib = tir.ir_builder.create()
    c = tir.decl_buffer((8,), "float32", "C")
    view, temporary = ib.buffer_ptr(c), ib.allocate("float32", (8,), "T", scope="global")
    with ib.for_range(0, 7, "i") as i:
        temporary[i] = 1.0
    with ib.for_range(0, 8, "j") as j:
        view[j] = temporary[j]
    handle = tir.Var("c", "handle")
    func = tir.PrimFunc([handle], ib.get(), buffer_map={handle: c})
    with pytest.raises(BuildError, match="buffer T is read before it is written") as caught:
        te_sched.build(func)
    assert "reads T[7]" in str(caught.value)


def test_nobody_counts_the_elements_of_huge_tensors() -> None:
    A = te.placeholder((2, 2), name="A")
    B = te.compute((2**31, 2**31), lambda i, j: A[i % 2, j % 2], name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], factor=13)
    check(te_sched.lower(s, [A, B], stop_after="schedule_ops"))
