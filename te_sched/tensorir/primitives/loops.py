"""Primitives that change loops: split, fuse, reorder, add_unit_loop."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.combiners import find_counterexample, in_another_order
from te_sched.arith.conditions import conjuncts
from te_sched.errors import ScheduleError, repr_of
from te_sched.ir import ops
from te_sched.ir.blocks import BlockRealize
from te_sched.ir.expr import Expr, IntImm, Range, Var
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import For
from te_sched.ir.visitor import replace, variables_of
from te_sched.tensorir.base import ScheduleBase, const_like, names_apart, of_block, of_loop
from te_sched.tensorir.blocks import has_affine_binding, is_affine, loop_ranges, range_of
from te_sched.tensorir.facts.axes import REDUCTION, SPATIAL, values_of_kind
from te_sched.tensorir.handles import FLAG, LIST, BlockRV, LoopRV, instruction
from te_sched.tensorir.primitives.finding import check_not_root
from te_sched.tensorir.relaxation import always_holds
from te_sched.tensorir.rewriting import Rebind, nested
from te_sched.tensorir.updates import may_be_repeated, step_of


class NestPrimitives(ScheduleBase):
    """Primitives that change loops."""

    __slots__ = ()

    @instruction(
        "Split {loop} into {results}",
        factors=LIST,
        preserve_unit_iters=FLAG,
        disable_predication=FLAG,
    )
    def split(
        self,
        loop: LoopRV,
        factors: Sequence[Any],
        preserve_unit_iters: bool = True,
        disable_predication: bool = False,
    ) -> list[LoopRV]:
        """Split a loop into a nest of loops, outermost first.

        Parameters
        ----------
        factors : the extents of the new loops; one may be None and is inferred. If their product is
            larger than the extent, the blocks get a predicate.
        preserve_unit_iters : whether bindings keep loops of one iteration.
        disable_predication : add no predicate; the program then computes something else, unless the
            factors divide the extent.

        >>> sch = tir.Schedule(matmul_relu)
        >>> i, j, k = sch.get_loops("C")
        >>> k_0, k_1 = sch.split(k, factors=[None, 4])
        >>> sch.get(k_0).extent, sch.get(k_1).extent
        (2, 4)
        """
        key = self.loop_key(loop, "split")
        node = plain_loop(self, key, "split")
        extents = _extents(self, node, factors)
        loop_vars = [
            Var(f"{node.loop_var.name}_{number}", node.loop_var.dtype)
            for number in range(len(extents))
        ]
        value: Expr = IntImm(0, node.loop_var.dtype)
        for var, extent in zip(loop_vars, extents, strict=True):
            value = value * extent + var
        ranges = loop_ranges(self, self.loops_above(key))
        zero = IntImm(0, node.loop_var.dtype)
        ranges |= {var: Range(zero, extent) for var, extent in zip(loop_vars, extents, strict=True)}
        needed = value < node.extent
        is_exact = _divides(extents, node.extent) or always_holds(needed, ranges)
        if disable_predication and not is_exact:
            _check_repeated(self, key)
        predicate = None if disable_predication or is_exact else needed
        rebind = Rebind({key: value}, ranges, predicate, bool(preserve_unit_iters))
        body = rebind.visit(node.body)
        loops = [For(v, zero, e, "serial", body) for v, e in zip(loop_vars, extents, strict=True)]
        names = ", ".join([var.name for var in loop_vars])
        self.draft.replace(key, nested(loops, body), rebind.continued, f"it was split into {names}")
        return [LoopRV(var) for var in loop_vars]

    @instruction("Fuse {loops} into {results}", preserve_unit_iters=FLAG)
    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """Fuse nested loops, given outermost first, into one.

        >>> sch = tir.Schedule(matmul_relu)
        >>> i, j = sch.get_loops("D")
        >>> sch.get(sch.fuse(i, j)).extent
        64
        """
        if not loops:
            raise ScheduleError("fuse needs a loop, got none", "", "sch.fuse(i, j)")
        keys = [self.loop_key(handle, "fuse") for handle in loops]
        nodes = [plain_loop(self, key, "fuse") for key in keys]
        for outer, inner in pairwise(nodes):
            if outer.body is not inner:
                raise ScheduleError(
                    f"cannot fuse loops {outer.loop_var.name} and {inner.loop_var.name}",
                    f"{inner.loop_var.name} is not the only statement directly in "
                    f"{outer.loop_var.name}",
                    "give loops outermost first, without other loops and statements between them; "
                    "reorder moves loops",
                    [of_loop(outer.loop_var.name), of_loop(inner.loop_var.name)],
                )
            used = variables_of(inner.extent) & {*keys}
            if used:
                raise _dependent(inner, next(iter(used)), "fuse")
        name = "_".join([loop.loop_var.name for loop in nodes]) + "_fused"
        dtype = max([loop.loop_var.dtype for loop in nodes], key=lambda spelling: int(spelling[3:]))
        fused = Var(name, dtype)
        analyzer = Analyzer()
        values: dict[Var, Expr] = {}
        finer: Expr = IntImm(1, dtype)  # the iterations of the loops inside
        for position, node in reversed(list(enumerate(nodes))):
            extent = const_like(node.extent, fused)
            if is_const(extent, 0):  # there are no iterations, as of the fused loop
                values[node.loop_var] = const_like(fused, node.loop_var)
                continue
            part = ops.floormod(fused, finer * extent) if position else fused
            is_unit = is_const(extent, 1)
            value = const_like(ops.floordiv(part, finer), node.loop_var)
            values[node.loop_var] = node.min if is_unit else value
            finer = finer * extent
        count: Expr = IntImm(1, dtype)  # in the order of the loops, as TVM writes it
        for node in nodes:
            count = count * const_like(node.extent, fused)
        total = analyzer.simplify(count)
        zero = IntImm(0, dtype)
        ranges = loop_ranges(self, self.loops_above(keys[0])) | {fused: Range(zero, total)}
        for node in nodes:
            analyzer.bind(node.loop_var, range_of(node))
        rebind = Rebind(values, ranges, keeps_units=bool(preserve_unit_iters))
        body = rebind.visit(nodes[-1].body)
        self.draft.replace(
            keys[0],
            For(fused, zero, total, "serial", body),
            rebind.continued,
            f"it was fused into {name}",
        )
        return LoopRV(fused)

    @instruction("Reorder the loops: {ordered_loops}")
    def reorder(self, *ordered_loops: LoopRV) -> None:
        """Reorder nested loops: the given ones take their positions in the given order.

        >>> sch = tir.Schedule(matmul_relu)
        >>> i, j, k = sch.get_loops("C")
        >>> sch.reorder(k, i)
        >>> [loop.name for loop in sch.get_loops("C")]
        ['k', 'j', 'i']
        """
        keys = [self.loop_key(handle, "reorder") for handle in ordered_loops]
        for key in keys:
            if keys.count(key) > 1:
                raise ScheduleError(
                    f"loop {key.name} is given twice to reorder",
                    "",
                    "give every loop once",
                    of_loop(key.name),
                )
        if len(keys) < 2:
            return
        chain = _chain(self, keys)
        inner = self.loop(chain[-1])
        for block in self.blocks_of(chain[-1]):
            _check_reorderable(self, block, chain)
        order, key_set = iter(keys), {*keys}
        new = [next(order) if key in key_set else key for key in chain]
        for position, key in enumerate(new):
            node = self.loop(key)
            used = variables_of(node.min, node.extent)
            later = [loop for loop in new[position + 1 :] if loop in used]
            if later:
                raise _dependent(node, later[0], "reorder")
        for block in self.blocks_of(chain[-1]):
            _check_commutes(self, block, chain, new)
        self.draft.replace(chain[0], nested([self.loop(key) for key in new], inner.body))

    @instruction("Add loop {results} around {block_or_loop}")
    def add_unit_loop(self, block_or_loop: BlockRV | LoopRV | str) -> LoopRV:
        """Add a loop of one iteration around a block or loop.

        >>> sch = tir.Schedule(matmul_relu)
        >>> unit = sch.add_unit_loop("D")
        >>> [loop.name for loop in sch.get_loops("D")]
        ['i', 'j', 'u']
        """
        key = self.key_from(block_or_loop, "add_unit_loop")
        if isinstance(block_or_loop, BlockRV):
            check_not_root(self, key, "add a loop around")
        node = self.nodes[key]
        dtype = "int32"  # whatever the loops around it have
        unit = Var("u", dtype)
        zero = IntImm(0, dtype)
        self.draft.replace(key, For(unit, zero, IntImm(1, dtype), "serial", node))
        return LoopRV(unit)


def plain_loop(schedule: ScheduleBase, key: Var, action: str) -> For:
    """A loop that starts at 0 and has neither annotations nor threads.

    Raises
    ------
    ScheduleError for others.
    """
    node = schedule.loop(key)
    name = node.loop_var.name
    if node.thread_binding is not None or node.annotations:
        bound = node.thread_binding
        raise ScheduleError(
            f"cannot {action} loop {name}",
            f"it is bound to {bound.thread_tag}"
            if bound is not None
            else f"it has the annotation {next(iter(node.annotations))}",
            f"{action} it first, then bind or annotate the result",
            of_loop(name),
        )
    if not is_const(node.min, 0):
        raise ScheduleError(
            f"cannot {action} loop {name}",
            f"it starts at {node.min}, not at 0",
            "write it from 0",
            of_loop(name),
        )
    return node


def _check_repeated(schedule: ScheduleBase, key: Var) -> None:
    """Refuse more iterations of a loop for blocks that no iterator tells of them, as they would
    update their results more often.
    """
    for outer in schedule.blocks_of(key):
        realize = schedule.realize(outer)
        if key in variables_of(realize.predicate, *realize.iter_values):
            continue  # the values leave the domain of an iterator, which `build` refuses
        for block, inner in schedule.blocks_below(outer).items():
            if block.init is None and not schedule.blocks_of(inner) and not may_be_repeated(block):
                name = block.name_hint
                raise ScheduleError(
                    f"cannot split loop {key.name} into more iterations: they repeat block {name}",
                    f"block {name} updates what it writes, and no iterator of it depends on "
                    f"{key.name}",
                    "leave out disable_predication, or give factors whose product is the extent "
                    "of the loop",
                    [of_loop(key.name), of_block(name)],
                )


def _check_defined(schedule: ScheduleBase, factors: Sequence[Expr], name: str) -> None:
    """Refuse variables that the program does not have, such as samples of other schedules."""
    functions = schedule.functions.values() if factors else ()
    buffers = [buffer for func in functions for buffer in func.buffer_map.values()]
    parts = [part for func in functions for part in (func.body, *func.params)]
    parts += [size for buffer in buffers for size in buffer.shape]
    for variable in variables_of(*factors) - variables_of(*parts):  # one of them is named
        raise ScheduleError(
            f"split factor of loop {name} uses {variable.name}, which is not a variable of the "
            "program",
            "it was sampled by another schedule, or is not declared",
            "give an int, a size of the program, or what sample_ of this schedule returned",
            of_loop(name),
        )


def _extents(schedule: ScheduleBase, node: For, factors: Any) -> list[Expr]:
    name = node.loop_var.name
    if not isinstance(factors, Sequence) or isinstance(factors, str) or not factors:
        raise ScheduleError(
            f"split factors of loop {name} must be a list, got {repr_of(factors)}",
            "",
            "sch.split(loop, factors=[None, 4])",
            of_loop(name),
        )
    values = [
        None
        if split_factor is None
        else schedule.value_of(split_factor, f"split factor of loop {name}")
        for split_factor in factors
    ]
    _check_defined(schedule, [value for value in values if isinstance(value, Expr)], name)
    unknown = [number for number, value in enumerate(values) if value is None or _is(value, -1)]
    if len(unknown) > 1:
        raise ScheduleError(
            f"{len(unknown)} split factors of loop {name} are None",
            "one can be inferred from the others",
            "give all factors but one",
            of_loop(name),
        )
    for position, factor in enumerate(values):
        if position not in unknown and isinstance(factor, int) and factor < 1:
            raise ScheduleError(
                f"split factor of loop {name} must be at least 1, got {factor}",
                "",
                "give positive integers",
                of_loop(name),
            )
    analyzer = Analyzer()
    product: Expr = IntImm(1, node.loop_var.dtype)
    for position, factor in enumerate(values):
        if position not in unknown and factor is not None:
            product = product * const_like(factor, node.loop_var)
    if unknown:
        inferred = analyzer.simplify(ops.floordiv(node.extent + product - 1, product))
        values[unknown[0]] = inferred
    elif analyzer.can_prove(product < node.extent):
        raise ScheduleError(
            f"split factors of loop {name} have the product {product}, "
            f"and it has {node.extent} iterations",
            "the product must be at least as large",
            "give None for one factor: it is inferred",
            of_loop(name),
        )
    return [const_like(value, node.loop_var) for value in values]  # type: ignore[arg-type]


def _is(value: Any, number: int) -> bool:
    return isinstance(value, int) and value == number


def _divides(extents: Sequence[Expr], extent: Expr) -> bool:
    """Whether extents are constants whose product is another one."""
    numbers = [size.value for size in (*extents, extent) if isinstance(size, IntImm)]
    return len(numbers) == len(extents) + 1 and prod(numbers[:-1]) == numbers[-1]


def _dependent(node: For, var: Var, action: str) -> ScheduleError:
    return ScheduleError(
        f"cannot {action} loop {node.loop_var.name} before loop {var.name}",
        f"its bounds, {node.min} and {node.extent}, depend on {var.name}",
        f"keep it inside of {var.name}",
        of_loop(node.loop_var.name),
    )


def _chain(schedule: ScheduleBase, keys: list[Var]) -> list[Var]:
    """The loops from the outermost of the given ones to the innermost."""
    innermost = max(keys, key=lambda loop_key: len(list(schedule.around(loop_key))))
    chain = [innermost]
    while not set(keys) <= set(chain):
        parent = schedule.parents[chain[-1]]
        node = None if parent is None else schedule.nodes[parent]
        if type(node) is not For:
            outside = next(key for key in keys if key not in chain)
            names = names_apart(schedule, outside, innermost)
            raise ScheduleError(
                f"cannot reorder loops {names[0]} and {names[1]}",
                f"{names[1]} is not inside of {names[0]}",
                "give loops of one nest, without a block between them",
                [of_loop(outside.name), of_loop(innermost.name)],
            )
        if node.body is not schedule.nodes[chain[-1]]:
            raise ScheduleError(
                f"cannot reorder loops {node.loop_var.name} and {innermost.name}",
                f"loop {node.loop_var.name} has other statements beside {chain[-1].name}",
                "give loops of one nest, in which each loop is the only statement of the one "
                "around it",
                [of_loop(node.loop_var.name), of_loop(innermost.name)],
            )
        chain.append(node.loop_var)
    return chain[::-1]


def _is_affine_in(schedule: ScheduleBase, block: Any, chain: list[Var]) -> bool:
    """Whether the iterators of a block that depend on some loops are affine in these loops and
    those inside, or all of them in all loops; where a condition on the loops around them is false,
    they do not run.
    """
    realize = schedule.realize(block)
    above = schedule.loops_above(block)
    ranges = loop_ranges(schedule, above[above.index(chain[0]) :])
    both = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    kept = [(axis, value) for axis, value in both if variables_of(value) & {*chain}]
    predicate: Expr = ops.const(True)
    for condition in conjuncts(realize.predicate):
        if variables_of(condition) & ranges.keys():
            predicate = ops.logical_and(predicate, condition)
    part = BlockRealize(
        tuple([value for _, value in kept]),
        predicate,
        replace(realize.block, iter_vars=tuple([axis for axis, _ in kept])),
    )
    return has_affine_binding(part, ranges) or is_affine(schedule, block)


def _check_reorderable(schedule: ScheduleBase, block: Any, chain: list[Var]) -> None:
    realize = schedule.realize(block)
    for axis in realize.block.iter_vars:
        if axis.kind not in (SPATIAL, REDUCTION):
            raise ScheduleError(
                f"cannot reorder the loops of block {block.name}",
                f"its iterator {axis.var.name} is neither spatial nor reduce: its iterations run "
                "in order",
                "keep the loops in their order",
                of_block(block.name),
            )
    if not _is_affine_in(schedule, block, chain):
        raise ScheduleError(
            f"cannot reorder the loops of block {block.name}",
            "its iterators are not affine in the loops: "
            + ", ".join(map(str, realize.iter_values)),
            "bind each iterator to a sum of parts of loops",
            of_block(block.name),
        )


def _check_commutes(
    schedule: ScheduleBase, block: Any, old: Sequence[Var], new: Sequence[Var]
) -> None:
    """Refuse another order of the reduction loops of a block whose result depends on it."""
    realize = schedule.realize(block)
    if realize.block.init is None:
        return
    reduced = values_of_kind(realize, REDUCTION)
    if [loop for loop in old if loop in reduced] == [loop for loop in new if loop in reduced]:
        return
    step = step_of(realize.block)
    counterexample = find_counterexample(step, in_another_order) if step is not None else None
    if counterexample is not None:
        raise ScheduleError(
            f"cannot reorder the reduction loops of block {block.name}",
            f"its update depends on the order of its values: {counterexample}",
            "keep these loops in their order, or use an update that commutes, such as a sum",
            of_block(block.name),
        )
