"""Counterexamples to the laws of reducers."""

from __future__ import annotations

import pytest

from te_sched import te, tir
from te_sched.arith.combiners import find_counterexample, in_another_order, in_groups
from te_sched.ir.expr import CommReducer

DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint32", "float16", "bfloat16", "float32")


def combiner(combine, identity, *dtypes) -> CommReducer:
    k = te.reduce_axis((0, 4), "k")
    sources = tuple(tir.const(1, dtype) for dtype in dtypes)
    source = sources if len(sources) > 1 else sources[0]
    result = te.comm_reducer(combine, identity)(source, axis=k)
    return (result[0] if len(sources) > 1 else result).combiner


def zero(dtype):
    return tir.const(0, dtype)


@pytest.mark.parametrize("dtype", [*DTYPES, "float64"])
@pytest.mark.parametrize("reducer", [te.sum, te.prod, te.max, te.min])
def test_common_reducers_have_no_counterexample(reducer, dtype):
    value = reducer(tir.const(1, dtype), axis=te.reduce_axis((0, 4))).combiner
    assert find_counterexample(value, in_groups) is None
    assert find_counterexample(value, in_another_order) is None


@pytest.mark.parametrize("dtype", DTYPES)
def test_differences_depend_on_groups_but_not_on_order(dtype):
    difference = combiner(lambda x, y: x - y, zero, dtype)
    assert find_counterexample(difference, in_another_order) is None
    found = find_counterexample(difference, in_groups)
    assert "one after the other" in found
    assert "in groups" in found


@pytest.mark.parametrize("dtype", DTYPES)
def test_polynomials_depend_on_the_order(dtype):
    horner = combiner(lambda x, y: x * tir.const(2, dtype) + y, zero, dtype)
    assert "in another order" in find_counterexample(horner, in_another_order)
    assert find_counterexample(horner, in_groups)


def test_means_depend_on_both():
    mean = combiner(lambda x, y: (x + y) / 2, zero, "float32")
    assert find_counterexample(mean, in_another_order)
    assert find_counterexample(mean, in_groups)


def test_identities_that_change_results_are_a_counterexample_in_groups():
    biased = combiner(lambda x, y: x + y, lambda dtype: tir.const(5, dtype), "int32")
    assert find_counterexample(biased, in_another_order) is None
    assert find_counterexample(biased, in_groups)


def test_reducers_of_several_values():
    def largest(a, b):
        keeps = a[1] >= b[1]
        return te.if_then_else(keeps, a[0], b[0]), te.if_then_else(keeps, a[1], b[1])

    def start(index, value):
        return tir.const(-1, index), te.min_value(value)

    argmax = combiner(largest, start, "int32", "float32")
    assert find_counterexample(argmax, in_groups) is None
    assert find_counterexample(argmax, in_another_order) is None

    def online(a, b):  # the maximum, and the sum of exponentials below it
        top = te.max(a[0], b[0])
        return top, a[1] * te.exp(a[0] - top) + b[1] * te.exp(b[0] - top)

    def below(_, total):
        return tir.const(-1e30, "float32"), tir.const(0, total)

    softmax = combiner(online, below, "float32", "float32")
    assert find_counterexample(softmax, in_groups) is None
    first = combiner(lambda a, b: (a[0], a[1] + b[1]), start, "int32", "float32")
    assert find_counterexample(first, in_another_order) is None
    last = combiner(lambda a, b: (b[0], a[1] + b[1]), start, "int32", "float32")
    assert find_counterexample(last, in_another_order)


def test_functions_that_cannot_be_evaluated_are_no_counterexample():
    foreign = combiner(lambda x, y: tir.call_pure_extern("float32", "f", x, y), zero, "float32")
    assert find_counterexample(foreign, in_groups) is None
