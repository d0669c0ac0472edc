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
    suggestions = _Suggestions({buffer: _layout_of(buffer, given) for buffer, given in pairs})
    found = {block: suggestions.of(block) for block in reversed(_leaf_blocks(func))}
    return {block: one for block, one in found.items() if one}


def _layout_of(buffer: Buffer, given: object) -> IndexMap:
    if callable(given):
        given = _make_index_map.from_func(given, index_dtype="int64")
    if not isinstance(given, IndexMap):
        raise GraphAssertionError(
            f"the layout of buffer {buffer.name} is {repr_of(given)}",
            f"it is {kind_of(given)}",
            "give an index map, or a function of indices",
        )
    if len(given.initial_indices) != len(buffer.shape):
        raise GraphError(
            f"the layout of buffer {buffer.name} has "
            f"{counted(len(given.initial_indices), 'index', 'indices')}, "
            f"expected {len(buffer.shape)}",
            f"it is {given}",
            "give a map of as many indices as the buffer has dimensions",
            in_tvm="Mismatch between output buffer shape and index map",
        )
    return with_types_of(given, buffer.shape)


def _leaf_blocks(func: PrimFunc) -> list[Block]:
    """The blocks directly in the function that have no inner blocks, in order."""
    found = _outermost(func.body)
    if len(found) == 1 and not found[0].iter_vars:  # the root block
        found = _outermost(found[0].body)
    return [one for one in found if not _outermost(one.body)]


def _outermost(body: Stmt) -> list[Block]:
    """The blocks in a statement that are not inside of others."""
    found: list[Block] = []
    stack: list[Stmt] = [body]
    while stack:
        one = stack.pop()
        if isinstance(one, Block):
            found.append(one)
        else:
            stack += reversed([part for part in children(one) if isinstance(part, Stmt)])
    return found


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
        order = [one for one in iterators if one is not None]
        if len(set(order)) != len(iterators):
            return {}
        new = substituted(layout, order)
        own = _carried(new, order, [one.var for one in block.iter_vars])
        if own is None or not _is_bijective(own, [one.dom for one in block.iter_vars]):
            return {}
        if not _is_bijective(layout, _domains(written)):
            return {}
        found: dict[Block | Buffer, IndexMap] = {block: own}
        if written in self._waiting:
            found[written] = layout
            self._waiting.remove(written)
        for buffer in accesses.read():
            suggested = _of_read(new, order, accesses.iterators(buffer, BufferLoad))
            if buffer in self._layouts or suggested is None:
                continue
            if _is_bijective(suggested, _domains(buffer)):
                self._layouts[buffer] = found[buffer] = suggested
        return found


class _Accesses:
    """The accesses of a block to buffers."""

    def __init__(self, block: Block) -> None:
        self._accesses = [one for one in walk(block) if isinstance(one, BufferLoad | BufferStore)]
        self._domains = {one.var: one.dom for one in block.iter_vars if one.dom is not None}
        self._spatial = {one.var for one in block.iter_vars if one.kind == SPATIAL}
        kinds = {one.kind for one in block.iter_vars}
        self._is_known = kinds <= {SPATIAL, REDUCTION} and len(self._domains) == len(
            block.iter_vars
        )

    def written(self) -> Buffer | None:
        """The buffer that the block writes, if it is one."""
        found = {one.buffer for one in self._accesses if isinstance(one, BufferStore)}
        return found.pop() if len(found) == 1 and self._is_known else None

    def read(self) -> list[Buffer]:
        """The buffers that the block reads, but for the one that it writes."""
        found = [one.buffer for one in self._accesses if isinstance(one, BufferLoad)]
        return [one for one in dict.fromkeys(found) if one is not self.written()]

    def iterators(
        self, buffer: Buffer, kind: type[BufferLoad | BufferStore]
    ) -> list[Var | None] | None:
        """The spatial iterator of each dimension of a buffer, None without one; None if they are
        not the same for all accesses, or an index is not a sum with one of them.
        """
        found: list[Var | None] | None = None
        for access in self._accesses:
            if isinstance(access, kind) and access.buffer is buffer:
                iterators: list[Var | None] = []
                for index in access.indices:
                    iterator = self._iterator(index)
                    if iterator is False:
                        return None
                    iterators.append(iterator)
                if not _are_same(iterators, found or iterators):
                    return None
                found = iterators
        return found

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
    return all(one is other for one, other in zip(a, b, strict=True))


def _of_read(
    new: Sequence[Expr], order: Sequence[Var], read: Sequence[Var | None] | None
) -> IndexMap | None:
    """The layout of a buffer that is read in the order of the result; None if it stays."""
    if read is None:
        return None
    place = {var: at for at, var in enumerate(order)}
    places = [place[one] for one in read if one in place]
    if any(one >= other for one, other in pairwise(places)):
        return None
    found = _carried(new, order, read)
    if found is None:
        return None
    pairs = zip_longest(found.initial_indices, found.final_indices)
    return None if all(old is new for old, new in pairs) else found


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
        one: var for one, var in zip(target, initial, strict=True) if one in source
    }
    rest: list[Expr] = []
    for index in new:
        used = variables_of(index) & source
        if used <= values.keys():
            rest.append(substitute(index, values))
        elif used & values.keys():
            return None
    final: list[Expr] = []
    for one, var in zip(target, initial, strict=True):
        if one not in values:
            final.append(var)
        elif rest:
            final.append(rest.pop(0))
    return IndexMap(initial, tuple(final + rest))


def _domains(buffer: Buffer) -> list[Range]:
    return [Range(ops.const(0, one.dtype), one) for one in buffer.shape]


def _is_bijective(given: IndexMap, domains: Sequence[Range | None]) -> bool:
    """Whether a map gives each new index once, without padding."""
    try:
        inverse(given, [domain for domain in domains if domain is not None])
    except DeclarationError:
        return False
    return True
