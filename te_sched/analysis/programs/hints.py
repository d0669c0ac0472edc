"""Hints about programs that are legal, but perhaps not what was meant.

    for k in range(16):                             C is not set to zero before
        with T.block("C"):
            vk = T.axis.reduce(16, k)
            C[0] = C[0] + A[vk]

    for i in T.parallel(16):
        for j in T.parallel(16):                    runs serially in each thread

Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Iterator

from te_sched.analysis.findings import HINT, INITIALIZED, RULE, Finding, broken_rule_of_block
from te_sched.ir.blocks import Block, MatchBufferRegion
from te_sched.ir.expr import Add, Buffer, BufferLoad, Var
from te_sched.ir.occurrences import occurrences_of
from te_sched.ir.stmt import Allocate, BufferStore, For, PrimFunc, Stmt
from te_sched.ir.visitor import parts_of, statements, walk
from te_sched.wording import wording


def hints_of_blocks(func: PrimFunc) -> Iterator[Finding]:
    """Reductions without T.init into arguments that nothing sets before, and stores that T.writes
    does not list.
    """
    yield from _reductions(func)
    for node in statements(func.body):
        if type(node) is Block and node.writes:
            for buffer in _unlisted(node):
                yield broken_rule_of_block(
                    node.name_hint,
                    f"block {node.name_hint} stores in buffer {buffer.name}, which T.writes does "
                    "not list",
                    f"it lists {', '.join(region.buffer.name for region in node.writes)}; "
                    "schedules rely on it",
                    f"write T.writes({buffer.name}[...], ...), or leave T.writes out: what is "
                    "written is then found",
                    verdict=HINT,
                )


def _unlisted(block: Block) -> list[Buffer]:
    """The buffers that a block stores in, besides its own ones, and does not declare to write."""
    inside = [node for node in statements(block) if type(node) is Block]
    matches = [match for node in inside for match in node.match_buffers]
    listed_data = {region.buffer.data for region in block.writes}
    listed_data |= {buffer.data for node in inside for buffer in node.alloc_buffers}
    listed_data |= {match.buffer.data for match in matches}
    stores = (node for node in statements(block) if type(node) is BufferStore)
    stored = {node.buffer.data: node.buffer for node in stores}
    local = {node.buffer_var for node in statements(block) if type(node) is Allocate}
    return [buffer for data, buffer in stored.items() if data not in listed_data | local]


def _reductions(func: PrimFunc) -> Iterator[Finding]:
    """Reductions without T.init into arguments that nothing sets before."""
    arguments = {buffer.data: buffer for buffer in func.buffer_map.values()}
    written: set[Var] = set()
    for node in statements(func.body):
        if type(node) is Block:
            for match in node.match_buffers:
                _follow(match, arguments)
            if node.init is None and any(
                iter_var.kind == "CommReduce" for iter_var in node.iter_vars
            ):
                for store in _accumulating(node):
                    buffer = arguments.get(store.buffer.data)
                    if buffer is not None and buffer.data not in written:
                        written.add(buffer.data)
                        yield _without_init(node, store, buffer)
        else:
            written |= {
                arguments[occurrence.data].data
                for occurrence in occurrences_of(node)
                if occurrence.writes and occurrence.data in arguments
            }


def _follow(match: MatchBufferRegion, arguments: dict[Var, Buffer]) -> None:
    """Note that a view has the memory of an argument."""
    source = arguments.get(match.source.buffer.data)
    if source is not None:
        arguments[match.buffer.data] = source


def _accumulating(block: Block) -> Iterator[BufferStore]:
    """The stores of a block that depend on the former value of their element, a buffer once."""
    seen: set[Var] = set()
    for store in statements(block.body):
        if type(store) is BufferStore and store.buffer.data not in seen:
            reads = (part for part in walk(store.value) if type(part) is BufferLoad)
            if any(part.buffer.data is store.buffer.data for part in reads):
                seen.add(store.buffer.data)
                yield store


def _without_init(block: Block, store: BufferStore, buffer: Buffer) -> Finding:
    name = buffer.name
    does = "adds to" if type(store.value) is Add else "updates"
    return Finding(
        INITIALIZED,
        HINT,
        f"block {block.name_hint} {does} what argument {name} contains",
        name,
        stage=name,
        why=f"it reduces without T.init(), and nothing sets {name} before",
        help=f"write `with T.init(): {store.buffer.name}[...] = ...` in the block if {name} should "
        "begin with a value such as zero",
    )


def hints_of_loops(func: PrimFunc) -> Iterator[Finding]:
    """Parallel loops inside of parallel loops."""
    stack: list[tuple[Stmt, For | None]] = [(func.body, None)]
    while stack:
        node, outer = stack.pop()
        if type(node) is For and node.kind == "parallel":
            if outer is not None:
                yield _nested(node, outer)
            outer = outer or node
        stack += [(part, outer) for part in reversed(parts_of(node))]


def _nested(inner: For, outer: For) -> Finding:
    words, name, around = wording(), inner.loop_var.name, outer.loop_var.name
    return Finding(
        RULE,
        HINT,
        f"parallel {words.loop} {name} is inside of parallel {words.loop} {around}",
        axis=name,
        why=f"only {around} runs in parallel; each of its threads runs {name} serially",
        help=f"fuse {around} and {name} to run the iterations of both in parallel, or leave {name} "
        "serial",
    )
