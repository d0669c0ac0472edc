"""Reduction axes that nothing reduces are refused where they are used."""

from __future__ import annotations

import copy
import gc

import pytest

from te_sched import te, tir
from te_sched.errors import DeclarationError
from te_sched.te.reduction_axes import check_reduced

N = 8
A = te.placeholder((N, N), name="A")
k = te.reduce_axis((0, N), name="k")
m = te.reduce_axis((0, N), name="m")
argmax = te.comm_reducer(
    lambda a, b: (te.select(a[1] >= b[1], a[0], b[0]), te.max(a[1], b[1])),
    lambda index, value: (te.const(-1, index), te.min_value(value)),
    "argmax",
)


@pytest.mark.parametrize(
    "element",
    [
        lambda i: te.sum(A[i, m], axis=k),
        lambda i: te.max(A[i, m] * 2, axis=[k]),
        lambda i: te.min(A[i, k] + m, k),
        lambda i: te.prod(A[i, k], axis=k, where=m < 3),
        lambda i: te.sum(A[i, k], axis=k, init=A[i, m]),
        lambda i: argmax((k, A[i, m]), axis=k),
        lambda i: te.sum(te.if_then_else(m.var > 2, A[i, k], 0.0), axis=k),
    ],
)
def test_reductions_over_another_axis_are_refused(element) -> None:
    with pytest.raises(DeclarationError, match="C uses reduction axis m but reduces over k") as at:
        te.compute((N,), element, name="C")
    assert at.value.names("axis") == ["m"]
    assert at.value.about[-1].file == __file__
    assert "axis=[k, m]" in at.value.help


@pytest.mark.parametrize("shape", [(), (1,), (N, 0)])
def test_elements_without_a_reduction_use_no_reduction_axis(shape) -> None:
    with pytest.raises(DeclarationError, match="uses reduction axis k without a reduction over it"):
        te.compute(shape, lambda *i: A[0, k], name="C")


def test_initial_values_use_no_axis_of_the_reduction() -> None:
    with pytest.raises(DeclarationError, match=r"the initial value of .* uses its axis k"):
        te.compute((N,), lambda i: te.sum(A[i, k], axis=k, init=A[i, k]), name="C")


def test_bounds_of_axes_use_axes_that_are_reduced() -> None:
    below = te.reduce_axis((0, k + 1), name="below")
    te.compute((N,), lambda i: te.sum(A[i, below], axis=[k, below]), name="C")
    with pytest.raises(DeclarationError, match="uses reduction axis k but reduces over below"):
        te.compute((N,), lambda i: te.sum(A[i, below], axis=below), name="C")


def test_axes_of_one_name_are_told_apart() -> None:
    first, second = te.reduce_axis((0, N)), te.reduce_axis((0, N))
    with pytest.raises(DeclarationError, match="reduces over another axis called rv"):
        te.compute((N,), lambda i: te.sum(A[i, first], axis=second), name="C")


def test_extents_use_no_reduction_axis() -> None:
    with pytest.raises(DeclarationError, match=r"an extent of .* B uses(.|\n)*k.dom.extent"):
        te.placeholder((N, k + 1), name="B")


def test_statements_of_extern_loop_themselves() -> None:
    def call(ins, outs):
        return tir.call_packed("f", ins[0], k.var, outs[0])

    with pytest.raises(DeclarationError, match=r"extern B uses reduction axis k(.|\n)*for_range"):
        te.extern((N,), [A], call, name="B")


def test_hybrid_scripts_loop_themselves() -> None:
    @te.hybrid.script
    def column(a):
        b = output_tensor((8,), "float32")  # noqa: F821
        for i in range(8):
            b[i] = a[i, k]
        return b

    with pytest.raises(DeclarationError, match=r"hybrid script column uses(.|\n)*loop over k"):
        column(A)


def test_axes_are_forgotten_with_their_program() -> None:
    axis = te.reduce_axis((0, N), name="n")
    var, same = axis.var, copy.copy(axis)
    with pytest.raises(DeclarationError, match="B uses reduction axis n"):
        check_reduced([var], (), "B")
    check_reduced([var], (same,), "B")
    del axis
    gc.collect()
    check_reduced([var], (), "B")
