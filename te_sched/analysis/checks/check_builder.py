"""Construction of checks: the check of one index, its loops, and the call on failure.

Must not know which accesses need checks, nor where they are inserted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from te_sched.analysis.checks.access_context import Need, is_index_operator
from te_sched.arith.conditions import plain
from te_sched.ir import dtypes, ops
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.choices import choice_of, with_choice
from te_sched.ir.data import computes_with_data
from te_sched.ir.expr import (
    Add,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    Expr,
    IntImm,
    Mul,
    PointerType,
    StringImm,
    Sub,
    Var,
)
from te_sched.ir.occurrences import Guard, Occurrence, data_read_by, lane_of
from te_sched.ir.stmt import Allocate, BufferStore, Evaluate, For, IfThenElse, LetStmt, Stmt
from te_sched.ir.visitor import substitute, variables_of
from te_sched.lowering.statements import sequence

REPORT = "te_sched.report_access"  # the registered function that a failed check calls

# Makes a check for the loops around it; or a statement that sets an element of flags on failure.
Maker = Callable[[tuple[Var, ...]], Stmt]
Noter = Callable[[Buffer, Expr], Stmt]


@dataclass(frozen=True, slots=True)
class Check:
    """A check that is not placed yet, with its reads and dependences. It needs `width` flags for
    its result: one, or one for each lane of a vector.
    """

    make: Maker
    note: Noter
    reads: frozenset[Var]
    variables: frozenset[Var]
    of: Var
    width: int = 1

    def needs(self, other: Check) -> bool:
        """Whether the other check must come first."""
        return other.of in self.reads

    def within(self, wrap: Callable[[Stmt], Stmt], *parts: Expr) -> Check:
        """The check inside of another statement that contains some expressions."""
        return Check(
            lambda loops: wrap(self.make(loops)),
            lambda flags, slot: wrap(self.note(flags, slot)),
            self.reads.union(*map(data_read_by, parts)),
            self.variables | variables_of(*parts),
            self.of,
            self.width,
        )


def check_of(site: dict[str, Any], occurrence: Occurrence, need: Need) -> Check:
    """The check of one index; `site` is its description as far as known at build time."""
    index, guards = need.at, occurrence.guards
    lanes = dtypes.lanes(index.dtype)
    if lanes == 1:
        return _scalar_check(site, need, index, guards, occurrence.data)
    lane = Var("lane")
    try:
        lane_index = lane_of(index, lane)
        own = tuple(_lane_of_guard(guard, lane) for guard in guards)
    except ValueError:
        return _scalar_check(site, need, IntImm(-1), (), occurrence.data)
    inner = _scalar_check(site, need, lane_index, own, occurrence.data)

    def make(loops: tuple[Var, ...]) -> Stmt:
        body = inner.make((*loops, lane))
        return For(lane, IntImm(0), IntImm(lanes), "serial", body)

    def note(flags: Buffer, slot: Expr) -> Stmt:
        return For(lane, IntImm(0), IntImm(lanes), "serial", inner.note(flags, slot))

    return Check(make, note, inner.reads, inner.variables - {lane}, inner.of)


def _scalar_check(
    site: dict[str, Any], need: Need, index: Expr, guards: tuple[Guard, ...], data: Var
) -> Check:
    wide, low, end = numbers_of(need._replace(at=index))
    wrong = _as_unsigned(need, index)
    if wrong is None:
        wrong = is_outside(need._replace(at=index))

    def make(loops: tuple[Var, ...]) -> Stmt:
        fail = report(site, (wide, low, end), loops)
        return under(guards, IfThenElse(wrong, fail))

    def note(flags: Buffer, slot: Expr) -> Stmt:
        flag = Cast("int32", wrong)
        noted = ops.bitwise_or(BufferLoad(flags, (slot,)), flag)
        return under(guards, BufferStore(flags, noted, (slot,)))

    values = [guard[1] if isinstance(guard, tuple) else guard for guard in guards]
    parts = (index, need.low, need.extent, *values)
    own = {guard[0] for guard in guards if isinstance(guard, tuple)}
    reads = frozenset(data for part in parts for data in data_read_by(part))
    variables = frozenset(variables_of(*parts) - own)
    return Check(make, note, reads, variables, data)


def numbers_of(need: Need) -> tuple[Expr, Expr, Expr]:
    """The index, and the first and the end of the indices that exist."""
    return widen(need.at), widen(need.low), widen(ops.add(need.low, need.extent))


def is_outside(need: Need) -> Expr:
    """Whether an index is out of bounds."""
    wide, low, end = numbers_of(need)
    wrong = ops.logical_or(ops.less(wide, low), ops.less_equal(end, wide))
    if not need.repeats:
        return wrong
    return ops.logical_and(wrong, ops.not_equal(need.extent, IntImm(1, need.extent.dtype)))


def _as_unsigned(need: Need, index: Expr) -> Expr | None:
    """Comparison of a loaded index with a constant extent as unsigned integers, where negative ones
    are large.
    """
    extent = need.extent
    if type(index) is not BufferLoad or type(extent) is not IntImm or not ops.is_const(need.low, 0):
        return None
    dtype = index.dtype
    if dtype not in ("int32", "int64") or not 0 <= extent.value <= ops.int_limits(dtype)[1]:
        return None
    unsigned = f"u{dtype}"
    return ops.less_equal(IntImm(extent.value, unsigned), Cast(unsigned, index))


def _lane_of_guard(guard: Guard, lane: Expr) -> Guard:
    if isinstance(guard, tuple):
        if dtypes.lanes(guard[0].dtype) > 1:
            raise ValueError("a vector has a name")
        return guard
    return lane_of(guard, lane)


def check_over(loop: For, check: Check, notes: bool = True) -> Check:
    """The check in a loop of its own: a test of all iterations, then a search for the one that
    fails. Without flags it is the search only.
    """
    old = loop.loop_var
    is_vector = loop.kind == "vectorized" and type(loop.extent) is IntImm and check.width == 1
    width = loop.extent.value if is_vector and type(loop.extent) is IntImm else check.width

    def over(body: Stmt, kind: str = "serial") -> Stmt:
        var = Var(old.name, old.dtype)
        return For(var, loop.min, loop.extent, kind, substitute(body, {old: var}))

    def note(flags: Buffer, slot: Expr) -> Stmt:
        if is_vector:
            return over(check.note(flags, ops.sub(old, loop.min)), "vectorized")
        return over(check.note(flags, slot))

    def make(loops: tuple[Var, ...]) -> Stmt:
        search = over(check.make((*loops, old)))
        if not notes:
            return search
        flags, lane, other = _flags(width), Var("lane"), Var("lane")
        start: Stmt = BufferStore(flags, IntImm(0), (lane,))
        start = For(lane, IntImm(0), IntImm(width), "vectorized", start)
        is_wrong = ops.not_equal(BufferLoad(flags, (other,)), IntImm(0))
        end = For(other, IntImm(0), IntImm(width), "serial", IfThenElse(is_wrong, search))
        body = sequence([start, note(flags, IntImm(0)), end])
        return Allocate(flags.data, "int32", flags.shape, IntImm(1, "bool"), body)

    variables = (check.variables - {old}) | variables_of(loop.min, loop.extent)
    reads = check.reads.union(data_read_by(loop.min), data_read_by(loop.extent))
    return Check(make, note, reads, variables, check.of, width)


def _flags(count: int) -> Buffer:
    data = Var("outside", "handle", PointerType("int32", "global"))
    return decl_buffer((count,), "int32", "outside", data=data)


def unless_empty(loop: For, check: Check) -> Check:
    """The check before a loop that it does not depend on."""
    if isinstance(loop.extent, IntImm):
        return check
    runs = ops.less(IntImm(0, loop.extent.dtype), loop.extent)
    return check.within(lambda inner: IfThenElse(runs, inner), loop.extent)


def report(site: dict[str, Any], numbers: Iterable[Expr], loops: Iterable[Var]) -> Stmt:
    """The call that ends a program where a check has failed."""
    named = [*loops]
    text = json.dumps({**site, "loops": [var.name for var in named]})
    values = [*numbers, *[widen(var) for var in named]]
    call = Call("int32", "tir.tvm_call_packed", (StringImm(REPORT), StringImm(text), *values))
    return Evaluate(call)


def under(guards: tuple[Guard, ...], body: Stmt) -> Stmt:
    """The statement under the conditions and lets of an access."""
    for guard in reversed(guards):
        if isinstance(guard, tuple):
            var, value = guard
            own = Var(var.name, var.dtype)
            body = LetStmt(own, value, substitute(body, {var: own}))
        else:
            body = IfThenElse(plain(guard), body)
    return body


def widen(e: Any) -> Expr:
    """The integer as int64, computed without overflow.

    Operations on loaded integers other than sums and products wrap around, as in numpy.
    """
    kind: type[Any] = type(e)
    wide: Expr = e
    if e.dtype == "int64" and not is_index_operator(e):
        return wide
    if kind is IntImm:
        return IntImm(e.value, "int64")
    is_exact = not computes_with_data(e)
    is_sum = isinstance(e, Add | Sub | Mul) or (is_index_operator(e) and is_exact)
    if is_sum and dtypes.counts(e.dtype):
        wide = kind(widen(e.a), widen(e.b))
        return wide
    choice = choice_of(e)
    if choice is not None and is_exact:
        condition, yes, no = choice
        return with_choice(e, condition, widen(yes), widen(no))
    return Cast("int64", e)
