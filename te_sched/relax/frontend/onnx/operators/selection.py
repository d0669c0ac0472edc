"""Rows of which the number of results depends on the elements.

Their sizes are new variables, which a call binds when it has computed the results.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from te_sched.ir.expr import Var
from te_sched.ir.graph import GraphExpr, GraphVar, TupleGetItem
from te_sched.ir.struct_info import TensorStructInfo
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.registry import Result, row
from te_sched.relax.frontend.onnx.sizes import Value
from te_sched.relax.frontend.tensors import Size


def _matched(imp: OnnxImporter, x: GraphExpr, shape: Sequence[Size], dtype: str) -> GraphVar:
    """A tensor with a shape that it has when the model runs."""
    return imp.builder.match_cast(x, TensorStructInfo(tuple(shape), dtype))


@row("NonZero")
def _nonzero(imp: OnnxImporter, x: Value) -> GraphExpr:
    places = imp.emit(R.nonzero(imp.tensor(x)))
    return _matched(imp, places, [imp.rank(x), Var("nonzero", "int64")], "int64")


@row("Compress")
def _compress(
    imp: OnnxImporter, x: Value, condition: Value, *, axis: int | None = None
) -> GraphExpr:
    x = imp.tensor(x)
    if axis is None:
        x, axis = imp.emit(R.flatten(x)), 0
    places = imp.emit(R.nonzero(imp.tensor(condition)))
    count = Var("compressed", "int64")
    flat = imp.emit(R.reshape(_matched(imp, places, [1, count], "int64"), [count]))
    return imp.emit(R.take(x, flat, axis))


@row("Unique")
def _unique(imp: OnnxImporter, x: Value, *, axis: int | None = None, sorted: int = 1) -> Result:
    x = imp.tensor(x)
    shape, count = imp.shape(x), Var("unique", "int64")
    dim = None if axis is None else axis % len(shape)
    results = imp.emit(R.unique(x, bool(sorted), True, True, True, dim))
    values, first, inverse, counts = [imp.emit(TupleGetItem(results, n)) for n in range(4)]
    if dim is None:
        sizes: list[Size] = [count]
        total = imp.shape(imp.emit(R.flatten(x)))
    else:
        sizes, total = [*shape[:dim], count, *shape[dim + 1 :]], [shape[dim]]
    return (
        _matched(imp, values, sizes, imp.dtype(x)),
        _matched(imp, first, [count], "int64"),
        _matched(imp, inverse, total, "int64"),
        _matched(imp, counts, [count], "int64"),
    )


@row("NonMaxSuppression")
def _non_max_suppression(
    imp: OnnxImporter,
    boxes: Value,
    scores: Value,
    max_output_boxes_per_class: Value | None = None,
    iou_threshold: Value | None = None,
    score_threshold: Value | None = None,
    *,
    center_point_box: int = 0,
) -> GraphExpr:
    count = np.int64(0) if max_output_boxes_per_class is None else max_output_boxes_per_class
    overlap = np.float32(0) if iou_threshold is None else iou_threshold
    least = np.float32(-np.inf) if score_threshold is None else score_threshold
    inputs = [imp.tensor(value) for value in (boxes, scores, count, overlap, least)]
    name, info = "relax.run.non_max_suppression", TensorStructInfo(None, "int64", ndim=2)
    center = const(bool(center_point_box), "bool")
    selected = imp.emit(R.call_pure_packed(name, *inputs, center, sinfo_args=info))
    return _matched(imp, selected, [Var("selected", "int64"), 3], "int64")
