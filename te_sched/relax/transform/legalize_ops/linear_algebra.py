"""Rules of products."""

from __future__ import annotations

import string
from typing import Any

from te_sched import te, topi
from te_sched.errors import GraphAssertionError
from te_sched.ir import ops
from te_sched.ir.expr import IntImm
from te_sched.ir.graph import GraphCall, Tuple, TupleGetItem
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.op.linear_algebra import einsum_letters
from te_sched.relax.transform.legalize_ops.common import library_rule


@library_rule("relax.matmul")
def _matmul(builder: BlockBuilder, call: GraphCall) -> Any:
    dtype = call.struct_info.dtype  # type: ignore[attr-defined]
    if not dtype:
        raise GraphAssertionError(
            "the dtype of the result of R.matmul is not known, so it cannot be legalized",
            f"its arguments are {', '.join(str(one.struct_info) for one in call.args)}",
            "match it first: builder.match_cast(value, struct_info), or give out_dtype",
            in_tvm="To legalize R.matmul, the dtype of its result must be known",
        )

    def te_matmul(a: Any, b: Any) -> Any:
        return product_of_matrices(a, b, dtype)

    return builder.call_te(te_matmul, *call.args, primfunc_name_hint="matmul")


def product_of_matrices(a: Any, b: Any, dtype: str) -> Any:
    """The product of matrices, or of batches of them, as numpy.matmul; sums are of `dtype`."""
    left, right = list(a.shape), list(b.shape)
    is_row, is_column = len(left) == 1, len(right) == 1
    left = [1, *left] if is_row else left
    right = [*right, 1] if is_column else right
    inner = [one for one in (left[-1], right[-2]) if isinstance(one, IntImm)]  # else symbolic
    k = te.reduce_axis((0, inner[0] if inner else left[-1]), name="k")
    batches = _broadcast(left[:-2], right[:-2])
    shape = [*batches]
    shape += [] if is_row else [left[-2]]
    shape += [] if is_column else [right[-1]]

    def element(*i: Any) -> Any:
        batch, rest = i[: len(batches)], list(i[len(batches) :])
        row = [] if is_row else [rest.pop(0)]
        column = [] if is_column else [rest.pop(0)]
        first = a(*_indices(batch, left[:-2], batches), *row, k)
        second = b(*_indices(batch, right[:-2], batches), k, *column)
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


@library_rule("relax.einsum")
def _einsum(builder: BlockBuilder, call: GraphCall) -> Any:
    tensors = call.args[0]
    if isinstance(tensors, Tuple):
        fields = list(tensors.fields)
    else:
        count = len(tensors.struct_info.fields)
        fields = [builder.emit(TupleGetItem(tensors, at)) for at in range(count)]
    return builder.call_te(topi.einsum, _without_ellipses(call.attrs.subscripts, fields), *fields)


def _without_ellipses(subscripts: str, operands: list[Any]) -> str:
    """Subscripts with letters for the dimensions of ellipses; themselves without any."""
    if "..." not in subscripts:
        return subscripts
    ranks = [one.struct_info.ndim for one in operands]
    inputs, output = einsum_letters(subscripts, ranks)
    unused = [one for one in string.ascii_letters if one not in subscripts]
    names = {label: unused[int(label)] for part in inputs for label in part if label.isdigit()}
    parts = ["".join([names.get(one, one) for one in part]) for part in (*inputs, output)]
    return f"{','.join(parts[:-1])}->{parts[-1]}"
