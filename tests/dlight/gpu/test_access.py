"""How a sum reads its largest input."""

import pytest

from te_sched import te, tir, topi
from te_sched.dlight.gpu.access import is_broadcast, sum_of
from tests.dlight.functions import applied, tensor


def sum_in(declared):
    return sum_of(tir.Schedule(te.create_prim_func(declared)))


@pytest.mark.parametrize(("axis", "kinds"), [(1, "SR"), (0, "RS")])
def test_the_order_of_iterators_is_that_of_memory(axis, kinds):
    _, access, epilogue = sum_in(applied(lambda a: topi.sum(a, axis=axis), 8, 16))
    assert "".join([one.kind for one in access.order]) == kinds
    assert access.is_inner_reduction == (axis == 1)
    assert (access.grouped, access.group, epilogue) == (None, 1, None)


def test_neighbors_that_share_an_element_are_a_group():
    a, x = tensor(8, 4), tensor(32, name="x")
    k = te.reduce_axis((0, 32), name="k")
    y = te.compute((8,), lambda i: te.sum(a[i, k // 8] * x[k], axis=k))
    _, access, _ = sum_in([a, x, y])
    assert (access.group, access.grouped.kind) == (8, "R")


@pytest.mark.parametrize(
    "declared",
    [
        applied(topi.exp, 4, 8),
        applied(topi.nn.softmax, 4, 8),
        applied(lambda a: topi.max(a, axis=1), 4, 8),
    ],
)
def test_other_functions_are_not_sums(declared):
    assert sum_in(declared) is None


def test_elements_of_a_sum_that_are_used_again_are_broadcast():
    sch = tir.Schedule(
        te.create_prim_func(
            applied(lambda a: topi.subtract(a, topi.sum(a, axis=1, keepdims=True)), 4, 8)
        )
    )
    block, _, epilogue = sum_of(sch)
    assert is_broadcast(sch, block, epilogue)
