"""A small graph for reports."""

from __future__ import annotations

from typing import Any

import numpy as np

from te_sched import IRModule, relax


def model(rows: Any = 2) -> IRModule:
    numbers = np.random.default_rng(0)
    x = relax.Var("x", relax.TensorStructInfo((rows, 16), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            product = relax.op.matmul(x, relax.const(numbers.random((16, 8), "float32")))
            hidden = builder.emit(relax.op.nn.relu(product))
            out = builder.emit_output(relax.op.nn.softmax(hidden))
        builder.emit_func_output(out)
    return builder.get()
