"""Errors of calls of graphs: the kind that was passed, and the array that is expected instead."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import relax
from te_sched.errors import ArgumentError, ArgumentTypeError, CallError, GraphError
from te_sched.script import ir as I
from te_sched.script import relax as R


@I.ir_module
class Static:
    @R.function
    def main(x: R.Tensor((4, 784), "float32"), y: R.Tensor((784, 3), "float32")):
        return R.matmul(x, y)


@I.ir_module
class Dynamic:
    @R.function
    def main(
        x: R.Tensor(("n", 3), "float32"),
        y: R.Tensor((3, "m"), "float32"),
        z: R.Tensor(("n + m",), "float32"),
        pair: R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("m",), "float32")),
        shape: R.Shape(("n", "m")),
    ):
        return R.matmul(x, y)


def zeros(*shape: int) -> Any:
    return np.zeros(shape, "float32")


def call(module: Any, *args: Any, **named: Any) -> Any:
    return relax.VirtualMachine(relax.build(module, "llvm"))["main"](*args, **named)


X, Y = zeros(4, 784), zeros(784, 3)
ARRAY = 'pass an array of shape (4, 784): te_sched.nd.array(values, dtype="float32")'


@pytest.mark.parametrize(
    ("x", "kind"), [([1, 2], "a list"), ((1, 2), "a tuple"), ("a", "a str"), (None, "None")]
)
def test_static_calls_name_the_kind_and_the_array(x: Any, kind: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"x of main is {kind}, expected") as caught:
        call(Static, x, Y)
    assert caught.value.help == ARRAY
    assert caught.value.__suppress_context__


def test_static_calls_name_the_shape() -> None:
    with pytest.raises(ArgumentError, match=r"has shape \(784, 3\), expected 4 along") as caught:
        call(Static, Y, X)
    assert caught.value.help == "pass an array of shape (4, 784)"


GOOD = {
    "x": zeros(2, 3),
    "y": zeros(3, 5),
    "z": zeros(7),
    "pair": [zeros(2), zeros(5)],
    "shape": relax.vm.ShapeTuple([2, 5]),
}
# The argument that is changed, its value, and the sizes that the others give it.
SIZES = [
    ("x", [1], "(2, 3)"),
    ("x", zeros(2, 4), "(2, 3)"),
    ("x", zeros(8, 4), "(2, 3)"),
    ("x", zeros(2), "(2, 3)"),
    ("y", zeros(5, 3), "(3, 5)"),
    ("z", zeros(6), "(7,)"),
    ("z", [0.0] * 7, "(7,)"),
]


@pytest.mark.parametrize(("name", "value", "sizes"), SIZES)
def test_symbolic_sizes_are_those_of_the_call(name: str, value: Any, sizes: str) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match=f"argument {name} of") as caught:
        call(Dynamic, *{**GOOD, name: value}.values())
    assert caught.value.help.startswith(f"pass an array of shape {sizes}")


def test_sizes_that_no_argument_gives_have_their_names() -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        call(Dynamic, *[[1]] * 5)
    assert caught.value.help.startswith("pass an array of shape (n, 3)")


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("pair", [zeros(2), zeros(4)], "an element of argument pair of main has shape"),
        ("pair", zeros(2), "argument pair of main is an? NDArray, expected a tuple"),
        ("pair", [zeros(2)], "argument pair of main has 1 element, expected 2"),
        ("shape", [9, 5], r"shape of main is a list, expected(.|\n)*relax\.vm\.ShapeTuple"),
        ("shape", relax.vm.ShapeTuple([9]), "has 1 sizes, expected 2"),
        ("shape", relax.vm.ShapeTuple([2, 4]), "has shape .2, 4., expected 5 along axis 1"),
    ],
)
def test_tuples_and_shapes(name: str, value: Any, text: str) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match=text):
        call(Dynamic, *{**GOOD, name: value}.values())


def test_native_functions_take_names() -> None:
    assert call(Static, y=Y, x=X).shape == (4, 3)
    with pytest.raises(CallError, match="called with wrong names: z"):
        call(Static, x=X, z=Y)


def test_values_of_other_checks_are_declared_as_they_are() -> None:
    @I.ir_module
    class Cast:
        @R.function
        def main(x: R.Tensor(ndim=1, dtype="float32")):
            y = R.match_cast(x, R.Tensor((4,), "float32"))
            return y

    with pytest.raises(ArgumentError, match="the value of a match_cast has shape") as caught:
        call(Cast, zeros(3))
    assert caught.value.help == "declare the value as it is"


def test_machines_say_how_functions_are_called() -> None:
    machine = relax.VirtualMachine(relax.build(Static, "llvm"))
    for name in ("main", "other"):
        with pytest.raises(AttributeError, match=rf"{name!r}(.|\n)*call .* machine\['main'\]"):
            getattr(machine, name)


class _Torch:
    __module__ = "torch.nn.modules"


class _Onnx:
    __module__ = "onnx.onnx_ml_pb2"


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        (relax.frontend.nn.ReLU(), r"model\.export_tvm\(spec\)"),
        (_Torch(), r"torch\.export\.export"),
        (_Onnx(), r"onnx\.from_onnx"),
        (te_sched.tir.PrimFunc([], te_sched.tir.Evaluate(0)), r"te_sched\.build\(function"),
        ([Static], "give a module of graphs"),
    ],
)
def test_builds_say_how_to_come_to_a_module(given: Any, advice: str) -> None:
    with pytest.raises(GraphError, match=f"relax.build cannot build (.|\n)*{advice}"):
        relax.build(given, "llvm")


@I.ir_module
class Product:
    @R.function
    def main(x: R.Tensor(("n", "k"), "float32"), w: R.Tensor(("m", 8), "float32")):
        y = R.exp(x)
        z = R.matmul(y, w)  # the sizes k and m differ
        return z


def test_sizes_that_do_not_fit_name_the_line_of_the_operator() -> None:
    with open(__file__, encoding="utf-8") as file:
        line = next(at for at, text in enumerate(file, 1) if "# the sizes k and m" in text)
    for _ in range(2):  # the second one may be of the cache
        main = relax.VirtualMachine(relax.build(Product))["main"]
        where = rf"operator relax.matmul \(called at {re.escape(__file__)}:{line}\), "
        with pytest.raises(ArgumentError, match=where):
            main(np.zeros((2, 3), "float32"), np.zeros((4, 8), "float32"))
