"""Values of the padding that a new layout of a buffer adds.

A nest of loops that writes all elements of the buffer in their order is written anew, over the new
indices, and stores the value of the padding where the old buffer has no element. Otherwise a block
of its own writes the padding; that of a buffer which is only read is assumed. Must not know any
primitive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from te_sched.arith import index_map as maps
from te_sched.arith.analyzer import Analyzer
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.calls import call_intrin
from te_sched.ir.expr import (
    Buffer,
    BufferLoad,
    BufferRegion,
    Expr,
    IntImm,
    IterVar,
    Range,
    Var,
)
from te_sched.ir.index_map import IndexMap
from te_sched.ir.intrinsics import if_then_else
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import BufferStore, Evaluate, For, SeqStmt, Stmt
from te_sched.ir.visitor import reads_data, replace, substitute, variables_of, walk
from te_sched.tensorir.facts.axes import SPATIAL
from te_sched.tensorir.rewriting import Swap


class LayoutPadding(NamedTuple):
    """The padding of a buffer in a new layout.

    `inverse` gives the old indices of new ones, `condition` tells whether new indices, its initial
    ones, are padding, and `value` maps them to the value.
    """

    old: Buffer
    new: Buffer
    inverse: IndexMap
    condition: Expr
    value: IndexMap

    def old_indices(self, own: Sequence[Expr]) -> tuple[Expr, ...]:
        """The old indices of new ones."""
        return tuple([substitute(index, self._values(own)) for index in self.inverse.final_indices])

    def is_padding(self, own: Sequence[Expr]) -> Expr:
        """Whether new indices are padding."""
        return substitute(self.condition, self._values(own))

    def value_at(self, own: Sequence[Expr]) -> Expr:
        """The value of the padding at new indices."""
        (value,) = maps.substituted(self.value, own)
        return value

    def _values(self, own: Sequence[Expr]) -> dict[Var, Expr]:
        return dict(zip(self.inverse.initial_indices, own, strict=True))

    def variables(self, prefix: str = "axis") -> list[Var]:
        """New variables for the new indices."""
        return [Var(f"{prefix}{number}", size.dtype) for number, size in enumerate(self.new.shape)]

    def over_all(self, loops: Sequence[Var], body: Stmt) -> Stmt:
        """Loops over the new indices."""
        for var, size in reversed(list(zip(loops, self.new.shape, strict=True))):
            body = For(var, IntImm(0, var.dtype), size, "serial", body)
        return body

    def axes(self) -> list[IterVar]:
        """Iterators over the new indices."""
        pairs = zip(self.variables("v_axis"), self.new.shape, strict=True)
        return [IterVar(Range(IntImm(0, var.dtype), size), var, SPATIAL) for var, size in pairs]


def padding_block(padding: LayoutPadding) -> Stmt:
    """Loops around a block that writes the padding."""
    loops, axes = padding.variables(), padding.axes()
    own = tuple([axis.var for axis in axes])
    new = padding.new
    block = Block(
        tuple(axes),
        (),
        (_element(new, own),),
        f"buffer_{new.name}_padding",
        None,
        BufferStore(new, padding.value_at(own), own),
    )
    return padding.over_all(loops, BlockRealize(tuple(loops), padding.is_padding(loops), block))


def assumption_block(padding: LayoutPadding) -> Stmt:
    """Loops around a block that assumes the value of the padding."""
    loops, axes = padding.variables(), padding.axes()
    own = tuple([axis.var for axis in axes])
    new = padding.new
    is_value = ops.equal(BufferLoad(new, own), padding.value_at(own))
    holds = ops.logical_or(ops.logical_not(padding.is_padding(own)), is_value)
    block = Block(
        tuple(axes),
        (_element(new, own),),
        (),
        f"buffer_{new.name}_assumptions",
        None,
        Evaluate(call_intrin("bool", "tir.assume", holds)),
    )
    return padding.over_all(loops, BlockRealize(tuple(loops), ops.const(True), block))


def _element(buffer: Buffer, own: Sequence[Expr]) -> BufferRegion:
    return BufferRegion(buffer, tuple([Range(index, IntImm(1, index.dtype)) for index in own]))


def has_stores(statement: Any, buffer: Buffer) -> bool:
    """Whether a statement stores to a buffer."""
    return any(type(node) is BufferStore and node.buffer is buffer for node in walk(statement))


def padded_nest(padding: LayoutPadding, nest: For) -> tuple[Stmt, Mapping[Block, Block]] | None:
    """A nest that writes all elements of a buffer in their order, over the new indices, with the
    old blocks of new ones; None for other nests.
    """
    loops: list[For] = []
    body: Stmt = nest
    for size in padding.old.shape:
        if type(body) is not For or not _is_over(body, size):
            return None
        loops.append(body)
        body = body.body
    writes = _Writes(padding.old, [loop.loop_var for loop in loops])
    if not loops or not writes.check(body, {}) or not writes.count:
        return None
    mapper = _PaddedNest(padding, writes.loops)
    new = padding.over_all(mapper.loop_axes, mapper.visit(body))
    return new, mapper.continued


def _is_over(loop: For, size: Expr) -> bool:
    extent = loop.extent
    if loop.kind != "serial" or loop.thread_binding is not None or not is_const(loop.min, 0):
        return False
    if isinstance(extent, IntImm) and isinstance(size, IntImm):
        return extent.value == size.value
    return Analyzer().can_prove_equal(extent, size)


class _Writes:
    """Whether a statement in loops does nothing but store the element of a buffer whose indices are
    the loops.
    """

    def __init__(self, buffer: Buffer, loops: list[Var]) -> None:
        self.buffer, self.loops, self.count = buffer, loops, 0

    def check(self, statement: Any, bindings: Mapping[Var, Expr]) -> bool:
        """Check a statement in blocks whose iterators have values."""
        kind = type(statement)
        if kind is SeqStmt:
            return all([self.check(part, bindings) for part in statement.seq])
        if kind is For:
            is_plain = statement.kind == "serial" and statement.thread_binding is None
            return (
                is_plain
                and not reads_data(statement.min)
                and not reads_data(statement.extent)
                and self.check(statement.body, bindings)
            )
        if kind is BlockRealize:
            return self._check_block(statement, bindings)
        if kind is not BufferStore or statement.buffer is not self.buffer:
            return False
        self.count += 1
        loads = [
            node
            for node in walk(statement.value)
            if type(node) is BufferLoad and node.buffer is self.buffer
        ]
        return statement.predicate is None and all(
            self._is_own(access.indices, bindings) for access in (statement, *loads)
        )

    def _check_block(self, realize: BlockRealize, bindings: Mapping[Var, Expr]) -> bool:
        block = realize.block
        is_guarded = bool(variables_of(realize.predicate) & {*self.loops})
        if block.match_buffers or block.alloc_buffers or is_guarded:
            return False
        own = {
            axis.var: value
            for axis, value in zip(block.iter_vars, realize.iter_values, strict=True)
        }
        wanted = {*self.loops}
        used = [value for value in own.values() if variables_of(value) & wanted]
        is_bound = {*used} == wanted and len(used) == len(wanted)
        if used and not is_bound:
            return False
        parts = [block.body] if block.init is None else [block.init, block.body]
        return all([self.check(part, {**bindings, **own}) for part in parts])

    def _is_own(self, indices: Sequence[Expr], bindings: Mapping[Var, Expr]) -> bool:
        """Whether indices are the loops."""
        for index, loop in zip(indices, self.loops, strict=True):
            value: Any = index
            while type(value) is Var and value in bindings:
                value = bindings[value]
            if value is not loop:
                return False
        return True


class _PaddedNest(Swap):
    """Writes the body of a nest anew over the new indices."""

    def __init__(self, padding: LayoutPadding, loops: list[Var]) -> None:
        super().__init__({padding.old: padding.new}, is_everywhere=True)
        self.padding, self.loops = padding, loops
        self.loop_axes = padding.variables()
        self.own: tuple[Expr, ...] = tuple(self.loop_axes)
        self.values: dict[Var, Expr] = dict(zip(loops, padding.old_indices(self.own), strict=True))

    def visit_Var(self, node: Var) -> Any:
        return self.values.get(node, super().visit_Var(node))

    def visit_BlockRealize(self, node: BlockRealize) -> BlockRealize:
        places = [
            position for position, value in enumerate(node.iter_values) if value in {*self.loops}
        ]
        if not places:
            return self.generic(node)
        around, outer_values = self.own, self.values
        axes = self.padding.axes()
        self.own = tuple([axis.var for axis in axes])
        inside = dict(zip(self.loops, self.padding.old_indices(self.own), strict=True))
        bound = {
            node.block.iter_vars[position].var: node.iter_values[position] for position in places
        }
        new_axes: list[IterVar] = []
        values: list[Expr] = []
        for number, (axis, value) in enumerate(
            zip(node.block.iter_vars, node.iter_values, strict=True)
        ):
            if number == places[0]:
                new_axes += axes
                values += self.loop_axes
            if number not in places:
                new_axes.append(axis)
                values.append(self.visit(value))
        self.values = {**outer_values, **{var: inside[loop] for var, loop in bound.items()}}  # type: ignore[index]
        rest = replace(
            node.block,
            iter_vars=tuple([a for p, a in enumerate(node.block.iter_vars) if p not in places]),
        )
        mapped = self.generic(rest)
        block = replace(
            mapped,
            iter_vars=tuple([*new_axes[: places[0]], *axes, *mapped.iter_vars[places[0] :]]),
        )
        self.own, self.values = around, outer_values
        return replace(node, iter_values=tuple(values), block=self.note(block, node.block))

    def visit_BufferLoad(self, node: BufferLoad) -> Any:
        if node.buffer is self.padding.old:
            return BufferLoad(self.padding.new, self.own)
        return self.generic(node)

    def visit_BufferStore(self, node: BufferStore) -> BufferStore:
        value = if_then_else(
            self.padding.is_padding(self.own),
            self.padding.value_at(self.own),
            self.visit(node.value),
        )
        return BufferStore(self.padding.new, value, self.own)

    def visit_BufferRegion(self, node: BufferRegion) -> BufferRegion:
        if node.buffer is self.padding.old:
            return _element(self.padding.new, self.own)
        return self.generic(node)


def check_value(value: IndexMap, buffer: Buffer, shape: Sequence[Expr]) -> str:
    """The reason why a map cannot give the value of the padding of a buffer with a new shape; "" if
    it can.
    """
    if len(value.initial_indices) != len(shape):
        return f"pad_value takes {len(value.initial_indices)} indices, expected {len(shape)}"
    if len(value.final_indices) != 1:
        return f"pad_value gives {len(value.final_indices)} values, expected one"
    (pad_value,) = maps.substituted(value, [Var("index", size.dtype) for size in shape])
    if pad_value.dtype != buffer.dtype:
        return f"pad_value is {pad_value.dtype}, and {buffer.name} is {buffer.dtype}"
    if reads_data(pad_value):
        return f"pad_value is {pad_value}, which reads a buffer"
    return ""
