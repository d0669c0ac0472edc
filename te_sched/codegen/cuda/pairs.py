"""Arithmetic of float16 and bfloat16 by pairs: half2 and nv_bfloat162 have operators of their own,
which take one instruction for two lanes.

    const __align__(16) half2 v_2[4] = {((const half2*)v)[0] * ((const half2*)v_1)[0], ...};

Each lane is computed as by the scalar operator. Must not know expressions.
"""

from __future__ import annotations

from te_sched.codegen.cuda import arithmetic, types
from te_sched.codegen.cuda.pieces import POSTFIX, Piece, PieceLanes, call, operation
from te_sched.codegen.cuda.writer import KernelText
from te_sched.ir import dtypes

_SPREAD = {"float16": "__half2half2", "bfloat16": "__bfloat162bfloat162"}


def compute_pairs(
    out: KernelText, name: str, a: list[Piece], b: list[Piece], dtype: str
) -> PieceLanes | None:
    """add, sub or mul of vectors; None where lanes are better computed one by one.

    None is returned if no operand is a vector in memory or in a variable, and if the lines might
    not be executed.
    """
    element, count = dtypes.element(dtype), dtypes.lanes(dtype)
    if element not in _SPREAD or count % 2 or out.is_captured:
        return None
    if not any(isinstance(operand, PieceLanes) and operand.whole is not None for operand in (a, b)):
        return None
    symbol = arithmetic.SYMBOLS[name]
    pairs = [
        operation(symbol, left, right)
        for left, right in zip(_pairs(out, a, dtype), _pairs(out, b, dtype), strict=True)
    ]
    return _define(out, pairs, dtype)


def _pairs(out: KernelText, lanes: list[Piece], dtype: str) -> list[Piece]:
    """The vectors of two lanes that make a vector."""
    element = dtypes.element(dtype)
    kind = types.vector_type(dtypes.with_lanes(element, 2))
    assert kind is not None
    numbers = range(len(lanes) // 2)
    if isinstance(lanes, PieceLanes) and lanes.whole is not None:
        if len(lanes) == 2:
            return [Piece(lanes.whole)]
        if lanes.are_pairs:
            return [Piece(f"{lanes.whole}[{k}]", POSTFIX) for k in numbers]
        return [Piece(f"((const {kind}*){lanes.whole})[{k}]", POSTFIX) for k in numbers]
    if all(lane.text == lanes[0].text for lane in lanes):
        spread = call(_SPREAD[element], lanes[0])
        if len(numbers) > 1:
            name = out.names.fresh("v")
            out.do(f"const {kind} {name} = {spread.text};")
            spread = Piece(name)
        return [spread] * len(numbers)
    return [call(types.maker(kind), lanes[2 * k], lanes[2 * k + 1]) for k in numbers]


def _define(out: KernelText, pairs: list[Piece], dtype: str) -> PieceLanes:
    """A variable with a value that is given by pairs."""
    kind = types.vector_type(dtypes.with_lanes(dtype, 2))
    name = out.names.fresh("v")
    if len(pairs) == 1:
        out.do(f"const {kind} {name} = {pairs[0].text};")
        return out.lanes_of(name, dtype)
    texts = ", ".join(pair.text for pair in pairs)
    align = out.alignment_of(dtype)
    out.do(f"const __align__({align}) {kind} {name}[{len(pairs)}] = {{{texts}}};")
    lanes = PieceLanes(
        Piece(f"{name}[{k}].{field}", POSTFIX) for k in range(len(pairs)) for field in "xy"
    )
    lanes.whole, lanes.are_pairs = name, True
    return lanes
