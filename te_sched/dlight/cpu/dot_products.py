"""Sums of products of bytes on a processor: instructions that add four products at once.

The operand that is read in vectors is packed with four neighbors of a reduction side by side, and
the other one, too, unless its last index counts them. Must not know how tiles are chosen.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from te_sched.codegen.llvm.machine import machine_of, vector_bytes
from te_sched.codegen.llvm.processors import check_intrinsics
from te_sched.codegen.target import Target
from te_sched.dlight.structure import Contraction, node_of
from te_sched.errors import BuildError
from te_sched.ir.blocks import Block
from te_sched.ir.expr import BufferLoad, Cast, Expr, Mul, Var
from te_sched.ir.visitor import variables_of
from te_sched.tensorir.facts.axes import REDUCTION, extent_of
from te_sched.tensorir.facts.computations import summand_of
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tensorir.tensor_intrin.x86 import DOT_INSTRUCTIONS, dot_intrinsic
from te_sched.tir.schedule import Schedule

GROUP = 4  # products that an instruction adds


class DotProduct(NamedTuple):
    """How the sums of a block are computed: by an intrinsic, along one of its iterators."""

    depth: int
    lanes: int
    intrinsic: str


def dot_product_of(
    node: Block, contraction: Contraction, target: Target, pads: bool
) -> DotProduct | None:
    """The instruction for a contraction of unsigned and signed bytes; None if there is none, or if
    its iterators do not fit and are not padded.
    """
    if not contraction.is_plain or not _multiplies_bytes(summand_of(node)):
        return None
    width = extent_of(node.iter_vars[contraction.column])
    fitting = [
        (name, lanes)
        for name, lanes in dot_instructions(target)
        if pads or (width is not None and width % lanes == 0)
    ]
    depths = [
        place
        for place, axis in enumerate(node.iter_vars)
        if axis.kind == REDUCTION and _is_depth(axis.var, extent_of(axis), contraction, pads)
    ]
    if not fitting or not depths:
        return None
    name, lanes = fitting[0]
    depth = max(depths, key=lambda place: extent_of(node.iter_vars[place]) or 0)
    other = contraction.operands[1 - contraction.wide]
    intrinsic = dot_intrinsic(name, lanes, other.dtype == "int8", contraction.wide == 0, True)
    return DotProduct(depth, lanes, intrinsic)


def _multiplies_bytes(summand: Expr | None) -> bool:
    """Whether a value is the product of an unsigned and a signed byte, as a number of 32 bits."""
    if not isinstance(summand, Mul):
        return False
    factors = [summand.a, summand.b]
    return all(
        isinstance(factor, Cast) and factor.dtype == "int32" and type(factor.value) is BufferLoad
        for factor in factors
    ) and {factor.value.dtype for factor in factors if isinstance(factor, Cast)} == {
        "uint8",
        "int8",
    }


def _is_depth(var: Var, extent: int | None, contraction: Contraction, pads: bool) -> bool:
    """Whether both operands have an iterator of enough elements as one index, and nowhere else."""
    if extent is None or extent < GROUP or (extent % GROUP and not pads):
        return False
    return all(
        sum(index is var for index in load.indices) == 1
        and not any(index is not var and var in variables_of(index) for index in load.indices)
        for load in contraction.operands
    )


@cache
def dot_instructions(target: Target) -> tuple[tuple[str, int], ...]:
    """The sets of instructions of `DOT_INSTRUCTIONS` that a target has, with the lanes of their
    vectors, the fastest ones first.

    >>> dot_instructions(te_sched.target.Target("llvm -mcpu=haswell"))
    (('avx2', 8),)
    """
    machine = machine_of(target)
    if not machine.triple.startswith("x86_64"):
        return ()
    most = vector_bytes(machine) // 4
    usable: list[tuple[str, int]] = []
    for name, by_lanes in DOT_INSTRUCTIONS.items():
        for lanes, instruction in by_lanes.items():
            sums, pairs = (f"<{lanes} x i32>", ""), (f"<{2 * lanes} x i16>", "")
            operands = [sums] * 3 if name == "vnni" else [pairs] * 2
            call = (instruction, (sums[0], *operands))
            with suppress(BuildError):
                if lanes <= most:
                    check_intrinsics(target, machine.triple, machine.cpu, machine.features, [call])
                    usable.append((name, lanes))
    return tuple(usable)


def pack_groups(sch: Schedule, block: BlockRV, contraction: Contraction, depth: int) -> None:
    """Read the operand that is not read in vectors from a copy with groups along an iterator
    innermost, unless its last index is the iterator.
    """
    node = node_of(sch, block)
    load, var = contraction.operands[1 - contraction.wide], node.iter_vars[depth].var
    if load.indices[-1] is var:
        return
    place = next(at for at, index in enumerate(load.indices) if index is var)
    number = [region.buffer for region in node.reads].index(load.buffer)
    copy = sch.cache_read(block, number, "global")

    def in_groups(*indices: Any) -> list[Any]:
        outer = [*indices]
        outer[place] = indices[place] // GROUP
        return [*outer, indices[place] % GROUP]

    transform_layout: Any = sch.transform_layout
    transform_layout(copy, ("write", 0), in_groups)
    loops = sch.get_loops(copy)
    loops[place], group = sch.split(loops[place], [None, GROUP])
    sch.reorder(*loops, group)
    sch.unroll(group)


def tensorized(sch: Schedule, block: BlockRV, sums: list[LoopRV], intrinsic: str) -> None:
    """Compute the two innermost loops of a block by an intrinsic; sums begin before its loops."""
    init = sch.decompose_reduction(block, sums[0])
    sch.vectorize(sch.get_loops(init)[-1])
    sch.tensorize(sch.get_loops(block)[-2], intrinsic)
