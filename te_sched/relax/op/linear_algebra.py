"""Products: matmul, linear and einsum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched.errors import GraphError
from te_sched.ir import dtypes, ops
from te_sched.ir.graph import GraphCall, GraphVar, as_expr
from te_sched.ir.struct_info import ShapeExpr, StructInfo, TensorStructInfo
from te_sched.relax.op.arguments import Value, Values
from te_sched.relax.op.binary import add
from te_sched.relax.op.common import (
    ALWAYS,
    argument_error,
    broadcast_sizes,
    common_dtype,
    shape_of,
    tensors_of,
)
from te_sched.relax.op.manipulate import permute_dims
from te_sched.relax.op.sizes import check_equal, common_vdevice, fields_of
from te_sched.relax.operators import make_call, register_operator


def matmul(x1: Value, x2: Value, out_dtype: Any = None) -> GraphCall:
    """The product of matrices, or of batches of them, as numpy.matmul."""
    return make_call("relax.matmul", [x1, x2], out_dtype=dtypes.known(out_dtype))


def linear(
    data: Value, weight: Value, bias: Value | None = None, out_dtype: Any = None
) -> GraphCall:
    """data @ weight.T + bias, as calls of these operators."""
    product = matmul(data, permute_dims(weight), out_dtype=out_dtype)
    return product if bias is None else add(product, bias)


@register_operator("relax.matmul", TMixedPrecisionPolicy=ALWAYS)
def _infer_matmul(call: GraphCall, builder: Any) -> StructInfo:
    a, b = infos = tensors_of(call, 2)
    vdevice = common_vdevice(call, infos)
    dtype = call.attrs.out_dtype or common_dtype(call, infos)
    if 0 in (a.ndim, b.ndim):
        raise argument_error(call, 0 if a.ndim == 0 else 1, "a tensor of at least 1 dimension")
    if -1 in (a.ndim, b.ndim):
        return TensorStructInfo(None, dtype, vdevice)
    ndim = max(a.ndim, b.ndim, 2) - (a.ndim == 1) - (b.ndim == 1)
    left, right = shape_of(a), shape_of(b)
    if left is None or right is None:
        return TensorStructInfo(None, dtype, vdevice, ndim)
    summed = left[-1], right[-2 if b.ndim > 1 else -1]
    check_equal(call, builder, *summed, "the summed sizes", _transposed(call, builder, left, right))
    batches = broadcast_sizes(call, builder, left[:-2], right[:-2])
    if batches is None:
        return TensorStructInfo(None, dtype, vdevice, ndim)
    rows, columns = left[-2:-1], right[-1:] if b.ndim > 1 else ()
    return TensorStructInfo(ShapeExpr((*batches, *rows, *columns)), dtype, vdevice)


def _transposed(call: GraphCall, builder: Any, left: Sequence[Any], right: Sequence[Any]) -> str:
    """The advice for matrices whose product does not fit; perhaps it does with one transposed."""
    equal = builder.analyzer.can_prove_equal
    right_fits = len(right) > 1 and equal(left[-1], right[-1])
    left_fits = len(left) > 1 and equal(left[-2], right[-2 if len(right) > 1 else -1])
    if not right_fits and not left_fits:
        return "give matrices of which the second has as many rows as the first has columns"
    rank = len(right if right_fits else left)
    axes = "" if rank == 2 else f", {[*range(rank - 2), rank - 1, rank - 2]}"
    which, operand = ("second", call.args[1]) if right_fits else ("first", call.args[0])
    name = operand.name_hint if isinstance(operand, GraphVar) else f"x{1 + right_fits}"
    return f"transpose the {which} argument: relax.op.permute_dims({name}{axes})"


def einsum(operands: Values, subscripts: str) -> GraphCall:
    """Einstein summation, as numpy.einsum: `einsum((a, b), "ij,jk->ik")`."""
    given = as_expr(operands) if isinstance(operands, list | tuple) else operands
    return make_call("relax.einsum", [given], subscripts=str(subscripts))


@register_operator("relax.einsum")
def _infer_einsum(call: GraphCall, builder: Any) -> StructInfo:
    fields = fields_of(call, 0)
    dtype, vdevice = common_dtype(call, fields), common_vdevice(call, fields)
    shapes = [shape_of(one) for one in fields]
    if any(one is None for one in shapes):
        return TensorStructInfo(None, dtype, vdevice)
    sizes = einsum_sizes(call, builder, shapes)
    return TensorStructInfo(ShapeExpr(tuple(sizes)), dtype, vdevice)


def einsum_letters(subscripts: str, ranks: list[int]) -> tuple[list[list[str]], list[str]]:
    """The labels of the dimensions of operands and of the result; those of "..." are "0", "1", ...

    >>> einsum_letters("...ij, ...jk", [3, 2])
    ([['0', 'i', 'j'], ['j', 'k']], ['0', 'i', 'k'])
    """
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    parts = left.split(",")
    open_ranks = [
        rank - len(one.replace("...", "")) for one, rank in zip(parts, ranks, strict=False)
    ]
    is_wrong = any(
        count if "..." not in one else count < 0
        for one, count in zip(parts, open_ranks, strict=False)
    )
    if len(parts) != len(ranks) or is_wrong:
        raise GraphError(
            f"subscripts {subscripts!r} do not fit operands of {ranks} dimensions",
            "each operand has one letter for each dimension, or an ellipsis for several",
            'write them like "ij,jk->ik"',
        )
    most = max(open_ranks, default=0)
    inputs = [
        _labels(one, most - count, most) for one, count in zip(parts, open_ranks, strict=True)
    ]
    if arrow:
        return inputs, _labels(right, 0, most)
    letters = "".join(parts).replace("...", "")
    once = sorted(one for one in set(letters) if letters.count(one) == 1)
    return inputs, [*map(str, range(most)), *once]


def _labels(part: str, begin: int, end: int) -> list[str]:
    before, dots, after = part.partition("...")
    between = [str(at) for at in range(begin, end)] if dots else []
    return [*before, *between, *after]


def einsum_sizes(call: GraphCall, builder: Any, shapes: Any) -> list[Any]:
    """The sizes of the result."""
    inputs, output = einsum_letters(call.attrs.subscripts, [len(one) for one in shapes])
    sizes: dict[str, Any] = {}
    for labels, shape in zip(inputs, shapes, strict=True):
        for label, size in zip(labels, shape, strict=True):
            known = sizes.setdefault(label, size)
            if ops.is_const(known, 1):
                sizes[label] = size
            elif not ops.is_const(size, 1):
                check_equal(call, builder, known, size, f"the sizes of {label}")
    missing = [one for one in output if one not in sizes]
    if missing:
        raise GraphError(
            f"subscripts {call.attrs.subscripts!r} of {call.op} have a result of {missing}",
            "no operand has this dimension",
            "use letters of the operands",
        )
    return [sizes[one] for one in output]
