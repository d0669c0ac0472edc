"""The accesses of a program: their elements in each memory, and their order.

Reads programs of any level, from the result of `schedule_ops` to compiled ones. Views that extern
operations and tensor intrinsics declare are resolved to the buffers they are views of; an external
function that receives a view accesses all of it, as declared. Must not know analyses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from te_sched.arith.aliasing import Apart, Touch
from te_sched.arith.conditions import conjuncts
from te_sched.arith.evaluate import evaluate
from te_sched.arith.executions import Execution, sample_sizes
from te_sched.arith.forms import Forms, Parts
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Add, Broadcast, BufferLoad, Call, Expr, IntImm, Not, Ramp, Var, node
from te_sched.ir.kernel import launched
from te_sched.ir.occurrences import Occurrence, occurrences_of
from te_sched.ir.scopes import Loop, Memory, Scope, scope_of, scoped
from te_sched.ir.stmt import AttrStmt, BufferStore, PrimFunc, Stmt
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import StatementMapper, Substitute, variables_of, walk

_ONE = IntImm(1)


@node
class Access:
    """One read or write. `index` and `sizes` are its elements, None if unknown.

    `order` is its position in the program: numbers of statements, and loops. It is executed if
    `conditions` hold; `is_sure` says whether they are sufficient. `by_call` marks accesses of
    external functions, `by_user` those in bodies written by the user.
    """

    data: Var
    writes: bool
    index: tuple[Expr, ...] | None
    sizes: tuple[Expr, ...]
    loops: tuple[Loop, ...]
    conditions: tuple[Expr, ...]
    order: tuple[Any, ...]
    is_sure: bool = True
    store: BufferStore | None = None
    by_call: bool = False
    by_user: bool = False


@dataclass(slots=True)
class ProgramAccesses:
    """The accesses of a function, its memory, and the values of its lets. `parts` are the quotients
    and remainders in its `forms`, which are the same in all of them, `bound` has forms by loops.
    """

    func: PrimFunc
    memory: dict[Var, Memory]
    values: dict[Var, Expr]
    accesses: list[Access] = field(default_factory=list)
    loops: dict[Loop, None] = field(default_factory=dict)
    parts: Parts = field(default_factory=dict)
    bound: dict[tuple[Loop, ...], Forms] = field(default_factory=dict)

    def forms(self, *accesses: Access) -> Forms:
        """Forms with the loops around some accesses. Variables in shapes and strides are at least
        1: an empty array has no accesses.
        """
        loops = tuple(dict.fromkeys([loop for access in accesses for loop in access.loops]))
        bound = self.bound.get(loops)
        if bound is not None:
            return bound.alike()
        buffers = self.func.buffer_map.values()
        sizes = [size for buffer in buffers for size in (*buffer.shape, *buffer.strides)]
        forms = Forms(dict.fromkeys(variables_of(*sizes), 1), self.values, self.parts)
        for loop in loops:
            if loop.var not in forms.ranges:
                forms.bind(loop.var, loop.min, loop.extent)
        if not forms.opaque:
            self.bound[loops] = forms.alike()
        return forms

    def are_apart(
        self, a: Access, b: Access, loops: Iterable[Loop], serial: Iterable[Loop]
    ) -> bool:
        """Whether two accesses are proved disjoint in different iterations of `loops`, within one
        iteration of the `serial` loops.
        """
        if a.index is None or b.index is None:
            return False
        own, fixed = ([loop.var for loop in some] for some in (loops, serial))
        return Apart(self.forms(a, b), own, fixed, self.memory.keys()).is_proved(
            Touch(a.index, a.sizes, a.conditions), Touch(b.index, b.sizes, b.conditions)
        )


def by_memory(accesses: Iterable[Access]) -> dict[Var, list[Access]]:
    """The accesses to each memory."""
    groups: dict[Var, list[Access]] = {}
    for access in accesses:
        groups.setdefault(access.data, []).append(access)
    return groups


def executions_of(program: ProgramAccesses, limit: int) -> Iterator[Execution]:
    """Executions of a program for sample sizes, or a single one if it has no symbolic sizes.

    A result that holds for all samples is taken to hold for all but a few sizes.
    """
    symbols: dict[Var, None] = {}
    strides: list[tuple[Var, Expr]] = []
    for buffer in program.func.buffer_map.values():
        for extent in buffer.shape:
            symbols.update((part, None) for part in walk(extent) if type(part) is Var)
        following: Expr = _ONE
        for stride, extent in zip(reversed(buffer.strides), reversed(buffer.shape), strict=False):
            if type(stride) is Var:
                strides.append((stride, following))
            following = ops.mul(following, extent)
    symbols.update((param, None) for param in program.func.params if param.dtype != "handle")
    for values in sample_sizes(symbols):
        shown = dict(values)
        for stride, extent in strides:
            shown[stride] = evaluate(extent, values, program.values)
        yield Execution(program.values, shown, limit)


def reads_own(store: BufferStore) -> bool:
    """Whether a store updates its element: the value depends on the element it replaces."""
    return any(
        type(part) is BufferLoad
        and part.buffer.data is store.buffer.data
        and all(map(same, part.indices, store.indices))
        for part in walk(store.value)
    )


def accesses_of(func: PrimFunc) -> ProgramAccesses:
    """All accesses of a function."""
    collector = _AccessCollector(func)
    for statement, scope in scoped(_with_one_thread_each(func.body), collector.scope):
        collector.collect(statement, scope)
    return collector.program


def _with_one_thread_each(body: Stmt) -> Stmt:
    """The body with one variable per thread axis, since a kernel has one value for each."""
    tags = [*launched(body).values()]
    return body if len(set(tags)) == len(tags) else _Kernels().visit(body)


class _Kernels(StatementMapper):
    """Renames variables of threads; a stage may use threads that are launched later."""

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key != "thread_extent":
            return self.generic(node)
        first: dict[str, Var] = {}
        axes = launched(node).items()
        return _ThreadRenamer({var: first.setdefault(tag, var) for var, tag in axes}).visit(node)


class _ThreadRenamer(Substitute):
    """Renames variables; shared expressions remain shared."""

    def __init__(self, mapping: dict[Var, Expr]) -> None:
        super().__init__(mapping)
        self.known: dict[Expr, Expr] = {}

    def visit_Expr(self, node: Expr) -> Expr:
        result = self.known.get(node)
        if result is None:
            result = self.known[node] = self.generic(node)
        return result


class _AccessCollector:
    """Collects the accesses of statements, in the order in which they run."""

    def __init__(self, func: PrimFunc) -> None:
        self.scope = scope_of(func)
        defined = self.scope.defined
        self.views = defined.views
        self.program = ProgramAccesses(func, defined.memory, defined.values)
        self.is_by_user = "from_legacy_te_schedule" not in func.attrs

    def collect(self, node: Any, scope: Scope) -> None:
        """Collect the accesses of a statement itself: a store reads first, then writes."""
        if scope.loops:
            self.program.loops[scope.loops[-1]] = None
        occurrences = occurrences_of(node)
        if type(node) is not BufferStore:
            for occurrence in occurrences:
                self.touched(occurrence, scope)
            return
        for occurrence in occurrences[:-1]:
            self.touched(occurrence, scope.numbered(0), node)
        self.touched(occurrences[-1], scope.numbered(1), node)

    def touched(
        self, occurrence: Occurrence, scope: Scope, store: BufferStore | None = None
    ) -> None:
        """Collect one access of a statement."""
        if occurrence.is_atomic:
            return  # never races
        for guard in occurrence.guards:
            if isinstance(guard, tuple):
                self.program.values[guard[0]] = guard[1]
            else:
                scope = scope.under(guard)
        if occurrence.buffer is not None:
            self.touch(occurrence, scope, store)
        else:
            self.given(occurrence, scope)

    def given(self, occurrence: Occurrence, scope: Scope) -> None:
        """An external function with a pointer argument accesses its declared region."""
        data, view, memory = (
            occurrence.data,
            self.views.get(occurrence.data),
            self.program.memory.get(occurrence.data),
        )
        index: tuple[Expr, ...] | None = None
        sizes: tuple[Expr, ...] = () if occurrence.extent is None else (occurrence.extent,)
        if view is not None:
            data, index, sizes = view.data, view.begins, view.extents
        elif occurrence.extent is not None and memory is not None and len(memory.region) == 1:
            index = occurrence.indices
        # a region declared for reading and writing may be either
        is_sure = (
            scope.is_sure and index is not None and not (occurrence.reads and occurrence.writes)
        )
        self.add(scope, data, occurrence.writes, index, sizes, None, is_sure, True)

    def touch(self, occurrence: Occurrence, scope: Scope, store: BufferStore | None) -> None:
        """Collect an access of one element or of the lanes of a vector."""
        data, sizes = occurrence.data, [_ONE] * len(occurrence.indices)
        index: list[Expr] | None = list(occurrence.indices)
        for dim, part in enumerate(occurrence.indices):
            if type(part) is Ramp:
                if not ops.is_const(part.stride, 1) or occurrence.predicate is not None:
                    return self.lanes(occurrence, scope, dim, part, store)
                assert index is not None
                index[dim], sizes[dim] = part.base, IntImm(part.lanes)
            elif dtypes.lanes(part.dtype) > 1:
                index = None
                break
        view = self.views.get(data)
        if view is not None:
            data = view.data
            if index is not None and len(index) <= len(view.begins):
                sizes = [_ONE] * (len(view.begins) - len(index)) + sizes
                index = list(view.outside(index))
            else:
                index = None
        memory = self.program.memory.get(data)
        if index is not None and memory is not None and len(index) != len(memory.region):
            is_flat = len(memory.region) > 1 and len(index) == 1 and memory.is_argument
            index = index if is_flat else None
        if index is None:
            self.add(scope, data, occurrence.writes, None, (), store)
        else:
            self.add(
                scope, data, occurrence.writes, tuple(index), tuple(sizes), store, scope.is_sure
            )

    def lanes(
        self, occurrence: Occurrence, scope: Scope, dim: int, ramp: Ramp, store: BufferStore | None
    ) -> None:
        """Collect the lanes of a strided vector, or of some lanes, as a loop over them."""
        lane = Var("lane", ramp.base.dtype)
        loop = Loop(lane, IntImm(0), IntImm(ramp.lanes), "serial")
        part = Add(ramp.base, ops.mul(lane, ramp.stride))
        indices = (*occurrence.indices[:dim], part, *occurrence.indices[dim + 1 :])
        scope = scope.within(loop)
        for mask in () if occurrence.predicate is None else conjuncts(occurrence.predicate):
            condition = _condition_of_lane(mask, lane)
            scope = scope if condition is None else scope.under(condition)
        self.touch(occurrence._replace(indices=indices, predicate=None), scope, store)

    def add(
        self,
        scope: Scope,
        data: Var,
        writes: bool,
        index: tuple[Expr, ...] | None,
        sizes: tuple[Expr, ...],
        store: BufferStore | None,
        is_sure: bool = False,
        by_call: bool = False,
    ) -> None:
        """Add an access."""
        self.program.accesses.append(
            Access(
                data,
                writes,
                index,
                sizes,
                scope.loops,
                scope.conditions,
                scope.order,
                is_sure,
                store,
                by_call,
                self.is_by_user or scope.extern is not None,
            )
        )


def _condition_of_lane(mask: Expr, lane: Var) -> Expr | None:
    """What holds for a lane with a bit of a mask; None if that is not known."""
    if isinstance(mask, Broadcast):
        return mask.value
    if isinstance(mask, Not):
        condition = _condition_of_lane(mask.a, lane)
        return None if condition is None else ops.logical_not(condition)
    if isinstance(mask, Call) and mask.op == "tir.get_active_lane_mask":
        start, limit = mask.args
        return ops.less(start + lane.astype(start.dtype), limit)
    return None
