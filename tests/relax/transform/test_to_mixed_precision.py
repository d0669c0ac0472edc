"""ToMixedPrecision: products in float16, and what follows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from te_sched import relax
from te_sched.relax import op
from te_sched.relax.op import nn
from te_sched.relax.transform import ToMixedPrecision
from tests.relax.transform.compared import MATRIX, check_same, graph_of, operators_of, run

MIXED: list[tuple[str, str, Callable[..., Any]]] = [
    ("matmul", "astype matmul", lambda b, x: op.matmul(x, x)),
    ("relu", "relu", lambda b, x: nn.relu(x)),
    (
        "matmul relu",
        "astype matmul astype relu astype",
        lambda b, x: nn.relu(b.emit(op.matmul(x, x))),
    ),
    (
        "matmul softmax",
        "astype matmul astype astype softmax",
        lambda b, x: nn.softmax(b.emit(op.matmul(x, x))),
    ),
    (
        "matmul add",
        "astype matmul astype astype add astype",
        lambda b, x: op.add(b.emit(op.matmul(x, x)), relax.const(1.0)),
    ),
    (
        "matmul add great",
        "astype matmul astype astype add",
        lambda b, x: op.add(b.emit(op.matmul(x, x)), relax.const(1e6)),
    ),
    ("relu matmul", "relu astype matmul", lambda b, x: op.matmul(*[b.emit(nn.relu(x))] * 2)),
]


@pytest.mark.parametrize("case", MIXED, ids=lambda case: case[0])
def test_to_mixed_precision(case: tuple[str, str, Callable[..., Any]]) -> None:
    _, operators, build = case
    before = graph_of([MATRIX], build)
    after = ToMixedPrecision()(before)
    assert operators_of(after) == operators
    check_same(before, after, [MATRIX], 2e-2)


def test_to_mixed_precision_of_parameters() -> None:
    before = graph_of([MATRIX], lambda builder, x: op.matmul(x, x))
    after = ToMixedPrecision("float16", ["p0"])(before)
    assert after["main"].params[0].struct_info.dtype == "float16"
    assert operators_of(after) == "matmul astype"
    (found,) = run(after, [MATRIX.astype("float16")])
    np.testing.assert_allclose(found, MATRIX @ MATRIX, rtol=2e-2, atol=2e-2)


CONDITIONS: dict[str, Callable[[Any], Any]] = {
    "greater": lambda y: op.greater(y, relax.const(0.0)),
    "less": lambda y: op.less(y, y),
    "isnan": op.isnan,
    "isfinite": op.isfinite,
    "to int32": lambda y: op.astype(y, "int32"),
    "to bool": lambda y: op.astype(y, "bool"),
    "to float16": lambda y: op.astype(y, "float16"),
    "to float32": lambda y: op.astype(y, "float32"),
    "to float64": lambda y: op.astype(y, "float64"),
    "argmax": lambda y: op.argmax(y, axis=1),
    "argsort": op.argsort,
    "places of topk": lambda y: op.topk(y, 2, ret_type="indices"),
    "ones": lambda y: op.ones_like(y, "int32"),
}


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("out_dtype", ["float32", "float16"])
def test_to_mixed_precision_of_conditions(name: str, out_dtype: str) -> None:
    """What follows a product and has another dtype is read again, also by other conditions."""

    def build(builder: Any, x: Any) -> Any:
        y = builder.emit(op.matmul(x, x))
        made = builder.emit(CONDITIONS[name](y))
        again = builder.emit(op.equal(made, made))
        return relax.Tuple([builder.emit(op.astype(one, "float32")) for one in (made, again, y)])

    before = graph_of([MATRIX], build)
    after = ToMixedPrecision(out_dtype)(before)
    assert relax.analysis.well_formed(after)
    check_same(before, after, [MATRIX], 2e-2)


def test_to_mixed_precision_converts_again_after_a_branch() -> None:
    x = relax.Var("x", relax.TensorStructInfo([4, 4], "float32"))
    wanted = relax.Var("wanted", relax.TensorStructInfo([], "bool"))
    builder = relax.BlockBuilder()
    with builder.function("main", [wanted, x]):
        branches = [relax.SeqExpr([], op.exp(x)), relax.SeqExpr([], op.negative(x))]
        chosen = builder.emit(relax.If(wanted, *branches))
        builder.emit_func_output(builder.emit(op.add(chosen, x)))
    after = ToMixedPrecision("float16", ["x"])(builder.get())
    assert relax.analysis.well_formed(after)
    (found,) = run(after, [np.array(True), MATRIX.astype("float16")])
    np.testing.assert_allclose(found, np.exp(MATRIX) + MATRIX, rtol=2e-2)


def test_to_mixed_precision_returns_tuples_as_written() -> None:
    def build(builder: Any, x: Any) -> Any:
        product = builder.emit(op.matmul(x, x))
        return op.split(builder.emit(nn.relu(product)), 2)

    before = graph_of([MATRIX], build)
    after = ToMixedPrecision()(before)
    assert after["main"].ret_struct_info == before["main"].ret_struct_info
    check_same(before, after, [MATRIX], 2e-2)
