"""Working sets, reuse and arithmetic of loops, from the loops as scheduled.

A loop is measured in the middle iteration of each loop around it, which is rarely at a border, and
in the first thread. A temporary that is allocated inside of it counts once, since all iterations
use the same memory. Must not know how elements are counted, nor how figures are shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from te_sched.analysis.programs.accesses import Access, ProgramAccesses, accesses_of
from te_sched.deep_recursion import walks_deeply
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.choices import choice_of
from te_sched.ir.expr import Expr, IntImm, Var
from te_sched.ir.kernel import bytes_of
from te_sched.ir.scopes import Loop, loop_of, scoped
from te_sched.ir.visitor import children, parts_of
from te_sched.story.footprint import ArrayReference, Box, Unknown, distinct, executions
from te_sched.story.model import Figures, Traffic

_ARITHMETIC = (E.Add, E.Sub, E.Mul, E.Div, E.FloorDiv, E.FloorMod, E.Mod, E.Min, E.Max)
_NOT_ARITHMETIC = frozenset(
    ("tir.likely", "tir.if_then_else", "tir.reinterpret", "tir.tvm_access_ptr", "tir.address_of")
)


@walks_deeply("count what loops touch")
def figures_of_loops(func: S.PrimFunc, stage_of: Callable[[Var], str]) -> dict[int, Figures]:
    """The figures of each loop of a function, and of the function itself, by identity."""
    program = accesses_of(func)
    counter = _Counter(program, stage_of)
    figures = {id(func): counter.figures(())}
    parents = {
        access.loops[: k + 1] for access in program.accesses for k in range(len(access.loops))
    }
    chains = {chain[-1]: chain for chain in parents}
    remaining = iter(program.loops)
    for node, scope in scoped(func.body):
        loop, tags = loop_of(node), [outer.tag for outer in scope.loops if outer.is_launched]
        if loop is not None and not (loop.is_launched and loop.tag in tags):
            key = next(remaining)  # of threads, at their first launch
            if key in chains:
                figures[id(node)] = counter.figures(chains[key])
    return figures


class _Counter:
    """Counts for the loops of one program. A chain is the loops from the outermost to one."""

    def __init__(self, program: ProgramAccesses, stage_of: Callable[[Var], str]) -> None:
        self.program, self.stage_of = program, stage_of
        self.elements = cache(self._elements)  # reused by the loop and the one around it

    def figures(self, chain: tuple[Loop, ...]) -> Figures:
        """The figures of the last loop of a chain; of an empty one, those of the function."""
        depth = len(chain)
        inside = [access for access in self.program.accesses if access.loops[:depth] == chain]
        standing = max(depth - 1, 0)
        notes: dict[str, None] = {}
        counts = [
            self._traffic(
                data, tuple([access for access in inside if access.data is data]), depth, notes
            )
            for data in dict.fromkeys([access.data for access in inside])
        ]
        buffers = tuple([traffic for traffic, _ in counts])
        operations = _sum([self._operations(access, standing, notes) for access in inside])
        whole = _sum([traffic.whole for traffic in buffers])
        elements = _sum([count for _, count in counts])
        return Figures(
            _sum([traffic.iteration for traffic in buffers]),
            whole,
            _ratio(_sum([traffic.accesses for traffic in buffers]), elements),
            operations,
            _ratio(operations, whole),
            buffers,
            "; ".join(notes),
        )

    def _traffic(
        self, data: Var, accesses: tuple[Access, ...], depth: int, notes: dict[str, None]
    ) -> tuple[Traffic, int | None]:
        """The traffic of accesses to one buffer, and the number of its elements that they touch."""
        name, standing = self._name(data), max(depth - 1, 0)

        def known(count: Callable[[], int]) -> int | None:
            try:
                return count()
            except Unknown as error:
                notes[f"{name}: {error}"] = None
                return None

        memory = self.program.memory.get(data)
        size = 1 if memory is None else dtypes.storage_bytes(memory.dtype)
        iteration = known(lambda: self.elements(accesses, depth))
        whole = known(lambda: self.elements(accesses, standing))
        times = known(lambda: sum(self._times(access, standing) for access in accesses))
        traffic = Traffic(
            name,
            self.stage_of(data),
            None if iteration is None else iteration * size,
            None if whole is None else whole * size,
            times,
            _ratio(times, whole),
        )
        return traffic, whole

    def _name(self, data: Var) -> str:
        memory = self.program.memory.get(data)
        return memory.name if memory is not None else data.name

    def _box(self, loops: Sequence[Loop], standing: int) -> Box:
        """The middle iteration of the outer loops, all of the others."""
        box = Box({}, {}, self.program.values)
        for loop in loops[:standing]:
            box = Box({}, {**box.standing, loop.var: _middle(loop, box)}, box.lets)
        running: dict[Var, tuple[int, int]] = {}
        for loop in loops[standing:]:
            if Box(running, box.standing, box.lets).variables(loop.extent):
                raise Unknown("the number of iterations varies")
            running[loop.var] = box.value(loop.min), box.value(loop.extent)
        return Box(running, box.standing, box.lets)

    def _elements(self, accesses: tuple[Access, ...], standing: int) -> int:
        """The distinct elements that accesses to one buffer touch. Accesses in different loops are
        combined in a box of all these loops.
        """
        loops = dict.fromkeys([loop for access in accesses for loop in access.loops[standing:]])
        outer = accesses[0].loops[:standing]
        return distinct(
            [self._reference(access) for access in accesses], self._box((*outer, *loops), standing)
        )

    def _reference(self, access: Access) -> ArrayReference:
        if access.index is None:
            raise Unknown("it is not known which elements are touched")
        memory = self.program.memory.get(access.data)
        begins = access.index
        if memory is not None and not memory.is_argument and len(memory.region) == len(begins):
            begins = tuple(
                [ops.sub(index, low) for index, (low, _) in zip(begins, memory.region, strict=True)]
            )
        return ArrayReference(begins, access.sizes, access.conditions)

    def _times(self, access: Access, standing: int) -> int:
        """The number of elements that an access loads or stores."""
        box = self._box(access.loops, standing)
        return executions(access.conditions, box) * math.prod(map(box.value, access.sizes))

    def _operations(self, access: Access, standing: int, notes: dict[str, None]) -> int | None:
        """The arithmetic of a store."""
        if access.by_call:
            notes["what functions from outside compute is not counted"] = None
            return None
        if not access.writes or access.store is None:
            return 0
        try:
            each = _arithmetic(access.store.value)
            return each * executions(access.conditions, self._box(access.loops, standing))
        except Unknown as error:
            notes[f"{self._name(access.data)}: {error}"] = None
            return None


def _middle(loop: Loop, box: Box) -> int:
    """A representative iteration; for threads the first, which executes most statements."""
    begin = box.value(loop.min)
    if loop.kind == "thread":
        return begin
    try:
        return begin + box.value(loop.extent) // 2
    except Unknown:  # of a symbolic size
        return begin


def _arithmetic(e: Expr) -> int:
    """Operations on values in an expression, one for each lane, without indices and choices."""
    if isinstance(e, E.BufferLoad | Var | IntImm):
        return 0
    own = isinstance(e, _ARITHMETIC) or (isinstance(e, E.Call) and e.op not in _NOT_ARITHMETIC)
    choice = choice_of(e)
    parts = children(e) if choice is None else choice[1:]
    inner = sum([_arithmetic(part) for part in parts if isinstance(part, Expr)])
    return inner + (dtypes.lanes(e.dtype) if own else 0)


def _sum(parts: Sequence[Any]) -> Any:
    return None if any(part is None for part in parts) else sum(parts)


def _ratio(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None


def temporary_bytes(func: S.PrimFunc) -> int | None:
    """The peak memory of temporaries of one thread, after lowering."""
    return _peak(func.body)


def _peak(node: Any) -> int | None:
    if isinstance(node, S.Allocate):
        inner, size = _peak(node.body), bytes_of(node)
        return inner + size.value if inner is not None and isinstance(size, IntImm) else None
    peaks = [_peak(part) for part in parts_of(node)]
    sizes = [peak for peak in peaks if peak is not None]
    return max(sizes, default=0) if len(sizes) == len(peaks) else None
