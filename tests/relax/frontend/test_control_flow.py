"""Conditions of models: branches, and sizes in which they differ."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import nd, relax, tir
from te_sched.errors import GraphError
from te_sched.ir.graph import DataflowBlock
from te_sched.ir.stmt import IRModule
from te_sched.relax.frontend.control_flow import (
    Branch,
    bind_result,
    bindings,
    conditional,
    finished,
)


def module_of(true: Branch, false: Branch, builder: relax.BlockBuilder, x: relax.Var) -> IRModule:
    """A function that takes one of two branches where the first element of x is positive."""
    with builder.function("main", [x]), bindings(builder, True):
        first = builder.emit(relax.op.take(x, relax.const(0), 0))
        positive = builder.emit(relax.op.greater(first, relax.const(0, "float32")))
        (result,) = conditional(builder, positive, true, false)
        builder.emit_func_output(bind_result(builder, result))
    return finished(builder, True)


def variable(*shape: object) -> relax.Var:
    """A parameter."""
    return relax.Var("x", relax.TensorStructInfo(shape, "float32"))


def run(module: IRModule, x: np.ndarray) -> np.ndarray:
    """What a module computes."""
    machine = relax.VirtualMachine(relax.build(module, "llvm"), nd.cpu())
    return machine["main"](nd.array(x)).numpy()


def test_one_branch_is_computed_and_blocks_around_are_found() -> None:
    builder, x = relax.BlockBuilder(), variable(4)
    module = module_of(
        lambda: [builder.emit(relax.op.exp(x))],
        lambda: [builder.emit(relax.op.negative(x))],
        builder,
        x,
    )
    data = np.arange(1, 5, dtype="float32")
    np.testing.assert_allclose(run(module, data), np.exp(data), rtol=1e-6)
    np.testing.assert_array_equal(run(module, -data), data)
    assert any(isinstance(block, DataflowBlock) for block in module["main"].body.blocks)
    relax.analysis.well_formed(module)


@pytest.mark.parametrize("size", [4, tir.Var("n", "int64")], ids=str)
def test_sizes_that_differ_are_those_of_the_branch_that_runs(size: object) -> None:
    builder, x = relax.BlockBuilder(), variable(size)
    module = module_of(lambda: [builder.emit(relax.op.concat([x, x], 0))], lambda: [x], builder, x)
    data = np.arange(1, 5, dtype="float32")
    np.testing.assert_array_equal(run(module, data), np.concatenate([data, data]))
    np.testing.assert_array_equal(run(module, -data), -data)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda builder, x: [builder.emit(relax.op.astype(x, "int32"))], "different values"),
        (lambda builder, x: [builder.emit(relax.op.sum(x))], "different values"),
        (lambda builder, x: [x, x], "other results"),
    ],
)
def test_branches_with_other_results_are_refused(make, message) -> None:
    builder, x = relax.BlockBuilder(), variable(4)
    with pytest.raises(GraphError, match=message):
        module_of(lambda: [x], lambda: make(builder, x), builder, x)
