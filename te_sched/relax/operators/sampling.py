"""Random choices from given uniform numbers."""

from __future__ import annotations

from te_sched import te
from te_sched.ir import dtypes, ops
from te_sched.ir.graph import GraphCall, GraphExpr
from te_sched.ir.struct_info import StructInfo, TensorStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Value
from te_sched.relax.operators.inference import (
    argument_error,
    check_floats,
    check_indices,
    shape_of,
    tensors_of,
)
from te_sched.relax.operators.legalization import topi
from te_sched.relax.operators.registry import declare, make_call
from te_sched.relax.operators.sizes import check_equal


def multinomial_from_uniform(
    prob: Value, uniform_sample: Value, sample_indices: Value, dtype: str = "int64"
) -> GraphCall:
    """Indices that are drawn from rows of probabilities.

    Row i of the result is the first index at which the sum of row `sample_indices[i]` of `prob`
    exceeds `uniform_sample[i]`.

    Parameters
    ----------
    prob : a matrix; its rows sum up to 1.
    uniform_sample : a column of numbers in [0, 1).
    sample_indices : a column of rows of `prob`.
    dtype : that of the result.
    """
    return make_call(
        "relax.multinomial_from_uniform",
        [prob, uniform_sample, sample_indices],
        dtype=dtypes.spelled(dtype),
    )


def _infer_multinomial(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    infos = tensors_of(call, 3)
    check_floats(call, 0)
    check_floats(call, 1)
    check_indices(call, 2)
    for index, info in enumerate(infos):
        sizes = shape_of(info)
        is_column = sizes is None or len(sizes) != 2 or ops.is_const(sizes[1], 1)
        if info.ndim not in (-1, 2) or (index and not is_column):
            raise argument_error(call, index, "a column" if index else "a matrix")
    rows, picks = shape_of(infos[1]), shape_of(infos[2])
    if rows is not None and picks is not None:
        check_equal(call, builder, rows[0], picks[0], "the rows of samples and indices")
    dtype, vdevice = call.attrs.dtype, infos[1].vdevice
    if None in (rows, picks, shape_of(infos[0])):
        ndim = -1 if -1 in (infos[0].ndim, infos[1].ndim) else 2
        return TensorStructInfo(None, dtype, vdevice, ndim)
    return TensorStructInfo(infos[1].shape, dtype, vdevice)


def _legalize_multinomial(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    return builder.call_te(
        _first_above, *call.args, call.attrs.dtype, primfunc_name_hint="multinomial_from_uniform"
    )


def _first_above(
    prob: te.Tensor, uniform_sample: te.Tensor, sample_indices: te.Tensor, dtype: str
) -> te.Tensor:
    """For each sample, how many sums of its row are not above it."""
    sums = topi.cumsum(prob, axis=1)
    count = prob.shape[1]
    k = te.reduce_axis((0, count), name="k")
    below = te.compute(
        sample_indices.shape,
        lambda i, j: te.sum(
            ops.cast(dtype, sums[sample_indices[i, j], k] <= uniform_sample[i, j]), axis=k
        ),
        name="T_below",
    )
    last = ops.cast(dtype, ops.convert(count) - 1)
    return te.compute(
        sample_indices.shape, lambda i, j: ops.minimum(below[i, j], last), name="T_multinomial"
    )


declare("relax.multinomial_from_uniform", _infer_multinomial, legalize=_legalize_multinomial)
