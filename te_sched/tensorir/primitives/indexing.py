"""Primitives that compute index expressions in blocks of their own: cache_index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import ScheduleError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.calls import effect_of
from te_sched.ir.expr import BufferLoad, BufferRegion, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.intrinsic_table import Effect
from te_sched.ir.stmt import BufferStore, For, IfThenElse, LetStmt, Stmt
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import replace, substitute, variables_of, walk
from te_sched.tensorir.accesses import check_scope
from te_sched.tensorir.base import ScheduleBase, integer, of_block
from te_sched.tensorir.dependences import outermost_blocks
from te_sched.tensorir.facts.axes import SPATIAL
from te_sched.tensorir.handles import ATTRIBUTE, BlockRV, instruction
from te_sched.tensorir.insertion import Place, number_in, with_inserted
from te_sched.tensorir.primitives.finding import check_not_root
from te_sched.tensorir.rewriting import BlockMapper
from te_sched.tensorir.state import sequence, with_block


class IndexPrimitives(ScheduleBase):
    """Primitives that compute index expressions in blocks of their own."""

    __slots__ = ()

    @instruction(
        "Compute index expressions of {block} in {results}",
        storage_scope=ATTRIBUTE,
        cse_thresh=ATTRIBUTE,
    )
    def cache_index(
        self, block: BlockRV | str, storage_scope: str, cse_thresh: int = 0
    ) -> list[BlockRV]:
        """Compute expressions of a block's iterators once, before the outermost loop of the block
        in its scope.

        The expressions are those in the values and conditions of the block, without elements of
        buffers. The largest are chosen first.

        Parameters
        ----------
        storage_scope : the memory of their values: "global", "local", ...
        cse_thresh : how often an expression must occur to be chosen.

        Returns
        -------
        A block for each expression.

        >>> from te_sched.script import tir as T
        >>> @T.prim_func
        ... def main(A: T.Buffer((8,), "float32"), B: T.Buffer((16,), "float32")):
        ...     for i in range(16):
        ...         with T.block("B"):
        ...             vi = T.axis.spatial(16, i)
        ...             B[vi] = A[vi // 2]
        >>> sch = tir.Schedule(main)
        >>> (index,) = sch.cache_index("B", "global")
        >>> sch.get(index).body.value, sch.get(sch.get_block("B")).body.value
        (v0 // 2, A[index_var_0[vi]])
        """
        key = self.block_key(block, "cache_index")
        check_not_root(self, key, "apply cache_index to")
        memory = check_scope(storage_scope)
        least = integer(cse_thresh, "cse_thresh")
        own, scope = self.block(key), self.scope(key)
        assert scope is not None

        def refused(why: str, help: str) -> ScheduleError:
            fault = f"cannot cache index expressions of block {key.name}"
            return ScheduleError(fault, why, help, of_block(key.name))

        if least < 0:
            raise refused(f"cse_thresh is {least}", "give a number of occurrences, at least 0")
        if outermost_blocks(own.body):
            raise refused("it has blocks in it", "use the inner blocks")
        chosen = _chosen(own, max(least, 1))
        if not chosen:
            raise refused(
                f"it has no expression of its iterators that occurs {max(least, 1)} times",
                "give a smaller cse_thresh, or keep the block as it is",
            )
        tables = [
            _table(number, occurrences, own, memory) for number, occurrences in enumerate(chosen)
        ]
        loads = {
            id(node): table.load
            for occurrences, table in zip(chosen, tables, strict=True)
            for node in occurrences
        }
        mapper = _Cached(loads)
        new = mapper.visit(own)
        draft = self.draft
        draft.replace(key, replace(self.realize(key), block=new), mapper.continued)
        nest = sequence(*[table.nest for table in tables])
        where = Place(scope, number_in(draft, scope, key) or 0)
        links: dict[Block, Block] = {}
        draft.replace(scope, with_inserted(draft, where, nest, links), links)
        links = {}
        owner = draft.realize(scope)
        buffers = (*owner.block.alloc_buffers, *[table.load.buffer for table in tables])
        draft.replace(scope, with_block(owner, links, alloc_buffers=buffers), links)
        return [BlockRV(block_key) for block_key in draft.blocks_in(nest)]


class _Cached(BlockMapper):
    """Replaces nodes by loads; the stated regions stay, as in TVM."""

    def __init__(self, loads: Mapping[int, BufferLoad]) -> None:
        super().__init__()
        self.loads = loads

    def visit_Expr(self, node: Expr) -> Expr:
        load = self.loads.get(id(node))
        return self.generic(node) if load is None else load

    def visit_BufferRegion(self, node: BufferRegion) -> BufferRegion:
        return node


# -- choosing expressions --------------------------------------------------------------------------


def _chosen(block: Block, least: int) -> list[list[Expr]]:
    """The occurrences of the expressions that are cached, for each the nodes.

    The largest expressions are chosen first. Their parts do not count as occurrences any more.
    """
    nodes = [node for part in (block.init, block.body) if part is not None for node in walk(part)]
    sizes = {id(node): sum(1 for _ in walk(node)) for node in nodes if isinstance(node, Expr)}
    values = {id(node) for source in _sources(block) for node in walk(source)}
    groups = _equal_nodes(block, nodes)
    occurrences = []
    covered = [False] * len(nodes)
    for places in sorted(groups, key=lambda places: -sizes[id(nodes[places[0]])]):
        free = [index for index in places if not covered[index]]
        if len(free) < least or all(id(nodes[index]) not in values for index in free):
            continue
        occurrences.append([nodes[index] for index in places])
        for position in free:
            size = sizes[id(nodes[position])]
            covered[position : position + size] = [True] * size
    return occurrences


def _sources(block: Block) -> Iterator[Expr]:
    """The values and conditions of a block."""
    for part in (block.init, block.body):
        for node in walk(part) if part is not None else ():
            if isinstance(node, BufferStore | LetStmt):
                yield node.value
            elif isinstance(node, IfThenElse):
                yield node.condition


def _equal_nodes(block: Block, nodes: Sequence[Any]) -> list[list[int]]:
    """The places of nodes that can be cached, equal ones together, in program order."""
    own = {axis.var for axis in block.iter_vars if axis.dom and ops.is_const(axis.dom.min, 0)}
    analyzer = Analyzer()
    groups: list[tuple[Expr, list[int]]] = []
    for position, node in enumerate(nodes):
        if not (isinstance(node, Expr) and _can_be_cached(node, own)):
            continue
        simple = analyzer.simplify(node)
        positions = next((places for other, places in groups if same(other, simple)), None)
        if positions is None:
            groups.append((simple, [position]))
        else:
            positions.append(position)
    return [places for _, places in groups]


def _can_be_cached(node: Expr, own: set[Var]) -> bool:
    """Whether an expression of iterators has a value for all of their values."""
    if isinstance(node, Var) or not variables_of(node) or variables_of(node) - own:
        return False
    divisors = [division.b for division in walk(node) if isinstance(division, _DIVISIONS)]
    return (
        effect_of(node) <= Effect.PURE
        and all(isinstance(divisor, IntImm) and divisor.value for divisor in divisors)
        and node.dtype.partition("x")[2] == ""
    )


_DIVISIONS = (E.Div, E.Mod, E.FloorDiv, E.FloorMod)


# -- computing them --------------------------------------------------------------------------------


class _Table(NamedTuple):
    """The loops that compute an expression for all values of its iterators, and the load that
    takes its place.
    """

    nest: Stmt
    load: BufferLoad


def _table(index: int, nodes: Sequence[Expr], block: Block, memory: str) -> _Table:
    value = nodes[0]
    own = {axis.var: axis for axis in block.iter_vars}
    used = list(dict.fromkeys([var for var in walk(value) if var in own]))
    domains = [own[var].dom for var in used]
    shape = [dom.extent for dom in domains if dom is not None]
    strides = [IntImm(1, shape[0].dtype)] if len(shape) == 1 else None  # as TVM writes it
    name = f"index_var_{index}"
    buffer = decl_buffer(shape, value.dtype, name, strides=strides, scope=memory)
    axes = [
        IterVar(Range(IntImm(0, size.dtype), size), Var(f"v{number}", var.dtype), SPATIAL)
        for number, (var, size) in enumerate(zip(used, shape, strict=True))
    ]
    there = tuple([axis.var for axis in axes])
    written = tuple([Range(var, IntImm(1, var.dtype)) for var in there])
    done = substitute(value, dict(zip(used, there, strict=True)))
    table_block = Block(
        tuple(axes),
        (),
        (BufferRegion(buffer, written),),
        f"index_{index}",
        None,
        BufferStore(buffer, done, there),
    )
    loops = [Var(f"ax{number}", var.dtype) for number, var in enumerate(used)]
    body: Stmt = BlockRealize(tuple(loops), ops.const(True), table_block)
    for loop, size in reversed(list(zip(loops, shape, strict=True))):
        body = For(loop, IntImm(0, loop.dtype), size, "serial", body)
    return _Table(body, BufferLoad(buffer, tuple(used)))
