"""What the blocks of a scope access. Nodes do not change: what is found of one is remembered, for
all states of schedules. Must not know schedules or any primitive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from te_sched.arith.iter_detect import IterMapLevel, is_number
from te_sched.arith.iter_digits import detect_whole_iterators
from te_sched.arith.iter_expr import IterSumExpr
from te_sched.ir.blocks import AllocateConst, Block, BlockRealize, DeclBuffer, whole_buffer
from te_sched.ir.expr import Buffer, BufferLoad, BufferRegion, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.ops import is_const
from te_sched.ir.roles import Role
from te_sched.ir.stmt import For, SeqStmt, Stmt
from te_sched.ir.visitor import children, fields_with, parts_of, variables_of, walk

_MOST_STATEMENTS = 8192
_MOST_SCOPES = 128


class Accesses(NamedTuple):
    """What a block of a scope accesses. A group only groups others: it has no iterators, and does
    not state what its blocks access. `stated` are those which do: the block itself, or those in the
    group.
    """

    is_group: bool
    stated: tuple[BlockRealize, ...]
    reads: tuple[BufferRegion, ...]
    writes: tuple[BufferRegion, ...]
    read: tuple[Buffer, ...]
    written: tuple[Buffer, ...]


class Dependences(NamedTuple):
    """The numbers of blocks, and of those that read and write each buffer, in program order."""

    places: dict[BlockRealize, int]
    readers: dict[Buffer, list[int]]
    writers: dict[Buffer, list[int]]


def outermost_blocks(statement: Stmt) -> list[BlockRealize]:
    """The blocks in a statement that are in no other of its blocks, in program order."""
    found: list[BlockRealize] = []
    stack: list[Any] = [statement]
    while stack:
        one = stack.pop()
        if type(one) is BlockRealize:
            found.append(one)
        elif type(one) is For:
            found += _blocks_of_loop(one)
        else:
            stack += reversed(parts_of(one))
    return found


@lru_cache(_MOST_STATEMENTS)
def _blocks_of_loop(loop: For) -> tuple[BlockRealize, ...]:
    found: list[BlockRealize] = []
    stack: list[Any] = [loop]
    while stack:
        one = stack.pop()
        if type(one) is BlockRealize:
            found.append(one)
        else:
            stack += reversed(parts_of(one))
    return tuple(found)


@lru_cache(_MOST_SCOPES)
def blocks_of_scope(scope: BlockRealize) -> tuple[BlockRealize, ...]:
    """The blocks directly in a block, in program order."""
    return tuple([one for part in parts_of(scope.block) for one in outermost_blocks(part)])


@lru_cache(_MOST_STATEMENTS)
def accesses_of(realize: BlockRealize) -> Accesses:
    """What a block accesses, or the blocks in a group."""
    block = realize.block
    inner: tuple[BlockRealize, ...] = ()
    if not (block.iter_vars or block.reads or block.writes):
        inner = blocks_of_scope(realize)
    stated = tuple([one for each in inner for one in accesses_of(each).stated]) or (realize,)
    reads = tuple([region for one in stated for region in reads_of(one.block)])
    writes = tuple([region for one in stated for region in one.block.writes])
    return Accesses(bool(inner), stated, reads, writes, _buffers(reads), _buffers(writes))


@lru_cache(_MOST_STATEMENTS)
def reads_of(block: Block) -> tuple[BufferRegion, ...]:
    """The regions that a block states to read, and the whole buffers of which it loads elements
    without a word, as those of cache_index. What it updates is written.
    """
    known = {region.buffer for region in (*block.reads, *block.writes)}
    loaded: dict[Buffer, None] = {}
    for node in walk(block):
        kind = type(node)
        if kind is BufferLoad:
            loaded[node.buffer] = None
        elif kind is Block:
            known.update(node.alloc_buffers, [view.buffer for view in node.match_buffers])
        elif kind is DeclBuffer:
            known.add(node.buffer)
    unstated = [whole_buffer(one) for one in loaded if one not in known]
    return (*block.reads, *unstated) if unstated else block.reads


def _buffers(regions: Iterable[BufferRegion]) -> tuple[Buffer, ...]:
    return tuple(dict.fromkeys([region.buffer for region in regions]))


@lru_cache(_MOST_SCOPES)
def nests_of_scope(scope: BlockRealize) -> tuple[Stmt, ...]:
    """The statements of a block, in program order, inside of what declares memory for all."""
    found: list[Stmt] = []
    for part in parts_of(scope.block):
        while isinstance(part, AllocateConst | DeclBuffer):
            part = part.body
        found += part.seq if type(part) is SeqStmt else (part,)
    return tuple(found)


@lru_cache(_MOST_STATEMENTS)
def filled_buffers(statement: Stmt) -> frozenset[Buffer]:
    """The buffers of which a block in a nest of loops alone writes all elements."""
    ranges: dict[Var, Range] = {}
    while type(statement) is For:
        ranges[statement.loop_var] = Range(statement.min, statement.extent)
        statement = statement.body
    if type(statement) is not BlockRealize or not is_const(statement.predicate, 1):
        return frozenset()
    values = dict(
        zip([one.var for one in statement.block.iter_vars], statement.iter_values, strict=True)
    )
    return frozenset(
        [one.buffer for one in statement.block.writes if _is_filled(one, values, ranges)]
    )


def _is_filled(
    region: BufferRegion, values: Mapping[Any, Expr], ranges: Mapping[Var, Range]
) -> bool:
    """Whether the indices of a region take all values in the shape of its buffer."""
    shape = region.buffer.shape
    indices = [values.get(bound.min) for bound in region.region if is_const(bound.extent, 1)]
    if len(indices) < len(shape):
        return False
    if all(type(one) is Var and one in ranges for one in indices):
        bounds = [ranges[one] for one in indices]  # type: ignore[index]
        is_whole = all(
            is_const(bound.min, 0) and _is_same(bound.extent, size)
            for bound, size in zip(bounds, shape, strict=True)
        )
        return is_whole and len({*indices}) == len(indices)
    if None in indices:
        return False
    found = detect_whole_iterators(indices, ranges, IterMapLevel.SURJECTIVE)  # type: ignore[arg-type]
    return found is not None and all(map(_takes_all_below, found.indices, shape))


def _takes_all_below(index: IterSumExpr, size: Expr) -> bool:
    """Whether a detected index takes all values from 0 to below a constant."""
    extent, scale = (index.args[0].extent, index.args[0].scale) if index.args else (1, 1)
    return is_number(index.base, 0) and scale == 1 and is_const(size, extent)


def _is_same(one: Expr, other: Expr) -> bool:
    return one is other or (isinstance(one, IntImm) and is_const(other, one.value))


@lru_cache(_MOST_SCOPES)
def dependences(blocks: tuple[BlockRealize, ...]) -> Dependences:
    """Which of some blocks read and write each buffer."""
    found = Dependences({}, {}, {})
    for place, one in enumerate(blocks):
        found.places[one] = place
        accesses = accesses_of(one)
        for buffer in accesses.read:
            found.readers.setdefault(buffer, []).append(place)
        for buffer in accesses.written:
            found.writers.setdefault(buffer, []).append(place)
    return found


_NESTS = (Block, BlockRealize, For)
_REFERENCES = fields_with(Role.BUFFER, Role.DEFINITION, Role.USE, Role.ANNOTATION)


@lru_cache(_MOST_STATEMENTS)
def mentioned(statement: Stmt) -> frozenset[Buffer | Var]:
    """The buffers and variables that occur in a statement, with the pointers of the buffers."""
    found: set[Buffer | Var] = set()
    stack: list[Any] = [statement]
    while stack:
        one = stack.pop()
        kind = type(one)
        if kind is Var:
            found.add(one)
        elif kind in _NESTS and one is not statement:  # primitives often change what is around it
            found |= mentioned(one)
        else:
            for name in _REFERENCES[kind]:
                _note_references(getattr(one, name), found)
            stack += children(one)
    return frozenset(found)


def _note_references(value: Any, found: set[Buffer | Var]) -> None:
    kind = type(value)
    if kind is Var:
        found.add(value)
    elif kind is Buffer:
        if value in found:
            return
        found.update((value, value.data))
        for size in (*value.shape, *value.strides, value.elem_offset):
            _note_references(size, found)
    elif kind is IterVar:
        _note_references((value.var, value.dom), found)
    elif kind is Range:
        _note_references((value.min, value.extent), found)
    elif isinstance(value, tuple | list):
        for item in value:
            _note_references(item, found)
    elif isinstance(value, Mapping):
        for item in value.values():
            _note_references(item, found)
    elif isinstance(value, Expr) and kind is not IntImm:
        found.update(variables_of(value))
