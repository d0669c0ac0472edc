"""Products: matmul, linear and einsum."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from te_sched import te
from te_sched.errors import GraphAssertionError, GraphError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, IntImm
from te_sched.ir.graph import Constant, GraphCall, GraphExpr, GraphVar, as_expr
from te_sched.ir.struct_info import ShapeExpr, StructInfo, TensorStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Value, Values
from te_sched.relax.operators.binary import add
from te_sched.relax.operators.inference import (
    argument_error,
    broadcast_sizes,
    common_dtype,
    common_vdevice,
    shape_of,
    tensors_of,
)
from te_sched.relax.operators.legalization import fields_of_tuple, topi
from te_sched.relax.operators.registry import ALWAYS, declare, make_call
from te_sched.relax.operators.reshaping import permute_dims
from te_sched.relax.operators.sizes import check_equal, fields_of


def matmul(x1: Value, x2: Value, out_dtype: Any = None) -> GraphCall:
    """The product of matrices, or of batches of them, as numpy.matmul."""
    return make_call("relax.matmul", [x1, x2], out_dtype=dtypes.known(out_dtype))


def _infer_matmul(call: GraphCall, builder: BlockBuilder) -> StructInfo:
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


def _transposed(
    call: GraphCall, builder: BlockBuilder, left: Sequence[Any], right: Sequence[Any]
) -> str:
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


def _legalize_matmul(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    dtype = call.struct_info.dtype  # type: ignore[attr-defined]
    if not dtype:
        raise GraphAssertionError(
            "the dtype of the result of R.matmul is not known, so it cannot be legalized",
            f"its arguments are {', '.join(str(arg.struct_info) for arg in call.args)}",
            "match it first: builder.match_cast(value, struct_info), or give out_dtype",
            in_tvm="To legalize R.matmul, the dtype of its result must be known",
        )
    return builder.call_te(
        product_of_matrices, *call.args, dtype=dtype, primfunc_name_hint="matmul"
    )


def product_of_matrices(a: te.Tensor, b: te.Tensor, dtype: str) -> te.Tensor:
    """The product of matrices, or of batches of them, as numpy.matmul; sums are of `dtype`."""
    left: list[Any] = list(a.shape)
    right: list[Any] = list(b.shape)
    is_row, is_column = len(left) == 1, len(right) == 1
    left = [1, *left] if is_row else left
    right = [*right, 1] if is_column else right
    inner = [size for size in (left[-1], right[-2]) if isinstance(size, IntImm)]  # else symbolic
    k = te.reduce_axis((0, inner[0] if inner else left[-1]), name="k")
    batches = _broadcast(left[:-2], right[:-2])
    shape = [*batches]
    shape += [] if is_row else [left[-2]]
    shape += [] if is_column else [right[-1]]

    def element(*i: Expr) -> Expr:
        batch, rest = i[: len(batches)], list(i[len(batches) :])
        row = [] if is_row else [rest.pop(0)]
        column = [] if is_column else [rest.pop(0)]
        first: Expr = a(*_indices(batch, left[:-2], batches), *row, k)
        second: Expr = b(*_indices(batch, right[:-2], batches), k, *column)
        if first.dtype != dtype:
            first, second = ops.cast(dtype, first), ops.cast(dtype, second)
        return te.sum(first * second, axis=k)

    return te.compute(shape, element, name="matmul")


def _broadcast(left: list[Any], right: list[Any]) -> list[Any]:
    longer, shorter = (left, right) if len(left) >= len(right) else (right, left)
    rest = len(longer) - len(shorter)
    both = zip(longer[rest:], shorter, strict=True)
    return [*longer[:rest], *[b if ops.is_const(a, 1) else a for a, b in both]]


def _indices(batch: Any, sizes: list[Any], batches: list[Any]) -> list[Any]:
    """The indices of a batch in a tensor; 0 in dimensions of size 1 that are broadcast."""
    rest = len(batch) - len(sizes)
    return [
        0 if ops.is_const(size, 1) and not ops.is_const(all_of_them, 1) else i
        for i, size, all_of_them in zip(batch[rest:], sizes, batches[rest:], strict=True)
    ]


_MANY_ROWS = 16  # from which on columns of a matrix that varies are added up


def _legalize_bytes(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    """A product of signed bytes as one of unsigned and signed ones, for which processors have
    instructions: (a + 128) @ b - 128 * sum(b). Other products stay as they are.
    """
    a, b = tensors_of(call, 2)
    sizes = shape_of(a)
    rows = sizes[-2] if sizes and len(sizes) > 1 else None
    is_many = isinstance(rows, IntImm) and rows.value >= _MANY_ROWS
    is_of_bytes = (a.dtype, b.dtype, call.attrs.out_dtype) == ("int8", "int8", "int32")
    is_worth = is_many or isinstance(call.args[1], Constant)
    if min(a.ndim, b.ndim) < 2 or not is_of_bytes or not is_worth:
        return _legalize_matmul(builder, call)
    unsigned = builder.emit(builder.call_te(_as_unsigned, call.args[0]))
    terms = builder.emit(builder.call_te(_offsets, call.args[1]))
    operands = (unsigned, call.args[1], "int32")
    product = builder.emit(
        builder.call_te(product_of_matrices, *operands, primfunc_name_hint="matmul")
    )
    return builder.call_te(topi.subtract, product, terms)


def _as_unsigned(x: te.Tensor) -> te.Tensor:
    """Signed bytes + 128."""

    def element(*i: Expr) -> Expr:
        return ops.cast("uint8", ops.bitwise_xor(x(*i), ops.const(-128, "int8")))

    return te.compute(x.shape, element, name="unsigned")


def _offsets(x: te.Tensor) -> te.Tensor:
    """The sums of the columns of matrices of bytes, times 128."""
    total = topi.sum(topi.cast(x, "int32"), axis=-2, keepdims=True)
    offsets: te.Tensor = topi.multiply(total, te.const(128, "int32"))
    return offsets


declare(
    "relax.matmul",
    _infer_matmul,
    mixed_precision=ALWAYS,
    legalize=_legalize_matmul,
    exact=_legalize_bytes,
)


def linear(
    data: Value, weight: Value, bias: Value | None = None, out_dtype: Any = None
) -> GraphCall:
    """data @ weight.T + bias, as calls of these operators."""
    product = matmul(data, permute_dims(weight), out_dtype=out_dtype)
    return product if bias is None else add(product, bias)


def einsum(operands: Values, subscripts: str) -> GraphCall:
    """Einstein summation, as numpy.einsum: `einsum((a, b), "ij,jk->ik")`."""
    arguments = as_expr(operands) if isinstance(operands, list | tuple) else operands
    return make_call("relax.einsum", [arguments], subscripts=str(subscripts))


def _infer_einsum(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    fields = fields_of(call, 0)
    dtype, vdevice = common_dtype(call, fields), common_vdevice(call, fields)
    shapes = [shape_of(field) for field in fields]
    if any(shape is None for shape in shapes):
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
        rank - len(part.replace("...", "")) for part, rank in zip(parts, ranks, strict=False)
    ]
    is_wrong = any(
        count if "..." not in part else count < 0
        for part, count in zip(parts, open_ranks, strict=False)
    )
    if len(parts) != len(ranks) or is_wrong:
        raise GraphError(
            f"subscripts {subscripts!r} do not fit operands of {ranks} dimensions",
            "each operand has one letter for each dimension, or an ellipsis for several",
            'write them like "ij,jk->ik"',
        )
    most = max(open_ranks, default=0)
    inputs = [
        _labels(part, most - count, most) for part, count in zip(parts, open_ranks, strict=True)
    ]
    if arrow:
        return inputs, _labels(right, 0, most)
    letters = "".join(parts).replace("...", "")
    once = sorted(letter for letter in set(letters) if letters.count(letter) == 1)
    return inputs, [*map(str, range(most)), *once]


def _labels(part: str, begin: int, end: int) -> list[str]:
    before, dots, after = part.partition("...")
    between = [str(at) for at in range(begin, end)] if dots else []
    return [*before, *between, *after]


def einsum_sizes(call: GraphCall, builder: BlockBuilder, shapes: Any) -> list[Any]:
    """The sizes of the result."""
    inputs, output = einsum_letters(call.attrs.subscripts, [len(shape) for shape in shapes])
    sizes: dict[str, Any] = {}
    for labels, shape in zip(inputs, shapes, strict=True):
        for label, size in zip(labels, shape, strict=True):
            label_size = sizes.setdefault(label, size)
            if ops.is_const(label_size, 1):
                sizes[label] = size
            elif not ops.is_const(size, 1):
                check_equal(call, builder, label_size, size, f"the sizes of {label}")
    missing = [label for label in output if label not in sizes]
    if missing:
        raise GraphError(
            f"subscripts {call.attrs.subscripts!r} of {call.op} have a result of {missing}",
            "no operand has this dimension",
            "use letters of the operands",
        )
    if len(set(output)) < len(output):
        raise GraphError(
            f"subscripts {call.attrs.subscripts!r} of {call.op} have a result with a letter twice",
            "a diagonal is read of operands, but not written",
            "use each letter once on the right",
        )
    return [sizes[label] for label in output]


def _legalize_einsum(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    operands = fields_of_tuple(builder, call.args[0])
    subscripts = _without_ellipses(call.attrs.subscripts, operands)
    return builder.call_te(topi.einsum, subscripts, *operands)


def _without_ellipses(subscripts: str, operands: list[Any]) -> str:
    """Subscripts with letters for the dimensions of ellipses; themselves without any."""
    if "..." not in subscripts:
        return subscripts
    ranks = [operand.struct_info.ndim for operand in operands]
    inputs, output = einsum_letters(subscripts, ranks)
    unused = [letter for letter in string.ascii_letters if letter not in subscripts]
    names = {label: unused[int(label)] for part in inputs for label in part if label.isdigit()}
    parts = ["".join([names.get(letter, letter) for letter in part]) for part in (*inputs, output)]
    return f"{','.join(parts[:-1])}->{parts[-1]}"


declare("relax.einsum", _infer_einsum, legalize=_legalize_einsum)
