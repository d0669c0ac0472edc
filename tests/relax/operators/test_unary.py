"""Functions of one tensor, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from te_sched import relax, tir
from te_sched.errors import GraphTypeError
from te_sched.relax import op
from te_sched.relax.operators import unary
from te_sched.relax.operators.registry import operator_of
from tests.relax.operator_tables import (
    RNG,
    Build,
    Case,
    N,
    Results,
    floats,
    inferred,
    number,
    of_rank,
    operators_of,
    shape,
    tensor,
    text_of,
    unknown,
)

ARRAYS: dict[str, Any] = {
    "x": floats(3, 4),
    "above_one": floats(3, 4, low=1, high=3),
    "unit": floats(3, 4, low=-0.9, high=0.9),
    "special": np.array([[1.5, np.inf, np.nan, -np.inf]], "float32"),
    "halves": np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], "float32"),
    "i": RNG.integers(-9, 9, (3, 4)).astype("int32"),
    "b": RNG.integers(0, 2, (3, 4)).astype("bool"),
}
# The names of operators and of numpy, of an array.
NAMES = {
    "x": "abs ceil cos exp floor negative sign sin square tan cosh sinh tanh asinh=arcsinh",
    "above_one": "log sqrt acosh=arccosh",
    "unit": "acos=arccos asin=arcsin atan=arctan atanh=arctanh",
    "special": "isfinite isinf isnan abs negative",
    "halves": "round floor ceil",
    "i": "abs ceil floor negative round sign square bitwise_not isnan isfinite",
    "b": "logical_not bitwise_not",
}
ERF = np.vectorize(math.erf, otypes=["float32"])
REFERENCES: dict[str, Callable[[Any], Any]] = {
    "erf": ERF,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


def case(name: str, array: str, reference: Callable[[Any], Any]) -> Case:
    """The call of an operator of an array."""
    return lambda v: getattr(op, name)(v[array]), lambda v: reference(v[array])


CASES: dict[str, Case] = {
    **{
        f"{name.partition('=')[0]} {array}": case(
            name.partition("=")[0], array, getattr(np, name.rpartition("=")[2])
        )
        for array, names in NAMES.items()
        for name in names.split()
    },
    **{name: case(name, "above_one", reference) for name, reference in REFERENCES.items()},
    "clip": (lambda v: op.clip(v["x"], -1, 0.5), lambda v: np.clip(v["x"], -1, 0.5)),
    "clip NaN": (lambda v: op.clip(v["special"], 0, 1), lambda v: np.clip(v["special"], 0, 1)),
    "clip size": (
        lambda v: op.clip(v["i"], relax.PrimValue(tir.const(-2, "int32")), 3),
        lambda v: np.clip(v["i"], -2, 3),
    ),
}
RESULTS = Results(ARRAYS, CASES)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(unary)


@pytest.mark.parametrize("name", ["erf", "exp", "tanh"])
def test_approximate_builds_have_faster_rules(name: str) -> None:
    builder = relax.BlockBuilder()
    call = builder.normalize(getattr(op, name)(tensor(2)))
    rule = operator_of(f"relax.{name}").approximate
    assert rule is not None
    assert rule(builder, call).args[0].name_hint == f"fast_{name}"


INFERRED: list[tuple[Build, str]] = [
    (lambda: op.exp(unknown(3)), of_rank(3)),
    (lambda: op.isnan(tensor(N)), text_of("n,", "bool")),
    (lambda: op.abs(tensor(2, dtype="int8")), text_of("2,", "int8")),
    (lambda: op.clip(tensor(2), 0, 1), text_of("2,")),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


def test_shapes_that_are_variables_stay() -> None:
    sizes = shape(ndim=2)
    x = relax.Var("x", relax.TensorStructInfo(sizes, "float32"))
    assert inferred(op.exp(x)).shape is sizes


REFUSED: list[tuple[Build, str]] = [
    (lambda: op.exp(tensor(2, dtype="int32")), "expected a tensor of floating-point numbers"),
    (lambda: op.isnan(number()), "argument 0 of relax.isnan is R.Prim"),
    (lambda: op.clip(tensor(2), tensor(2), 1), "argument 1 of relax.clip"),
]


@pytest.mark.parametrize(("build", "text"), REFUSED)
def test_calls_are_refused(build: Build, text: str) -> None:
    with pytest.raises(GraphTypeError, match=text):
        inferred(build())
