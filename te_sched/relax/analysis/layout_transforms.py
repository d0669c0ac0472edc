"""Which layouts the inputs of a function should have, if its results have others.

A block that writes `out[i, j]` and reads `a[i, j]` and `b[j]`, of a result with the layout
`lambda i, j: (j, i)`, is best transformed in the same way, as is a; b stays. Each layout is stated
in terms of the iterators of the block and carried over to what the block reads. Must not transform
anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import Literal

from te_sched.arith.detect import detect_linear_equation
from te_sched.arith.index_map import inverse, substituted, with_types_of
from te_sched.arith.iter_detect import IterMapLevel
from te_sched.arith.iter_map import detect_iter_map
from te_sched.errors import (
    DeclarationError,
    GraphAssertionError,
    GraphError,
    counted,
    kind_of,
    repr_of,
)
from te_sched.ir import ops
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Buffer, BufferLoad, Expr, Range, Var
from te_sched.ir.index_map import IndexMap
from te_sched.ir.stmt import BufferStore, PrimFunc, Stmt
from te_sched.ir.visitor import children, substitute, variables_of, walk
from te_sched.signatures import checked
from te_sched.tensorir.facts.axes import REDUCTION, SPATIAL
from te_sched.tir.index_map import IndexMap as _make_index_map


@checked
def suggest_layout_transforms(
    func: PrimFunc, write_buffer_transforms: Sequence[object]
) -> dict[Block, dict[Block | Buffer, IndexMap]]:
    """The layouts of blocks and buffers that fit given layouts of the results.

    Parameters
    ----------
    write_buffer_transforms : the layout of each of the last buffers of the function.

    Returns
    -------
    For each block the index map for its iterators (key: the block) and those of buffers. A block
    stays if it has inner blocks, or writes its result other than by one iterator for each
    dimension; a buffer if it is not read in the order of the iterators.

    Raises
    ------
    GraphError for more layouts than buffers, or a layout of another number of dimensions.

    >>> from te_sched import te, topi
    >>> x = te.placeholder((4, 6), name="x")
    >>> func = te.create_prim_func([x, topi.exp(x)])
    >>> (found,) = suggest_layout_transforms(func, [lambda i, j: (j, i)]).values()
    >>> sorted((key.name, str(one)) for key, one in found.items() if hasattr(key, "shape"))
    [('compute', 'T.index_map(lambda i, j: (j, i))'), ('x', 'T.index_map(lambda i0, i1: (i1, i0))')]
    """
    buffers = list(func.buffer_map.values())
    count = len(write_buffer_transforms)
    if count > len(buffers):
        raise GraphError(
            f"{count} layouts are given for a function of {counted(len(buffers), 'buffer')}",
            "each is that of a result",
            "give one for each result of the function",
            in_tvm="Incompatible PrimFunc and write_transformations",
        )
    results = buffers[len(buffers) - count :]
    pairs = zip(results, write_buffer_transforms, strict=True)
    suggestions = _Suggestions({buffer: _layout_of(buffer, layout) for buffer, layout in pairs})
    layouts_of = {block: suggestions.of(block) for block in reversed(_leaf_blocks(func))}
    return {block: layouts for block, layouts in layouts_of.items() if layouts}


def _layout_of(buffer: Buffer, layout: object) -> IndexMap:
    if callable(layout):
        layout = _make_index_map.from_func(layout, index_dtype="int64")
    if not isinstance(layout, IndexMap):
        raise GraphAssertionError(
            f"the layout of buffer {buffer.name} is {repr_of(layout)}",
            f"it is {kind_of(layout)}",
            "give an index map, or a function of indices",
        )
    if len(layout.initial_indices) != len(buffer.shape):
        raise GraphError(
            f"the layout of buffer {buffer.name} has "
            f"{counted(len(layout.initial_indices), 'index', 'indices')}, "
            f"expected {len(buffer.shape)}",
            f"it is {layout}",
            "give a map of as many indices as the buffer has dimensions",
            in_tvm="Mismatch between output buffer shape and index map",
        )
    return with_types_of(layout, buffer.shape)


def _leaf_blocks(func: PrimFunc) -> list[Block]:
    """The blocks directly in the function that have no inner blocks, in order."""
    blocks = _outermost(func.body)
    if len(blocks) == 1 and not blocks[0].iter_vars:  # the root block
        blocks = _outermost(blocks[0].body)
    return [block for block in blocks if not _outermost(block.body)]


def _outermost(body: Stmt) -> list[Block]:
    """The blocks in a statement that are not inside of others."""
    blocks: list[Block] = []
    stack: list[Stmt] = [body]
    while stack:
        node = stack.pop()
        if isinstance(node, Block):
            blocks.append(node)
        else:
            stack += reversed([part for part in children(node) if isinstance(part, Stmt)])
    return blocks


class _Suggestions:
    """What is suggested so far."""

    def __init__(self, results: Mapping[Buffer, IndexMap]) -> None:
        self._layouts = dict(results)  # of buffers
        self._waiting = set(results)  # those that are not among the suggestions yet

    def of(self, block: Block) -> dict[Block | Buffer, IndexMap]:
        """The suggestions for a block, the result of which has a known layout."""
        accesses = _Accesses(block)
        written = accesses.written()
        layout = None if written is None else self._layouts.get(written)
        iterators = None if written is None else accesses.iterators(written, BufferStore)
        if written is None or layout is None or iterators is None:
            return {}
        order = [iterator for iterator in iterators if iterator is not None]
        if len(set(order)) != len(iterators):
            return {}
        new = substituted(layout, order)
        own = _carried(new, order, [iter_var.var for iter_var in block.iter_vars])
        if own is None or not _is_bijective(own, [iter_var.dom for iter_var in block.iter_vars]):
            return {}
        if not _is_bijective(layout, _domains(written)):
            return {}
        layouts: dict[Block | Buffer, IndexMap] = {block: own}
        if written in self._waiting:
            layouts[written] = layout
            self._waiting.remove(written)
        for buffer in accesses.read():
            suggested = _of_read(new, order, accesses.iterators(buffer, BufferLoad))
            if buffer in self._layouts or suggested is None:
                continue
            if _is_bijective(suggested, _domains(buffer)):
                self._layouts[buffer] = layouts[buffer] = suggested
        return layouts


class _Accesses:
    """The accesses of a block to buffers."""

    def __init__(self, block: Block) -> None:
        self._accesses = [
            node for node in walk(block) if isinstance(node, BufferLoad | BufferStore)
        ]
        self._domains = {
            iter_var.var: iter_var.dom for iter_var in block.iter_vars if iter_var.dom is not None
        }
        self._spatial = {iter_var.var for iter_var in block.iter_vars if iter_var.kind == SPATIAL}
        kinds = {iter_var.kind for iter_var in block.iter_vars}
        self._is_known = kinds <= {SPATIAL, REDUCTION} and len(self._domains) == len(
            block.iter_vars
        )

    def written(self) -> Buffer | None:
        """The buffer that the block writes, if it is one."""
        buffers = {access.buffer for access in self._accesses if isinstance(access, BufferStore)}
        return buffers.pop() if len(buffers) == 1 and self._is_known else None

    def read(self) -> list[Buffer]:
        """The buffers that the block reads, but for the one that it writes."""
        buffers = [access.buffer for access in self._accesses if isinstance(access, BufferLoad)]
        return [buffer for buffer in dict.fromkeys(buffers) if buffer is not self.written()]

    def iterators(
        self, buffer: Buffer, kind: type[BufferLoad | BufferStore]
    ) -> list[Var | None] | None:
        """The spatial iterator of each dimension of a buffer, None without one; None if they are
        not the same for all accesses, or an index is not a sum with one of them.
        """
        common: list[Var | None] | None = None
        for access in self._accesses:
            if isinstance(access, kind) and access.buffer is buffer:
                iterators: list[Var | None] = []
                for index in access.indices:
                    iterator = self._iterator(index)
                    if iterator is False:
                        return None
                    iterators.append(iterator)
                if not _are_same(iterators, common or iterators):
                    return None
                common = iterators
        return common

    def _iterator(self, index: Expr) -> Var | Literal[False] | None:
        """The spatial iterator of an index; None without one, False if it is not a sum with one."""
        used = variables_of(index) & self._spatial
        if len(used) > 1 or not self._is_sum(index):
            return False
        return used.pop() if used else None

    def _is_sum(self, index: Expr) -> bool:
        if detect_linear_equation(index, list(self._domains)) is not None:
            return True
        return not detect_iter_map([index], self._domains, None, IterMapLevel.NO_CHECK).errors


def _are_same(a: Sequence[object], b: Sequence[object]) -> bool:
    return all(iterator is other for iterator, other in zip(a, b, strict=True))


def _of_read(
    new: Sequence[Expr], order: Sequence[Var], read: Sequence[Var | None] | None
) -> IndexMap | None:
    """The layout of a buffer that is read in the order of the result; None if it stays."""
    if read is None:
        return None
    position_of = {var: at for at, var in enumerate(order)}
    places = [position_of[var] for var in read if var in position_of]
    if any(position >= other for position, other in pairwise(places)):
        return None
    layout = _carried(new, order, read)
    if layout is None:
        return None
    pairs = zip_longest(layout.initial_indices, layout.final_indices)
    return None if all(old is new for old, new in pairs) else layout


def _carried(
    new: Sequence[Expr], order: Sequence[Var], target: Sequence[Var | None]
) -> IndexMap | None:
    """The map of the new indices of `order` for `target`, which has some of these iterators, and
    others, which stay in their places; None if a new index mixes both.
    """
    dtype = order[0].dtype if order else "int64"
    initial = tuple([Var(f"i{at}", dtype) for at in range(len(target))])
    source = set(order)
    values: dict[Var, Expr] = {
        axis_var: var for axis_var, var in zip(target, initial, strict=True) if axis_var in source
    }
    rest: list[Expr] = []
    for index in new:
        used = variables_of(index) & source
        if used <= values.keys():
            rest.append(substitute(index, values))
        elif used & values.keys():
            return None
    final: list[Expr] = []
    for target_var, var in zip(target, initial, strict=True):
        if target_var not in values:
            final.append(var)
        elif rest:
            final.append(rest.pop(0))
    return IndexMap(initial, tuple(final + rest))


def _domains(buffer: Buffer) -> list[Range]:
    return [Range(ops.const(0, size.dtype), size) for size in buffer.shape]


def _is_bijective(index_map: IndexMap, domains: Sequence[Range | None]) -> bool:
    """Whether a map gives each new index once, without padding."""
    try:
        inverse(index_map, [domain for domain in domains if domain is not None])
    except DeclarationError:
        return False
    return True
