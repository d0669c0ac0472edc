"""Rows of operators of ONNX whose attributes are graphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from te_sched.ir.graph import GraphExpr
from te_sched.relax import op as R
from te_sched.relax.frontend.control_flow import conditional
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.nodes import translate_graph
from te_sched.relax.frontend.onnx.protobufs import OnnxGraph
from te_sched.relax.frontend.onnx.registry import Result, row
from te_sched.relax.frontend.onnx.sizes import Value


@row("If")
def _if(
    imp: OnnxImporter, condition: Value, *, then_branch: OnnxGraph, else_branch: OnnxGraph
) -> Result:
    if isinstance(condition, np.ndarray | np.generic):
        is_true = bool(np.asarray(condition).item())
        return tuple(translate_graph(imp, then_branch if is_true else else_branch))

    def results_of(graph: OnnxGraph) -> Sequence[GraphExpr]:
        return [imp.tensor(value) for value in translate_graph(imp, graph)]

    tensor = imp.tensor(condition)
    if imp.rank(tensor):
        tensor = imp.emit(R.reshape(tensor, []))
    return tuple(
        conditional(
            imp.builder, tensor, lambda: results_of(then_branch), lambda: results_of(else_branch)
        )
    )
