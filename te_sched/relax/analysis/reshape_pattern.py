"""Whether a function only copies the elements of a tensor in their order: a reshape."""

from __future__ import annotations

from collections.abc import Sequence

from te_sched.arith.analyzer import Analyzer
from te_sched.ir import ops
from te_sched.ir.blocks import Block
from te_sched.ir.expr import BufferLoad, Expr, FloorDiv, FloorMod, IntImm, Range, Var
from te_sched.ir.stmt import BufferStore, For, PrimFunc
from te_sched.ir.visitor import Mapper, walk


def has_reshape_pattern(func: PrimFunc) -> bool:
    """Whether the last buffer of a function gets the elements of the first one, in their order.

    >>> from te_sched import te, topi
    >>> A = te.placeholder((4, 6), name="A")
    >>> has_reshape_pattern(te.create_prim_func([A, topi.reshape(A, (3, 8))]))
    True
    >>> has_reshape_pattern(te.create_prim_func([A, topi.transpose(A)]))
    False
    """
    buffers = [func.buffer_map[param] for param in func.params if param in func.buffer_map]
    stores = [part for part in walk(func.body) if isinstance(part, BufferStore)]
    if len(buffers) < 2 or len(stores) != 1:
        return False
    source, target = buffers[0], buffers[-1]
    (store,) = stores
    load = store.value
    if not isinstance(load, BufferLoad) or load.buffer is not source or store.buffer is not target:
        return False
    if any(ops.is_const(size, 0) for size in (*source.shape, *target.shape)):
        return False
    analyzer = Analyzer()
    values: dict[Var, Expr] = {}
    for node in walk(func.body):
        _bind(node, analyzer, values)
    if any(isinstance(part, Block) and part.init is not None for part in walk(func.body)):
        return False
    simplify = _InRange(analyzer, values).visit
    written = [simplify(index) for index in store.indices]
    read = [simplify(index) for index in load.indices]
    position = _flat(target.shape, written)
    if analyzer.can_prove_equal(_flat(source.shape, read), position):
        return True
    expected = _indices_of(position, source.shape)
    return all(map(analyzer.can_prove_equal, read, map(simplify, expected)))


def _bind(node: object, analyzer: Analyzer, values: dict[Var, Expr]) -> None:
    """Tell the analyzer the range of an axis or loop; one of a single value is that value."""
    if isinstance(node, Block):
        domains = [(iter_var.var, iter_var.dom) for iter_var in node.iter_vars]
    elif isinstance(node, For):
        domains = [(node.loop_var, Range(node.min, node.extent))]
    else:
        return
    for var, domain in domains:
        if domain is None:
            continue
        if ops.is_const(domain.extent, 1):
            values[var] = domain.min
            continue
        if not isinstance(domain.extent, IntImm):
            analyzer.mark_nonnegative(domain.extent)
        analyzer.bind(var, domain)


class _InRange(Mapper):
    """Simplifies i % n and i // n for 0 <= i < n, with n a variable."""

    def __init__(self, analyzer: Analyzer, values: dict[Var, Expr]) -> None:
        self._analyzer, self._values = analyzer, values

    def visit_Var(self, node: Var) -> Expr:
        return self._values.get(node, node)

    def visit_FloorMod(self, node: FloorMod) -> Expr:
        new = self.generic(node)
        return new.a if self._is_in_range(new) else new

    def visit_FloorDiv(self, node: FloorDiv) -> Expr:
        new = self.generic(node)
        return ops.const(0, new.dtype) if self._is_in_range(new) else new

    def _is_in_range(self, node: FloorMod | FloorDiv) -> bool:
        analyzer, value = self._analyzer, self._analyzer.simplify(node.a)
        return analyzer.can_prove_greater_equal(value, 0) and analyzer.can_prove(value < node.b)


def _flat(shape: Sequence[Expr], indices: Sequence[Expr]) -> Expr:
    """The position of an element in the order of memory."""
    flat_index: Expr = ops.const(0, indices[0].dtype if indices else "int64")
    for size, index in zip(shape, indices, strict=True):
        flat_index = flat_index * size + index
    return flat_index


def _indices_of(position: Expr, shape: Sequence[Expr]) -> list[Expr]:
    """The indices of an element of a tensor, from its position in memory."""
    indices: list[Expr] = []
    for dim, size in enumerate(reversed(shape)):
        indices.append(position if dim == len(shape) - 1 else ops.floormod(position, size))
        position = ops.floordiv(position, size)
    return indices[::-1]
