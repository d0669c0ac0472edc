"""tir.IndexMap: maps made of functions, arrays, and T.index_map in scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, te, tir
from te_sched.errors import DeclarationError
from te_sched.ir.structural import structural_equal


def test_names_of_any_number_of_indices() -> None:
    made = tir.IndexMap.from_func(lambda i, *rest, last: [i, last, *rest], ndim=4)
    assert [one.name for one in made.initial_indices] == ["i", "rest_0", "rest_1", "last"]


def test_separators_are_those_of_layouts() -> None:
    assert tir.IndexMap.AXIS_SEPARATOR is te.AXIS_SEPARATOR
    made = tir.IndexMap.from_func_with_separators(lambda i, j: [i, te.AXIS_SEPARATOR, j])
    assert made[1] == [1]


def test_constructor_takes_an_inverse_as_a_function() -> None:
    i = tir.Var("i")
    made = tir.IndexMap([i], [i + 1], lambda k: k - 1)
    assert isinstance(made, tir.IndexMap)
    assert str(made.inverse([4])) == "T.index_map(lambda k: (k - T.int64(1),))"


def test_padding_of_an_array_is_zero() -> None:
    made = tir.IndexMap.from_func(lambda i, j: [j // 2, i, j % 2])
    moved = made.map_ndarray(nd.array(np.arange(1, 7).reshape(2, 3))).numpy()
    assert moved.tolist() == [[[1, 2], [4, 5]], [[3, 0], [6, 0]]]


@pytest.mark.parametrize(
    ("act", "fault"),
    [
        (lambda f: f(lambda *i: i), "needs the number of indices"),
        (lambda f: f(lambda i: i, 2), "takes 1 index, expected 2"),
        (lambda f: f(lambda i: [i, te.AXIS_SEPARATOR]), "returns AXIS_SEPARATOR"),
        (lambda f: f(lambda i: 0.5), "is float32, expected an integer"),
        (lambda f: f(lambda i: i, None, 3), "inverse_index_map is .*, expected a function"),
        (lambda f: f(lambda i, j: i).map_indices([1]), "takes 2 indices, got 1"),
        (lambda f: f(3), "mapping_function"),
        (lambda f: f(max), "whose parameters are unknown"),
        (lambda f: f(lambda i, *rest: i, 0), "takes 1 index, expected 0"),
    ],
)
def test_index_map_rejects(act: Callable[[Any], Any], fault: str) -> None:
    with pytest.raises(DeclarationError, match=fault):
        act(tir.IndexMap.from_func)


SCRIPT = """
from tvm.script import tir as T

@T.prim_func
def clear(A: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            T.block_attr({"layout": T.index_map(lambda k: (k // 4, k % 4), \
inverse_index_map=lambda a, b: a * 4 + b)})
            A[vi] = 0
"""


def test_map_in_a_script_round_trips() -> None:
    func = te_sched.script.from_source(SCRIPT)
    text = func.script()
    assert "inverse_index_map=lambda a, b: (a * T.int64(4) + b,))" in text
    assert structural_equal(te_sched.script.from_source(text), func)
    assert te_sched.build(func)
