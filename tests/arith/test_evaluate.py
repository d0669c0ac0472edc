"""Evaluation of expressions with numpy."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import te
from te_sched.arith.evaluate import Unevaluable, evaluate
from te_sched.ir import ops


def test_integers_are_evaluated_in_their_types():
    x = te.var("x", "int8")
    assert evaluate(x + ops.const(100, "int8"), {x: np.int64(100)}, {}) == -56
    n = te.var("n")
    values = evaluate((n * 3) // 2, {n: np.arange(4)}, {})
    assert values.tolist() == [0, 1, 3, 4]


def test_variables_without_values_are_unevaluable():
    with pytest.raises(Unevaluable):
        evaluate(te.var("n") + 1, {}, {})


def test_floats_are_evaluated_as_reals_only():
    x = te.var("x", "float32")
    e = te.exp(x) / 2 + te.min_value("float32") * 0
    with pytest.raises(Unevaluable):
        evaluate(e, {x: np.float64(1)}, {})
    assert evaluate(te.exp(x) / 2, {x: np.float64(1)}, {}, of_reals=True) == np.exp(1) / 2
    assert evaluate(x.astype("int32"), {x: np.float64(2.7)}, {}, of_reals=True) == 2


def test_what_reads_memory_is_unevaluable_as_reals_too():
    A = te.placeholder((4,), name="A")
    with pytest.raises(Unevaluable):
        evaluate(ops.convert(A[0]), {}, {}, of_reals=True)
