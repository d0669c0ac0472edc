"""Windows over open sizes, padded so that tiles of results need no guards.

    for i, k in grid(n, 3): C[i] += P[i * 2 + k] * W[k]         P: (size,)

with 4 results in a tile becomes

    for i, k in grid(m, 3): C[i] += P[i * 2 + k] * W[k]         P: (m * 2 + 1,), m: (n + 3) // 4 * 4

The block before, which writes what the windows read, writes zeros for the rest; what reads the
results leaves it out. Where no block writes them, rows of a tile beyond the last one read the last
one again. All dimensions of windows get their sizes from the results, so that no access
depends on how the sizes of the two are related. Must not know which tiles are chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts
from te_sched.arith.detect import detect_linear_equation
from te_sched.dlight.structure import contraction_of, is_along
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.choices import choice_of
from te_sched.ir.expr import (
    LE,
    LT,
    Buffer,
    BufferLoad,
    BufferRegion,
    Expr,
    FloatImm,
    IntImm,
    IterVar,
    Range,
    Var,
)
from te_sched.ir.intrinsics import if_then_else
from te_sched.ir.stmt import BufferStore, For, PrimFunc, SeqStmt, Stmt
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import ReferenceMapper, replace, substitute, variables_of
from te_sched.tensorir.copies import copy_nest
from te_sched.tensorir.facts.axes import SPATIAL, extent_of, multiple_of
from te_sched.tensorir.facts.computations import factors_of, is_copy, is_injective, loads_of, stored

# The numbers of which the extents of iterators of a block shall be multiples, by their places.
Multiples = Callable[[Block], Mapping[int, int]]


def with_padded_windows(func: PrimFunc, multiples: Multiples) -> PrimFunc:
    """The function whose reductions over windows have extents that are multiples; a function in
    which each block has plain loops of its own.
    """
    for number in range(len(nests_of(func))):
        nests = nests_of(func)
        sizes = multiples(nests[number].block)
        windows = _windows_of(func, nests, nests[number], sizes) if sizes else None
        if windows is not None:
            func = replace(func, body=_WindowPadder(windows).visit(func.body))
    return func


class LoopsOfBlock(NamedTuple):
    """The loops around a block, which are the values of its iterators."""

    loops: list[For]
    block: Block


class _Windows(NamedTuple):
    """What changes: the extents of loops and iterators by their variables, the buffers, the block
    that writes what windows read with the conditions of its old elements, the outermost loop around
    the sums, and a nest that copies the results back, if they are a parameter. What is read that no
    block writes is `clamped`: with iterators up to their `last` values.
    """

    extents: dict[Var, Expr]
    buffers: dict[Buffer, Buffer]
    store: BufferStore | None
    conditions: list[Expr]
    outermost: Var
    back: Stmt | None
    clamped: set[Buffer]
    last: dict[Var, Expr]


def nests_of(func: PrimFunc) -> list[LoopsOfBlock]:
    """The blocks of the root block that have plain loops."""
    root = func.body
    if not isinstance(root, BlockRealize):
        return []
    body = root.block.body
    nests = []
    for part in body.seq if isinstance(body, SeqStmt) else (body,):
        loops: list[For] = []
        inner: Stmt = part
        while isinstance(inner, For) and inner.kind == "serial" and not inner.annotations:
            loops.append(inner)
            inner = inner.body
        if isinstance(inner, BlockRealize) and [*map(id, inner.iter_values)] == [
            id(loop.loop_var) for loop in loops
        ]:
            nests.append(LoopsOfBlock(loops, inner.block))
    return nests


def _windows_of(
    func: PrimFunc, nests: list[LoopsOfBlock], nest: LoopsOfBlock, sizes: Mapping[int, int]
) -> _Windows | None:
    """How the windows of a sum of products are padded; None if they are not plain."""
    block, store = nest.block, stored(nest.block)
    factors = factors_of(block)
    loads = loads_of(block) if factors is None else factors
    if store is None or not nest.loops:
        return None
    padded: dict[Var, Expr] = {}
    for axis_number, size in sizes.items():
        axis = block.iter_vars[axis_number]
        assert axis.dom is not None
        number = IntImm(size, axis.dtype)
        padded[axis.var] = ops.floordiv(axis.dom.extent + (size - 1), number) * number
    domains = {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}
    last = {var: domains[var].extent - 1 for var in padded}
    extents = padded | _with_loops(nest, padded)
    buffers, clamped, written = dict[Buffer, Buffer](), set[Buffer](), None
    conditions: list[Expr] = []
    contraction = contraction_of(block)
    for load in loads:
        is_broadcast = (
            contraction is not None
            and contraction.is_plain
            and same(load, contraction.operands[1 - contraction.wide])
        )
        own = padded.keys() & variables_of(*load.indices)
        is_plain = all(isinstance(index, Var | IntImm) for index in load.indices)
        writer = None if is_plain or not own else _writer_of(func, nests, load.buffer)
        shape = None if writer is None else _shape_of(load, block, padded)
        is_border = writer is not None and not is_copy(writer.block)
        if shape is not None and (is_border or not _are_multiples(block, sizes)):
            shape[-1] = _in_vectors(shape[-1], load, block, sizes)
        if writer is not None and shape is not None and written is None:
            changes = _changes(writer, shape)
            extents |= changes | _with_loops(writer, changes)
            buffers[load.buffer] = _like(load.buffer, shape)
            written = stored(writer.block)
            assert written is not None  # of an injective block
            conditions = _conditions(written, writer, changes)
        elif not is_plain and not is_broadcast and any(is_along(load, var) for var in own):
            return None  # vectors would be read one by one
        elif own:
            clamped.add(load.buffer)
    if factors is None and (clamped or written is None):
        return None
    sums = [
        padded.get(index, size) if isinstance(index, Var) else size
        for index, size in zip(store.indices, store.buffer.shape, strict=True)
    ]
    result = buffers[store.buffer] = _like(store.buffer, sums)
    back = None
    if store.buffer in {*func.buffer_map.values()}:
        back = _copy_back(store.buffer, result)
    outermost = nest.loops[0].loop_var
    return _Windows(extents, buffers, written, conditions, outermost, back, clamped, last)


def _shape_of(load: BufferLoad, block: Block, padded: Mapping[Var, Expr]) -> list[Expr] | None:
    """The shape of what windows read, by the extents of the results."""
    analyzer = Analyzer()
    axes = {axis.var: axis for axis in block.iter_vars}
    sized = {axis.var for axis in block.iter_vars if extent_of(axis) is None} | padded.keys()
    for axis in block.iter_vars:
        if axis.dom is not None and axis.var not in sized:
            analyzer.bind(axis.var, axis.dom)
    shape: list[Expr] = []
    for index, size in zip(load.indices, load.buffer.shape, strict=True):
        outer = [axes[var] for var in variables_of(index) if var in sized]
        if not outer:
            shape.append(size)
            continue
        linear = detect_linear_equation(index, [axis.var for axis in outer])
        if len(outer) > 1 or outer[0].kind != SPATIAL or linear is None:
            return None
        stride, rest = linear
        least, most = analyzer.const_bounds(rest)
        if not isinstance(stride, IntImm) or stride.value < 1 or least != 0 or most is None:
            return None
        assert outer[0].dom is not None
        extent = padded.get(outer[0].var, outer[0].dom.extent)
        shape.append(analyzer.simplify(extent * stride + max(most + 1 - stride.value, 0)))
    return shape


def _are_multiples(block: Block, sizes: Mapping[int, int]) -> bool:
    return not any(
        multiple_of(block.iter_vars[axis_number]) % size for axis_number, size in sizes.items()
    )


def _in_vectors(size: Expr, load: BufferLoad, block: Block, sizes: Mapping[int, int]) -> Expr:
    """The size of rows that windows read, enlarged to vectors as rows of results have them."""
    used = variables_of(load.indices[-1])
    lanes = [
        number for axis_number, number in sizes.items() if block.iter_vars[axis_number].var in used
    ]
    if not lanes:
        return size
    number = IntImm(lanes[0], size.dtype)
    return Analyzer().simplify(ops.floordiv(size + (lanes[0] - 1), number) * number)


def _writer_of(func: PrimFunc, nests: list[LoopsOfBlock], buffer: Buffer) -> LoopsOfBlock | None:
    """The nest that writes a temporary which one other block reads."""
    if buffer in {*func.buffer_map.values()}:
        return None
    uses = [
        nest
        for nest in nests
        if any(region.buffer is buffer for region in (*nest.block.reads, *nest.block.writes))
    ]
    writers = [nest for nest in uses if nest.block.writes[0].buffer is buffer]
    if len(uses) != 2 or len(writers) != 1 or not is_injective(writers[0].block):
        return None
    own, store = writers[0].block, stored(writers[0].block)
    if store is None or [*map(id, store.indices)] != [id(axis.var) for axis in own.iter_vars]:
        return None
    return writers[0]


def _changes(writer: LoopsOfBlock, shape: list[Expr]) -> dict[Var, Expr]:
    """The extents of iterators of a writer that differ from those of its buffer."""
    analyzer = Analyzer()
    sizes = {}
    for axis, size in zip(writer.block.iter_vars, shape, strict=True):
        assert axis.dom is not None
        if not analyzer.can_prove_equal(axis.dom.extent, size):
            sizes[axis.var] = size
    return sizes


def _with_loops(nest: LoopsOfBlock, extents: Mapping[Var, Expr]) -> dict[Var, Expr]:
    """The extents of the loops of some iterators."""
    pairs = zip(nest.loops, nest.block.iter_vars, strict=True)
    return {loop.loop_var: extents[axis.var] for loop, axis in pairs if axis.var in extents}


def _conditions(
    store: BufferStore, writer: LoopsOfBlock, changes: Mapping[Var, Expr]
) -> list[Expr]:
    """What holds for the elements that a writer had before and may have others than now."""
    choice = choice_of(store.value)
    bounds = [*conjuncts(choice[0])] if choice is not None and _is_constant(choice[2]) else []
    analyzer = Analyzer()
    conditions: list[Expr] = []
    for axis in writer.block.iter_vars:
        if axis.var not in changes:
            continue
        assert axis.dom is not None
        extent = axis.dom.extent
        is_known = any(
            isinstance(bound, LT | LE)
            and bound.a is axis.var
            and analyzer.can_prove(bound.b + int(isinstance(bound, LE)) <= extent)
            for bound in bounds
        )
        if not is_known:
            conditions.append(axis.var < extent)
    return conditions


def _is_constant(value: Expr) -> bool:
    return isinstance(value, IntImm | FloatImm)


def _like(buffer: Buffer, shape: list[Expr]) -> Buffer:
    """A buffer of another shape."""
    sizes = [ops.cast(size.dtype, new) for size, new in zip(buffer.shape, shape, strict=True)]
    return decl_buffer(sizes, buffer.dtype, f"{buffer.name}_pad", scope=buffer.scope())


def _copy_back(buffer: Buffer, padded: Buffer) -> Stmt:
    """A nest that copies the elements of a buffer from its padded one."""
    axes = [
        IterVar(Range(IntImm(0, size.dtype), size), Var(f"v{dim}", size.dtype), SPATIAL)
        for dim, size in enumerate(buffer.shape)
    ]
    there: tuple[Expr, ...] = tuple([axis.var for axis in axes])
    return copy_nest(buffer.name, axes, padded, buffer, there, is_back=True, loop_name="i")


class _WindowPadder(ReferenceMapper):
    """Replaces buffers and extents, and adds conditions to the store of the writer."""

    def __init__(self, windows: _Windows) -> None:
        self.windows = windows
        self.data = {old.data: new.data for old, new in windows.buffers.items()}

    def visit_Var(self, node: Var) -> Var:
        return self.data.get(node, node)

    def renewed(self, node: Any) -> Any:
        if isinstance(node, Buffer):
            return self.windows.buffers.get(node) or self.generic(node)
        new = self.generic(node)
        extent = self.windows.extents.get(node.var) if isinstance(node, IterVar) else None
        return new if extent is None else replace(new, dom=replace(new.dom, extent=extent))

    def visit_For(self, node: For) -> Stmt:
        new = self.generic(node)
        extent = self.windows.extents.get(node.loop_var)
        new = new if extent is None else replace(new, extent=extent)
        is_last = node.loop_var is self.windows.outermost and self.windows.back is not None
        return SeqStmt((new, self.windows.back)) if is_last else new  # type: ignore[arg-type]

    def visit_BufferLoad(self, node: BufferLoad) -> BufferLoad:
        new: BufferLoad = self.generic(node)
        if node.buffer not in self.windows.clamped:
            return new
        return replace(new, indices=tuple(map(self._clamped, new.indices)))

    def visit_BufferRegion(self, node: BufferRegion) -> BufferRegion:
        new: BufferRegion = self.generic(node)
        if node.buffer not in self.windows.clamped:
            return new
        region = [replace(bound, min=self._clamped(bound.min)) for bound in new.region]
        return replace(new, region=tuple(region))

    def _clamped(self, index: Expr) -> Expr:
        least = {var: ops.minimum(var, last) for var, last in self.windows.last.items()}
        return substitute(index, least)

    def visit_Block(self, node: Block) -> Block:
        new: Block = self.generic(node)
        if self.windows.back is None or node.iter_vars:
            return new
        result = [*self.windows.buffers.values()][-1]  # in place of a parameter
        return replace(new, alloc_buffers=(*new.alloc_buffers, result))

    def visit_BufferStore(self, node: BufferStore) -> BufferStore:
        new: BufferStore = self.generic(node)
        if node is not self.windows.store or not self.windows.conditions:
            return new
        value, conditions = new.value, self.windows.conditions
        choice, rest = choice_of(value), ops.const(0, value.dtype)
        if choice is not None and _is_constant(choice[2]):
            conditions, value, rest = [choice[0], *conditions], choice[1], choice[2]
        holds = conditions[0]
        for condition in conditions[1:]:
            holds = ops.logical_and(holds, condition)
        return replace(new, value=if_then_else(holds, value, rest))
