"""Properties of blocks that primitives ask for: dependences, complete and reduction blocks, affine
bindings. Must not know any primitive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from te_sched.arith.conditions import conjuncts
from te_sched.arith.evaluate import Unevaluable
from te_sched.arith.executions import Execution, Points
from te_sched.arith.iter_detect import IterMapLevel, is_number
from te_sched.arith.iter_map import detect_iter_map
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Buffer, BufferLoad, BufferRegion, Expr, Range, Var
from te_sched.ir.ops import is_const
from te_sched.ir.scopes import loop_of
from te_sched.ir.stmt import BufferStore, For
from te_sched.ir.visitor import replace, variables_of, walk
from te_sched.tensorir.dependences import (
    Dependences,
    accesses_of,
    blocks_of_scope,
    dependences,
    reads_of,
)
from te_sched.tensorir.facts.axes import REDUCTION, SPATIAL
from te_sched.tensorir.state import BlockIndex, BlockKey, Key


def buffers_of(regions: Iterable[BufferRegion]) -> list[Buffer]:
    """The buffers of regions, each once."""
    return list(dict.fromkeys([region.buffer for region in regions]))


# The annotations of a block that number the regions which users state, by kind.
EXPLICIT = {"read": "explicit_read_region", "write": "explicit_write_region"}


def why_not_exact(index: BlockIndex, keys: Iterable[BlockKey]) -> str:
    """The reason why some blocks may write less than they state; "" if they write all of it."""
    for key in stated_blocks(index, keys):
        places = index.block(key).annotations.get(EXPLICIT["write"])
        if places:
            return (
                f"block {key.name} has a region that annotate_buffer_access states: it may write "
                "less of it"
            )
    return ""


def is_group(index: BlockIndex, key: Key) -> bool:
    """Whether a block only groups others: it has no iterators, and does not state what its blocks
    access. The root block is none.
    """
    if type(key) is not BlockKey or index.parents[key] is None:
        return False
    return accesses_of(index.realize(key)).is_group


def stated_blocks(index: BlockIndex, keys: Iterable[BlockKey]) -> list[BlockKey]:
    """Blocks which state what they access: some blocks, and those in the groups among them."""
    blocks: list[BlockKey] = []
    for key in keys:
        if is_group(index, key):
            blocks += [
                index.keys[realize.block] for realize in accesses_of(index.realize(key)).stated
            ]
        else:
            blocks.append(key)
    return blocks


def loops_around(index: BlockIndex, key: Key) -> list[Var]:
    """The loops around a block up to the next block that is not a group, outermost first."""
    loops: list[Var] = []
    for outer_key in index.around(key):
        if isinstance(outer_key, Var):
            loops.append(outer_key)
        elif not is_group(index, outer_key):
            break
    return loops[::-1]


def predicate_of(index: BlockIndex, key: BlockKey) -> Expr:
    """The condition under which a block runs, with those of the groups around it."""
    predicate = index.realize(key).predicate
    for outer_key in index.around(key):
        if isinstance(outer_key, BlockKey):
            if not is_group(index, outer_key):
                break
            predicate = ops.logical_and(predicate, index.realize(outer_key).predicate)
    return predicate


def run_once(index: BlockIndex, loops: Sequence[Var], condition: Expr) -> bool:
    """Whether a condition on some loops holds in at most one of their iterations, as u < 1 does."""
    try:
        points = iterations_of(index, loops)
        own = [
            conjunct
            for conjunct in conjuncts(condition)
            if variables_of(conjunct) <= points.values.keys()
        ]
        return points.held(own).count <= 1
    except Unevaluable:
        return False


def iterations_of(index: BlockIndex, loops: Sequence[Var]) -> Points:
    """The iterations of loops; raises Unevaluable if they are unknown or too many."""
    nest = [loop for var in loops if (loop := loop_of(index.loop(var))) is not None]
    return Execution({}, {}, _MOST).points(nest)


_MOST = 1 << 16  # number of iterations to evaluate


def accessed(index: BlockIndex, key: BlockKey, writes: bool) -> tuple[BufferRegion, ...]:
    """The regions that a block reads or writes; of a group those of its blocks."""
    if index.parents[key] is None:
        return index.block(key).writes if writes else index.block(key).reads
    accesses = accesses_of(index.realize(key))
    return accesses.writes if writes else accesses.reads


def regions_of(
    index: BlockIndex, keys: Iterable[BlockKey]
) -> Iterator[tuple[BlockKey, BufferRegion, bool]]:
    """The regions that blocks access, and whether they write them."""
    for key in stated_blocks(index, keys):
        block = index.block(key)
        for region in reads_of(block):
            yield key, region, False
        for region in block.writes:
            yield key, region, True


Conflict = tuple[str, BlockKey, BlockKey] | None


def conflict(index: BlockIndex, keys: Sequence[BlockKey], others: Sequence[BlockKey]) -> Conflict:
    """A buffer that some blocks write and others access."""
    for key, region, writes in regions_of(index, keys):
        for other, second, also in regions_of(index, others):
            if region.buffer is second.buffer and (writes or also):
                return region.buffer.name, key, other
    return None


def accessed_outside(index: BlockIndex, key: Key) -> set[Buffer]:
    """The buffers that statements of a loop or block access outside of the blocks in it."""
    inside = {
        id(part) for block_key in index.blocks_of(key) for part in walk(index.block(block_key))
    }
    return {
        part.buffer
        for part in walk(index.nodes[key])
        if isinstance(part, BufferLoad | BufferStore) and id(part) not in inside
    }


def siblings(index: BlockIndex, key: Key) -> list[BlockKey]:
    """The blocks of the scope of a block, in program order, and itself."""
    scope = index.scope(key)
    return [] if scope is None else index.blocks_of(scope)


def producers(index: BlockIndex, key: BlockKey) -> list[BlockKey]:
    """The blocks before one, of its scope, that write what it reads, in the order of its reads."""
    order = {
        buffer: number for number, buffer in enumerate(buffers_of(accessed(index, key, False)))
    }

    def first(maker: BlockKey) -> int:
        written = buffers_of(accessed(index, maker, writes=True))
        return min([order[buffer] for buffer in written if buffer in order])

    return sorted(_related(index, key, reading=True), key=first)


def consumers(index: BlockIndex, key: BlockKey) -> list[BlockKey]:
    """The blocks after one, of its scope, that read what it writes."""
    return _related(index, key, reading=False)


def _related(index: BlockIndex, key: BlockKey, reading: bool) -> list[BlockKey]:
    blocks, among = scope_dependences(index, key)
    users = among.writers if reading else among.readers
    number = among.places.get(index.realize(key), 0)
    own = {region.buffer for region in accessed(index, key, writes=not reading)}
    near = {
        user
        for buffer in own
        for user in users.get(buffer, ())
        if user != number and (user < number) == reading
    }
    return [index.keys[blocks[user].block] for user in sorted(near)]


def scope_dependences(index: BlockIndex, key: Key) -> tuple[tuple[BlockRealize, ...], Dependences]:
    """The blocks of the scope of a block, in program order, and what they access."""
    scope = index.scope(key)
    blocks = () if scope is None else blocks_of_scope(index.realize(scope))
    return blocks, dependences(blocks)


def writers(index: BlockIndex, key: BlockKey, buffer: Buffer) -> list[BlockKey]:
    """The blocks of the scope of a block that write a buffer."""
    blocks, among = scope_dependences(index, key)
    return [index.keys[blocks[writer].block] for writer in among.writers.get(buffer, ())]


def output_buffers(index: BlockIndex, key: Key) -> set[Buffer]:
    """The buffers around a loop or block that its scope does not allocate: they are results."""
    return set(index.functions[index.function_of(key)].buffer_map.values())


def written_results(index: BlockIndex, key: BlockKey) -> list[Buffer]:
    """The buffers that a block writes and that its scope does not allocate."""
    scope = index.scope(key)
    allocated = () if scope is None else index.block(scope).alloc_buffers
    return [buffer for buffer in buffers_of(index.block(key).writes) if buffer not in allocated]


# -- bindings --------------------------------------------------------------------------------------


def loop_ranges(index: BlockIndex, loops: Iterable[Var]) -> dict[Var, Range]:
    """The ranges of loops by their variables."""
    return {loop: Range(index.loop(loop).min, index.loop(loop).extent) for loop in loops}


def range_of(loop: For) -> Range:
    """The values of a loop's variable."""
    return Range(loop.min, loop.extent)


def is_affine(index: BlockIndex, key: BlockKey) -> bool:
    """Whether the iterators of a block are sums of parts of the loops around it, each part once."""
    realize = replace(index.realize(key), predicate=predicate_of(index, key))
    return has_affine_binding(realize, loop_ranges(index, loops_around(index, key)))


def has_affine_binding(realize: BlockRealize, ranges: Mapping[Var, Range]) -> bool:
    """Whether the iterators of an instance are sums of parts of loops, each part once.

    If those of a reduction are without its condition, no instance is executed twice with it. (TVM
    asks for all instances, but takes the blocks with conditions that rfactor makes.)
    """
    if not realize.iter_values:
        return True
    values = realize.iter_values
    if is_const(realize.predicate, 1) and all(
        type(value) is Var and value in ranges for value in values
    ):
        return len({*values}) == len(values)
    return _is_affine_if(values, ranges, realize.predicate) or (
        realize.block.init is not None and _is_affine_if(values, ranges, None)
    )


def _is_affine_if(
    values: Sequence[Expr], ranges: Mapping[Var, Range], predicate: Expr | None
) -> bool:
    iter_map = detect_iter_map(values, ranges, predicate, IterMapLevel.SURJECTIVE)
    return not iter_map.errors and all(
        is_number(part.scale, 1) for index in iter_map.indices for part in index.args
    )


# -- kinds of blocks -------------------------------------------------------------------------------


def why_not_complete(index: BlockIndex, key: BlockKey, among: Sequence[BlockKey] = ()) -> str:
    """The reason why a block is not complete: a pure function of what it reads; "" if it is.

    Parameters
    ----------
    among : the blocks that may write its buffers; by default those of its scope.
    """
    block = index.block(key)
    if is_group(index, key):
        return "it groups blocks, and does not state what they access"
    others = [axis.var.name for axis in block.iter_vars if axis.kind != SPATIAL]
    if others:
        return f"its iterator {others[0]} is not data parallel"
    return why_not_dominant(index, key, among) or _overlap(block)


def _overlap(block: Block) -> str:
    written = set(buffers_of(block.writes))
    both = [buffer.name for buffer in buffers_of(block.reads) if buffer in written]
    return f"it reads and writes {both[0]}" if both else ""


def why_not_dominant(index: BlockIndex, key: BlockKey, among: Sequence[BlockKey] = ()) -> str:
    """The reason why other blocks of a scope, or of some blocks, write what a block writes or read
    it before; "" if they do not.
    """
    blocks, users = scope_dependences(index, key)
    if among:
        blocks = tuple([index.realize(block_key) for block_key in among])
        users = dependences(blocks)
    number = users.places.get(index.realize(key), 0)
    for buffer in buffers_of(index.block(key).writes):
        writers = {*users.writers.get(buffer, ())} - {number}
        early = {reader for reader in users.readers.get(buffer, ()) if reader < number}
        for user in sorted(writers | early):
            name = index.keys[blocks[user].block].name
            if user in writers:
                return f"block {name} writes {buffer.name}, too"
            return f"block {name} reads {buffer.name} before it is written"
    return ""


def why_not_reduction(index: BlockIndex, key: BlockKey, among: Sequence[BlockKey] = ()) -> str:
    """The reason why a block is not a reduction, in its scope or among blocks; "" if it is one."""
    block = index.block(key)
    if block.init is None:
        return "it has no T.init"
    if not is_affine(index, key):
        return "its iterators are not affine in the loops"
    others = [a.var.name for a in block.iter_vars if a.kind not in (SPATIAL, REDUCTION)]
    if others:
        return f"its iterator {others[0]} is neither spatial nor reduce"
    dominant = why_not_dominant(index, key, among)
    if dominant:
        return dominant
    return _reduced_output(block)


def _reduced_output(block: Block) -> str:
    reduced = {axis.var for axis in block.iter_vars if axis.kind == REDUCTION}
    for region in block.writes:
        for bound in region.region:
            used = variables_of(bound.min, bound.extent) & reduced
            if used:
                (var, *_) = used
                return f"its reduction iterator {var.name} is an index of {region.buffer.name}"
    return ""


def advice_to_initialize(index: BlockIndex, key: BlockKey, other: str) -> str:
    """The help for a block that is not a reduction: to write T.init, if this is what a reduction
    lacks; or other advice.
    """
    block = index.block(key)
    is_reduced = any(axis.kind == REDUCTION for axis in block.iter_vars)
    if block.init is not None or not is_reduced or len(block.writes) != 1:
        return other
    buffer = block.writes[0].buffer
    is_begun = any(writer is not key for writer in writers(index, key, buffer))
    earlier = "apply this before decompose_reduction, or " if is_begun else ""
    return f"{earlier}write `with T.init(): {buffer.name}[...] = ...` in block {block.name_hint}"


def first_not_compact(index: BlockIndex, keys: Sequence[BlockKey]) -> tuple[BlockKey, str] | None:
    """The first of some blocks that is not complete and not a reduction among them, and why."""
    for key in keys:
        complete = why_not_complete(index, key, keys)
        if not complete:
            continue
        reduction = why_not_reduction(index, key, keys)
        if reduction:
            text = f"neither complete ({complete}) nor a reduction ({reduction})"
            return key, f"block {index.block(key).name_hint} is {text}"
    return None
