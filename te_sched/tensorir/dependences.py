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
    blocks: list[BlockRealize] = []
    stack: list[Any] = [statement]
    while stack:
        node = stack.pop()
        if type(node) is BlockRealize:
            blocks.append(node)
        elif type(node) is For:
            blocks += _blocks_of_loop(node)
        else:
            stack += reversed(parts_of(node))
    return blocks


@lru_cache(_MOST_STATEMENTS)
def _blocks_of_loop(loop: For) -> tuple[BlockRealize, ...]:
    blocks: list[BlockRealize] = []
    stack: list[Any] = [loop]
    while stack:
        node = stack.pop()
        if type(node) is BlockRealize:
            blocks.append(node)
        else:
            stack += reversed(parts_of(node))
    return tuple(blocks)


@lru_cache(_MOST_SCOPES)
def blocks_of_scope(scope: BlockRealize) -> tuple[BlockRealize, ...]:
    """The blocks directly in a block, in program order."""
    return tuple([block for part in parts_of(scope.block) for block in outermost_blocks(part)])


@lru_cache(_MOST_STATEMENTS)
def accesses_of(realize: BlockRealize) -> Accesses:
    """What a block accesses, or the blocks in a group."""
    block = realize.block
    inner: tuple[BlockRealize, ...] = ()
    if not (block.iter_vars or block.reads or block.writes):
        inner = blocks_of_scope(realize)
    stated = tuple([instance for each in inner for instance in accesses_of(each).stated]) or (
        realize,
    )
    reads = tuple([region for instance in stated for region in reads_of(instance.block)])
    writes = tuple([region for instance in stated for region in instance.block.writes])
    return Accesses(bool(inner), stated, reads, writes, _buffers(reads), _buffers(writes))


@lru_cache(_MOST_STATEMENTS)
def reads_of(block: Block) -> tuple[BufferRegion, ...]:
    """The regions that a block states to read, and the whole buffers of which it loads elements
    without a word, as those of cache_index. What it updates is written.
    """
    stated_buffers = {region.buffer for region in (*block.reads, *block.writes)}
    loaded: dict[Buffer, None] = {}
    for node in walk(block):
        kind = type(node)
        if kind is BufferLoad:
            loaded[node.buffer] = None
        elif kind is Block:
            stated_buffers.update(node.alloc_buffers, [view.buffer for view in node.match_buffers])
        elif kind is DeclBuffer:
            stated_buffers.add(node.buffer)
    unstated = [whole_buffer(buffer) for buffer in loaded if buffer not in stated_buffers]
    return (*block.reads, *unstated) if unstated else block.reads


def _buffers(regions: Iterable[BufferRegion]) -> tuple[Buffer, ...]:
    return tuple(dict.fromkeys([region.buffer for region in regions]))


@lru_cache(_MOST_SCOPES)
def nests_of_scope(scope: BlockRealize) -> tuple[Stmt, ...]:
    """The statements of a block, in program order, inside of what declares memory for all."""
    nests: list[Stmt] = []
    for part in parts_of(scope.block):
        while isinstance(part, AllocateConst | DeclBuffer):
            part = part.body
        nests += part.seq if type(part) is SeqStmt else (part,)
    return tuple(nests)


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
        zip([axis.var for axis in statement.block.iter_vars], statement.iter_values, strict=True)
    )
    return frozenset(
        [region.buffer for region in statement.block.writes if _is_filled(region, values, ranges)]
    )


def _is_filled(
    region: BufferRegion, values: Mapping[Any, Expr], ranges: Mapping[Var, Range]
) -> bool:
    """Whether the indices of a region take all values in the shape of its buffer."""
    shape = region.buffer.shape
    indices = [values.get(bound.min) for bound in region.region if is_const(bound.extent, 1)]
    if len(indices) < len(shape):
        return False
    if all(type(index) is Var and index in ranges for index in indices):
        bounds = [ranges[index] for index in indices]  # type: ignore[index]
        is_whole = all(
            is_const(bound.min, 0) and _is_same(bound.extent, size)
            for bound, size in zip(bounds, shape, strict=True)
        )
        return is_whole and len({*indices}) == len(indices)
    if None in indices:
        return False
    iterators = detect_whole_iterators(indices, ranges, IterMapLevel.SURJECTIVE)  # type: ignore[arg-type]
    return iterators is not None and all(map(_takes_all_below, iterators.indices, shape))


def _takes_all_below(index: IterSumExpr, size: Expr) -> bool:
    """Whether a detected index takes all values from 0 to below a constant."""
    extent, scale = (index.args[0].extent, index.args[0].scale) if index.args else (1, 1)
    return is_number(index.base, 0) and scale == 1 and is_const(size, extent)


def _is_same(extent: Expr, other: Expr) -> bool:
    return extent is other or (isinstance(extent, IntImm) and is_const(other, extent.value))


@lru_cache(_MOST_SCOPES)
def dependences(blocks: tuple[BlockRealize, ...]) -> Dependences:
    """Which of some blocks read and write each buffer."""
    result = Dependences({}, {}, {})
    for number, block in enumerate(blocks):
        result.places[block] = number
        accesses = accesses_of(block)
        for buffer in accesses.read:
            result.readers.setdefault(buffer, []).append(number)
        for buffer in accesses.written:
            result.writers.setdefault(buffer, []).append(number)
    return result


_NESTS = (Block, BlockRealize, For)
_REFERENCES = fields_with(Role.BUFFER, Role.DEFINITION, Role.USE, Role.ANNOTATION)


@lru_cache(_MOST_STATEMENTS)
def mentioned(statement: Stmt) -> frozenset[Buffer | Var]:
    """The buffers and variables that occur in a statement, with the pointers of the buffers."""
    references: set[Buffer | Var] = set()
    stack: list[Any] = [statement]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is Var:
            references.add(node)
        elif kind in _NESTS and node is not statement:  # primitives often change what is around it
            references |= mentioned(node)
        else:
            for name in _REFERENCES[kind]:
                _note_references(getattr(node, name), references)
            stack += children(node)
    return frozenset(references)


def _note_references(value: Any, references: set[Buffer | Var]) -> None:
    kind = type(value)
    if kind is Var:
        references.add(value)
    elif kind is Buffer:
        if value in references:
            return
        references.update((value, value.data))
        for size in (*value.shape, *value.strides, value.elem_offset):
            _note_references(size, references)
    elif kind is IterVar:
        _note_references((value.var, value.dom), references)
    elif kind is Range:
        _note_references((value.min, value.extent), references)
    elif isinstance(value, tuple | list):
        for item in value:
            _note_references(item, references)
    elif isinstance(value, Mapping):
        for item in value.values():
            _note_references(item, references)
    elif isinstance(value, Expr) and kind is not IntImm:
        references.update(variables_of(value))
