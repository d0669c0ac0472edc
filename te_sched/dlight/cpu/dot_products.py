"""Sums of products on a processor: instructions that add four products of bytes, or two products
of bfloat16, at once.

The operand that is read in vectors is packed with these neighbors of a reduction side by side, and
the other one, too, unless its last index counts them. Must not know how tiles are chosen.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from te_sched.codegen.llvm.machine import machine_of, vector_bytes
from te_sched.codegen.llvm.processors import check_intrinsics
from te_sched.codegen.target import Target
from te_sched.dlight.structure import (
    SCHEDULED,
    Contraction,
    attempt,
    is_worth_sharing,
    node_of,
    share_as_one,
)
from te_sched.errors import BuildError
from te_sched.ir.blocks import Block
from te_sched.ir.choices import choice_of
from te_sched.ir.expr import Add, BufferLoad, Cast, Expr, FloatImm, IntImm, Mul, Var
from te_sched.ir.visitor import variables_of
from te_sched.tensorir.facts.axes import REDUCTION, extent_of
from te_sched.tensorir.facts.computations import is_injective, stored, summand_of
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tensorir.tensor_intrin.x86 import (
    DOT_INSTRUCTIONS,
    PAIR_INSTRUCTIONS,
    dot_intrinsic,
    pair_intrinsic,
)
from te_sched.tir.schedule import Schedule

_WORTH = 1 << 16  # elements for which threads pay
_FOUR, _PAIR = 4, 2  # bytes and numbers of 16 bits that fill a lane


class DotProduct(NamedTuple):
    """How the sums of a block are computed: by an intrinsic, which adds a group of products, along
    one of its iterators.
    """

    depth: int
    group: int
    lanes: int
    intrinsic: str


def dot_product_of(
    node: Block, contraction: Contraction, target: Target, pads: bool
) -> DotProduct | None:
    """The instruction for a contraction of unsigned and signed bytes, or of bfloat16; None if there
    is none, or if its iterators do not fit and are not padded.
    """
    group = _group_of(summand_of(node)) if contraction.is_plain else None
    if group is None:
        return None
    width = extent_of(node.iter_vars[contraction.column])
    fitting = [
        (name, lanes)
        for name, lanes in (dot_instructions if group == _FOUR else pair_instructions)(target)
        if pads or (width is not None and width % lanes == 0)
    ]
    depths = [
        number
        for number, axis in enumerate(node.iter_vars)
        if axis.kind == REDUCTION and _is_depth(axis.var, extent_of(axis), group, contraction, pads)
    ]
    if not fitting or not depths:
        return None
    name, lanes = fitting[0]
    depth = max(depths, key=lambda number: extent_of(node.iter_vars[number]) or 0)
    other, has_rows_first = contraction.operands[1 - contraction.wide], contraction.wide == 0
    if group == _FOUR:
        intrinsic = dot_intrinsic(name, lanes, other.dtype == "int8", has_rows_first, True)
    else:
        intrinsic = pair_intrinsic(lanes, has_rows_first, True)
    return DotProduct(depth, group, lanes, intrinsic)


def narrow_copies(sch: Schedule, block: BlockRV, target: Target) -> None:
    """Store what a block multiplies in bfloat16, as far as other blocks copy it from bfloat16, with
    zeros as borders, and the target has instructions for pairs.
    """
    read = [region.buffer for region in node_of(sch, block).reads]
    for maker in sch.get_producers(block) if pair_instructions(target) else ():
        node = node_of(sch, maker)
        store = stored(node) if is_injective(node) else None
        if store is None or store.buffer not in read or not _is_exact(store.value):
            continue
        is_inlined = isinstance(store.value, Cast) and attempt(
            lambda at=maker: sch.compute_inline(at)
        )
        if not is_inlined:
            sch.unsafe_set_dtype(maker, 0, "bfloat16")


def _is_exact(value: Expr) -> bool:
    """Whether a value of float32 is one of bfloat16 for sure."""
    choice = choice_of(value)
    if choice is not None:
        return all(map(_is_exact, choice[1:]))
    if isinstance(value, FloatImm):
        return value.value == 0
    return isinstance(value, Cast) and value.dtype == "float32" and value.value.dtype == "bfloat16"


# The products that an instruction adds, by the dtypes of the factors and of the sum.
_GROUPS = {
    (frozenset({"uint8", "int8"}), "int32"): _FOUR,
    (frozenset({"bfloat16"}), "float32"): _PAIR,
}


def _group_of(summand: Expr | None) -> int | None:
    """How many of the products that a sum adds an instruction adds; None if there is none."""
    if not isinstance(summand, Mul):
        return None
    factors = [
        factor.value
        for factor in (summand.a, summand.b)
        if isinstance(factor, Cast) and type(factor.value) is BufferLoad
    ]
    if len(factors) < 2:
        return None
    return _GROUPS.get((frozenset(factor.dtype for factor in factors), summand.dtype))


def _is_depth(
    var: Var, extent: int | None, group: int, contraction: Contraction, pads: bool
) -> bool:
    """Whether both operands have an iterator of enough elements in one index, and nowhere else."""
    if extent is None or extent < group or (extent % group and not pads):
        return False
    return all(_dimension_of(load, var, group) is not None for load in contraction.operands)


def _dimension_of(load: BufferLoad, var: Var, group: int) -> int | None:
    """The only dimension along which an iterator counts elements: from the beginning, or from a
    multiple of `group` on; None without one.
    """
    places = [at for at, index in enumerate(load.indices) if var in variables_of(index)]
    if len(places) != 1:
        return None
    index = load.indices[places[0]]
    if index is var:
        return places[0]
    is_shifted = isinstance(index, Add) and index.b is var and _is_multiple(index.a, group)
    return places[0] if is_shifted else None


def _is_multiple(value: Expr, group: int) -> bool:
    """Whether a value is a variable times a multiple of a number."""
    if not isinstance(value, Mul) or type(value.a) is not Var or type(value.b) is not IntImm:
        return False
    return value.b.value % group == 0


@cache
def dot_instructions(target: Target) -> tuple[tuple[str, int], ...]:
    """The sets of instructions of `DOT_INSTRUCTIONS` that a target has, with the lanes of their
    vectors, the fastest ones first.

    >>> dot_instructions(te_sched.target.Target("llvm -mcpu=haswell"))
    (('avx2', 8),)
    """
    usable: list[tuple[str, int]] = []
    for name, by_lanes in DOT_INSTRUCTIONS.items():
        for lanes, instruction in by_lanes.items():
            sums, pairs = f"<{lanes} x i32>", f"<{2 * lanes} x i16>"
            operands = [sums] * 3 if name == "vnni" else [pairs] * 2
            if _has_instruction(target, instruction, lanes, sums, operands):
                usable.append((name, lanes))
    return tuple(usable)


@cache
def pair_instructions(target: Target) -> tuple[tuple[str, int], ...]:
    """The same for pairs of bfloat16.

    >>> pair_instructions(te_sched.target.Target("llvm -mcpu=cooperlake"))
    (('bf16', 16), ('bf16', 8))
    """
    usable: list[tuple[str, int]] = []
    for lanes, instruction in PAIR_INSTRUCTIONS.items():
        sums, pairs = f"<{lanes} x float>", f"<{2 * lanes} x bfloat>"
        if _has_instruction(target, instruction, lanes, sums, [sums, pairs, pairs]):
            usable.append(("bf16", lanes))
    return tuple(usable)


def _has_instruction(
    target: Target, instruction: str, lanes: int, result: str, operands: list[str]
) -> bool:
    """Whether a target has an instruction of vectors of numbers of 32 bits."""
    machine = machine_of(target)
    if not machine.triple.startswith("x86_64") or lanes > vector_bytes(machine) // 4:
        return False
    call = (instruction, (result, *[(operand, "") for operand in operands]))
    with suppress(BuildError):
        check_intrinsics(target, machine.triple, machine.cpu, machine.features, [call])
        return True
    return False


def pack_groups(sch: Schedule, block: BlockRV, contraction: Contraction, dot: DotProduct) -> None:
    """Read the operand that is not read in vectors from a copy with groups along an iterator
    innermost, unless its last index counts them.
    """
    node = node_of(sch, block)
    load, var = contraction.operands[1 - contraction.wide], node.iter_vars[dot.depth].var
    dimension = _dimension_of(load, var, dot.group)
    if dimension is None or dimension == len(load.indices) - 1:
        return
    number = [region.buffer for region in node.reads].index(load.buffer)
    copy = sch.cache_read(block, number, "global")

    def in_groups(*indices: Any) -> list[Any]:
        outer = [*indices]
        outer[dimension] = indices[dimension] // dot.group
        return [*outer, indices[dimension] % dot.group]

    transform_layout: Any = sch.transform_layout
    transform_layout(copy, ("write", 0), in_groups)
    sch.annotate(copy, SCHEDULED, 1)
    axes = node_of(sch, copy).iter_vars
    loops = sch.get_loops(copy)
    loops[dimension], group = sch.split(loops[dimension], [None, dot.group])
    sch.reorder(*loops, group)
    sch.unroll(group)
    outer = loops[: dimension + 1]
    if is_worth_sharing(axes, _WORTH):
        share_as_one(sch, outer, axes, _WORTH // 2)


def tensorized(sch: Schedule, block: BlockRV, sums: list[LoopRV], intrinsic: str) -> None:
    """Compute the two innermost loops of a block by an intrinsic; sums begin before its loops."""
    init = sch.decompose_reduction(block, sums[0])
    sch.vectorize(sch.get_loops(init)[-1])
    sch.tensorize(sch.get_loops(block)[-2], intrinsic)
