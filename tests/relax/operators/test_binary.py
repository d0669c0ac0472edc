"""Functions of two values, element by element, with broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import relax, te
from te_sched.errors import GraphError, GraphTypeError
from te_sched.ir import VDevice
from te_sched.relax import op
from te_sched.relax.operators import binary
from tests.relax.operator_tables import (
    RNG,
    UNKNOWN,
    Build,
    Case,
    M,
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
    "y": floats(3, 4, low=0.5),
    "row": floats(4),
    "ties": np.array([[1, 3, 3, 0], [2, 2, 1, 2]], "float32"),
    "three": np.array([1, 3, np.nan, 2], "float32"),
    "tenths": np.array([0.1, -0.1, np.inf, -1.0], "float32"),
    "i": RNG.integers(-9, 9, (3, 4)).astype("int32"),
    "j": np.array([1, 2, 3, 4], "int32"),
    "minus": np.array([-1, -2, 3, -4], "int32"),
    "b": RNG.integers(0, 2, (3, 4)).astype("bool"),
    "c": np.array([True, False, False, True]),
}
# The names of operators, which numpy has too but for those of references, of two arrays.
NAMES = {
    "x row": "add subtract multiply divide maximum minimum",
    "y row": "power",
    "x tenths": "floor_divide floor_mod",
    "i j": "floor_divide floor_mod mod left_shift right_shift bitwise_and bitwise_or bitwise_xor",
    "i minus": "floor_divide floor_mod mod",
    "ties three": "equal not_equal greater greater_equal less less_equal",
    "b c": "logical_and logical_or logical_xor bitwise_xor",
}
REFERENCES = {"floor_mod": np.mod, "mod": np.fmod}


def case(name: str, first: str, second: str) -> Case:
    """The call of an operator of two arrays."""
    reference: Callable[..., Any] = REFERENCES.get(name) or getattr(np, name)
    return (
        lambda v: getattr(op, name)(v[first], v[second]),
        lambda v: reference(v[first], v[second]),
    )


CASES: dict[str, Case] = {
    **{
        f"{name} {arrays}": case(name, *arrays.split())
        for arrays, names in NAMES.items()
        for name in names.split()
    },
    "add number": (lambda v: v["x"] + relax.const(2.0), lambda v: v["x"] + 2),
    "subtract from a number": (lambda v: relax.const(2.0) - v["x"], lambda v: 2 - v["x"]),
    "power of integers": (lambda v: op.power(v["minus"], v["j"]), lambda v: v["minus"] ** v["j"]),
    "power 3": (lambda v: op.power(v["i"], relax.const(3, "int32")), lambda v: v["i"] ** 3),
}
RESULTS = Results(ARRAYS, CASES)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(binary)


INFERRED: list[tuple[Build, str]] = [
    (lambda: op.add(tensor(1, 3), tensor(2, 3)), text_of("2, 3")),
    (lambda: op.add(tensor(M, 1), tensor(N)), text_of("m, n")),
    (lambda: op.add(tensor(N), tensor(N + 2)), of_rank(1)),
    (lambda: op.add(unknown(2), tensor(1, 2, 3)), of_rank(3)),
    (lambda: op.add(unknown(), tensor(3)), UNKNOWN),
    (lambda: op.add(unknown(1, ""), tensor(3)), "R.Tensor(ndim=1)"),
    (lambda: op.add(tensor(3), number()), text_of("3,")),
    (lambda: op.add(number(), number()), 'R.Prim("float32")'),
    (lambda: op.less(tensor(3), tensor(3, dtype="int32")), text_of("3,", "bool")),
    (lambda: op.less(number(), number()), 'R.Prim("bool")'),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


def test_shapes_that_are_variables_stay() -> None:
    sizes = shape(ndim=2)
    x = relax.Var("x", relax.TensorStructInfo(sizes, "float32"))
    assert inferred(op.add(x, x)).shape is sizes


LLVM, CUDA = VDevice("llvm"), VDevice("cuda")


def test_a_tensor_without_a_device_fits_all() -> None:
    assert inferred(op.add(tensor(2, device=LLVM), tensor(2))).vdevice == LLVM


REFUSED: list[tuple[Build, type[Exception], str]] = [
    (
        lambda: op.add(shape(2, 3), tensor(2, 3)),
        GraphTypeError,
        "argument 0 of relax.add is R.Shape",
    ),
    (
        lambda: op.add(tensor(2), tensor(2, dtype="int32")),
        GraphTypeError,
        "have dtypes float32, int32",
    ),
    (lambda: op.add(tensor(2, 3), tensor(2, 4)), GraphError, "sizes 3 and 4 differ"),
    (
        lambda: op.add(tensor(2, device=LLVM), tensor(2, device=CUDA)),
        GraphTypeError,
        "are on devices",
    ),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())


def test_steps_of_remainders_are_written_once() -> None:
    x, y = (te.placeholder((8,), "float32", name=name) for name in "xy")
    for function in (binary._floor_divide, binary._floor_mod):
        quotient = te.compute((8,), lambda i, rule=function: rule(x[i], y[i]))
        text = str(te_sched.lower(te.create_schedule(quotient.op), [x, y, quotient]))
        assert text.count("T.fma(") == 6  # one for each step
