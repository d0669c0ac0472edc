"""The sanitizer: instruments each access of a program with checks.

Before each access, the instrumented program checks that

    the indices are within bounds, and do not overflow 32 bits,
    elements of temporaries and outputs were written before they are read,
    no concurrent iteration of an enclosing loop accesses the same element.

A failed check calls `check_builder.report`, which ends the program. Loops run serially, so that
findings are deterministic. Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from te_sched.analysis.checks.access_context import AccessContext
from te_sched.analysis.checks.check_builder import is_outside, numbers_of, report, under, widen
from te_sched.analysis.checks.shadows import (
    AT_ONCE,
    ShadowMemory,
    Survey,
    Traces,
    allocated,
    at_least_zero,
    clock_of,
    load,
    store,
)
from te_sched.errors import Subject
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Add, Cast, Expr, IntImm, Mul, Sub, Var
from te_sched.ir.message_text import spelled
from te_sched.ir.occurrences import Guard, Occurrence, lane_of, occurrences_of
from te_sched.ir.stmt import (
    Allocate,
    AttrStmt,
    BufferRealize,
    BufferStore,
    For,
    IfThenElse,
    LetStmt,
    Prefetch,
    PrimFunc,
    Stmt,
    While,
)
from te_sched.ir.views import View
from te_sched.ir.visitor import StatementMapper, replace, walk
from te_sched.lowering.statements import sequence
from te_sched.wording import by_name

_INT32 = (-(2**31), 2**31 - 1)
_ONE, _ZERO = IntImm(1, "int64"), IntImm(0, "int64")
_DROPPED = frozenset(("double_buffer_scope", "prefetch_scope"))  # they reorder accesses


@dataclass(frozen=True, slots=True)
class _Level:
    """A loop of concurrent iterations: the numbers of its first and its current iteration."""

    loop: For
    first: Var
    number: Expr


def sanitize(func: PrimFunc, named: Callable[[str], Subject] = by_name) -> PrimFunc:
    """The function with checks of all its accesses.

    Parameters
    ----------
    func : a program at any level before threads become loops.
    named : maps a name to the stage for messages.
    """
    return _Sanitizer(func, named).function()


class _Sanitizer(StatementMapper):
    """Inserts the checks into a program."""

    def __init__(self, func: PrimFunc, named: Callable[[str], Subject]) -> None:
        self.func, self.named = func, named
        self.here = AccessContext(func)
        self.survey = Survey(func)
        self.clock = clock_of(self.survey.deepest)
        self.shadows: dict[Var, ShadowMemory] = {}
        self.lanes: tuple[Var, ...] = ()
        self.levels: list[_Level] = []

    def function(self) -> PrimFunc:
        """The instrumented function."""
        func = self.func
        shadows: list[ShadowMemory] = []
        for buffer in func.buffer_map.values():
            is_output = func.origin == "schedule" and buffer.data in self.survey.written
            shadows.append(self.add_shadow(buffer.data, is_output))
        body = self.visit(func.body)
        body = allocated([buffer for shadow in shadows for buffer in shadow.buffers()], body)
        if self.survey.deepest:
            body = allocated([self.clock], body, 1)
        return replace(func, body=body)

    def add_shadow(self, data: Var, with_written: bool) -> ShadowMemory:
        """Create the shadow memory of a pointer."""
        memory = self.here.memory[data]
        size: Expr = _ONE
        for _, extent in memory.region:
            size = ops.mul(size, widen(extent))
        if self.here.is_strided(data):  # flat storage counts elements with strides
            size = ops.maximum(size, widen(self.here.reach(data, memory)))
        shadow = self.survey.shadow_of(data, memory.name, at_least_zero(size), with_written)
        self.shadows[data] = shadow
        return shadow

    # -- statements --------------------------------------------------------------------------------

    def visit_Stmt(self, node: Stmt) -> Stmt:
        with self.here.inside(node):
            new = self.generic(node)
        return self.before(node, new)

    def visit_IfThenElse(self, node: IfThenElse) -> Stmt:
        return self.before(node, self.generic(node))

    def visit_While(self, node: While) -> Stmt:
        checks = self.checks_of(node)
        repeated = sequence([self.visit(node.body), *checks])
        return sequence([*checks, replace(node, body=repeated)])

    def before(self, node: Stmt, new: Stmt) -> Stmt:
        """The statement `new`, after the checks of the original one."""
        return sequence([*self.checks_of(node), new])

    def visit_For(self, node: For) -> Stmt:
        return self.before(node, self.loop(node))

    def loop(self, node: For) -> Stmt:
        """A loop as a serial one; iterations that were concurrent are numbered."""
        with self.here.inside(node):
            if node.kind in AT_ONCE:
                return self.numbered(node)
            kind = "serial" if node.kind == "unrolled" else node.kind
            return replace(node, kind=kind, body=self.visit(node.body))

    def numbered(self, node: For) -> Stmt:
        """A loop whose iterations have numbers not used before."""
        depth = IntImm(len(self.levels), "int64")
        first = Var("first", "int64")
        number = ops.add(first, ops.sub(widen(node.loop_var), widen(node.min)))
        self.levels.append(_Level(node, first, number))
        body = self.visit(node.body)
        self.levels.pop()
        serial = For(node.loop_var, node.min, node.extent, "serial", body)
        following = ops.add(load(self.clock, depth), at_least_zero(widen(node.extent)))
        after = store(self.clock, depth, following)
        return LetStmt(first, load(self.clock, depth), sequence([serial, after]))

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key == "virtual_thread":
            axis = node.node
            return self.loop(For(axis.var, IntImm(0), node.value, "parallel", node.body))
        if node.key in _DROPPED:
            return self.visit(node.body)
        with self.here.inside(node):
            return self.generic(node)

    def visit_BufferRealize(self, node: BufferRealize) -> Stmt:
        return self.temporary(node, node.buffer.data)

    def visit_Allocate(self, node: Allocate) -> Stmt:
        return self.temporary(node, node.buffer_var)

    def temporary(self, node: BufferRealize | Allocate, data: Var) -> Stmt:
        """The instrumented body of an allocation."""
        with self.here.inside(node):
            buffers = [] if data in self.shadows else list(self.add_shadow(data, True).buffers())
            body = allocated(buffers, self.visit(node.body))  # arguments have theirs
        return self.before(node, replace(node, body=body))

    # -- checks ------------------------------------------------------------------------------------

    def checks_of(self, node: Any) -> list[Stmt]:
        """The checks of the accesses of a statement itself."""
        if type(node) in (BufferStore, Prefetch):
            self.here.stage = node.buffer.name
        return [check for occurrence in occurrences_of(node) for check in self.checks(occurrence)]

    def checks(self, occurrence: Occurrence) -> Iterator[Stmt]:
        """The checks of an access, for each of its lanes."""
        lanes = max((dtypes.lanes(index.dtype) for index in occurrence.indices), default=1)
        if lanes == 1:
            yield under(occurrence.guards, self.watched(occurrence, occurrence.indices))
            return
        lane = Var("lane")
        try:
            indices = tuple(lane_of(index, lane) for index in occurrence.indices)
            guards = tuple(_lane_of_guard(guard, lane) for guard in occurrence.guards)
        except ValueError:
            return
        self.lanes = (lane,)
        body = under(guards, self.watched(occurrence, indices))
        self.lanes = ()
        yield For(lane, IntImm(0), IntImm(lanes), "serial", body)

    def watched(self, occurrence: Occurrence, indices: tuple[Expr, ...]) -> Stmt:
        """The checks of one element, and the updates of its shadow memory."""
        own = occurrence._replace(indices=indices, guards=())
        done = [*self.overflows(own), *self.outside(own)]
        data = self.here.defined.views.base(own.data)
        shadow = self.shadows.get(data)
        if shadow is not None and any(True for _ in shadow.buffers()):
            if own.buffer is None:
                done += self.given(own, shadow)
            elif (position := self.place(own, data)) is not None:
                named = Var("element", "int64")
                notes = [*self.unwritten(own, shadow, named), *self.raced(own, shadow, named)]
                if own.writes and shadow.written is not None:
                    notes.append(store(shadow.written, named, IntImm(1, "uint8")))
                if notes:
                    done.append(LetStmt(named, position, sequence(notes)))
        return sequence(done)

    def fail(self, occurrence: Occurrence, kind: str, numbers: Iterable[Expr], **more: Any) -> Stmt:
        """The call that reports an access."""
        site = self.here.site(kind, occurrence, self.named, **more)
        loops = [loop.var for loop in self.here.scope.loops if not loop.is_launched]
        return report(site, numbers, (*loops, *self.lanes))

    def overflows(self, occurrence: Occurrence) -> Iterator[Stmt]:
        """Checks that the terms of indices do not overflow."""
        for index in occurrence.indices:
            for part in walk(index):
                if type(part) not in (Add, Sub, Mul) or part.dtype != "int32":
                    continue
                low, high = self.here.analyzer.const_bounds(part)
                is_unknown = low is None or high is None or low < _INT32[0] or high > _INT32[1]
                if is_unknown or self.here.analyzer.may_wrap(part):
                    wide, (least, most) = widen(part), (IntImm(end, "int64") for end in _INT32)
                    wraps = ops.logical_or(ops.less(wide, least), ops.less(most, wide))
                    texts = {"index": spelled(index), "part": spelled(part)}
                    yield IfThenElse(wraps, self.fail(occurrence, "overflow", (wide,), **texts))

    def outside(self, occurrence: Occurrence) -> Iterator[Stmt]:
        """Checks of bounds, and of overflow of the position in flat memory."""
        for need in self.here.needs(occurrence):
            texts = {"index": spelled(need.at), "dimension": need.number}
            fail = self.fail(occurrence, "bounds", numbers_of(need), **texts)
            yield IfThenElse(is_outside(need), fail)
        data = self.here.defined.views.base(occurrence.data)
        memory = self.here.memory.get(data)
        extents = [extent for _, extent in memory.region] if memory is not None else []
        if len(occurrence.indices) < 2 or all(type(extent) is IntImm for extent in extents):
            return
        if any(part.dtype != "int32" for part in (*occurrence.indices, *extents)):
            return
        position = self.place(occurrence, data)
        if position is not None:
            wraps = ops.less(IntImm(_INT32[1], "int64"), position)
            text = ", ".join(map(str, occurrence.indices))
            part = f"the place of {self.here.name_of(occurrence)}[{text}] in memory"
            yield IfThenElse(
                wraps, self.fail(occurrence, "overflow", (position,), index="", part=part)
            )

    def place(self, occurrence: Occurrence, data: Var) -> Expr | None:
        """The number of an element in its memory."""
        memory = self.here.memory[data]
        indices = [widen(index) for index in occurrence.indices]
        view = self.here.defined.views.get(occurrence.data)
        if view is not None:
            if len(view.begins) < len(indices):
                return None
            begins = tuple(widen(begin) for begin in view.begins)
            indices = list(View(view.data, begins, ()).outside(indices))
        assert occurrence.buffer is not None
        if dtypes.storage_bytes(memory.dtype) != dtypes.storage_bytes(occurrence.buffer.dtype):
            return None
        if len(indices) != len(memory.region):
            return indices[0] if len(indices) == 1 else None
        for number, (_, extent) in enumerate(memory.region):
            if self.here.repeats(occurrence, occurrence.indices[number]):
                is_more = ops.not_equal(extent, IntImm(1, extent.dtype))
                indices[number] = ops.mul(indices[number], Cast("int64", is_more))
        if len(indices) == 1:
            return ops.sub(indices[0], widen(memory.region[0][0]))
        position: Expr = _ZERO
        for index, (low, extent) in zip(indices, memory.region, strict=True):
            position = ops.add(ops.mul(position, widen(extent)), ops.sub(index, widen(low)))
        return position

    def given(self, occurrence: Occurrence, shadow: ShadowMemory) -> Iterator[Stmt]:
        """An external function may write all elements of a pointer argument."""
        if shadow.written is not None and occurrence.writes:
            position = Var("place", "int64")
            note = store(shadow.written, position, IntImm(1, "uint8"))
            yield For(position, _ZERO, shadow.written.shape[0], "serial", note)

    def unwritten(
        self, occurrence: Occurrence, shadow: ShadowMemory, position: Expr
    ) -> Iterator[Stmt]:
        """A check that an element is written before it is read."""
        if occurrence.reads and shadow.written is not None:
            is_new = ops.equal(load(shadow.written, position), IntImm(0, "uint8"))
            numbers = [widen(index) for index in occurrence.indices]
            yield IfThenElse(is_new, self.fail(occurrence, "uninitialized", numbers))

    def raced(self, occurrence: Occurrence, shadow: ShadowMemory, position: Expr) -> Iterator[Stmt]:
        """Checks of races with other iterations, and the update of the shadow memory."""
        if occurrence.is_atomic:
            return  # atomic accesses do not race with each other
        for depth, level in enumerate(self.levels):
            traces = shadow.traces.get(depth)
            if traces is not None:
                yield from self.met(occurrence, level, traces, position)

    def met(
        self, occurrence: Occurrence, level: _Level, traces: Traces, position: Expr
    ) -> Iterator[Stmt]:
        loop, first = level.loop, level.first
        number = Var("number", "int64")
        notes: list[Stmt] = []
        wanted = [(traces.writer, "wrote")]
        if occurrence.writes:
            wanted += [(traces.reader, "read"), (traces.other, "read")]
        numbers = [widen(index) for index in occurrence.indices]
        for buffer, did in wanted:
            seen = load(buffer, position)
            meets = ops.logical_and(ops.less_equal(first, seen), ops.not_equal(seen, number))
            iteration = ops.add(ops.sub(seen, first), widen(loop.min))
            how = {"axis": loop.loop_var.name, "how": loop.kind, "did": did}
            fail = self.fail(occurrence, "race", (widen(loop.loop_var), iteration, *numbers), **how)
            notes.append(IfThenElse(meets, fail))
        if occurrence.writes:
            notes.append(store(traces.writer, position, number))
        else:
            reader = load(traces.reader, position)
            moves = sequence(
                [store(traces.other, position, reader), store(traces.reader, position, number)]
            )
            notes.append(IfThenElse(ops.not_equal(reader, number), moves))
        yield LetStmt(number, level.number, sequence(notes))


def _lane_of_guard(guard: Guard, lane: Expr) -> Guard:
    return guard if isinstance(guard, tuple) else lane_of(guard, lane)
