"""Other orders of elements and instances: transform_layout, transform_block_layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.ir import structural_equal
from te_sched.script import from_source
from tests.tensorir.programs import GIVEN, MATMUL, STAGES

MAPS: list[Callable[..., Any]] = [
    lambda i, j: [j, i],
    lambda i, j: [i // 4, j, i % 4],
    lambda i, j: [i * 8 + j],
    lambda i, j: [i // 2, j // 4, i % 2, j % 4],
]


def run(sch: Any, arrays: list[np.ndarray]) -> np.ndarray:
    """The last array, after a call of a schedule's program."""
    given = [te_sched.nd.array(one) for one in arrays]
    te_sched.build(sch.mod, target="llvm")(*given)
    return given[-1].numpy()


@pytest.mark.parametrize("mapping", MAPS)
def test_temporaries_may_be_stored_in_any_order(mapping: Callable[..., Any]) -> None:
    sch = tir.Schedule(from_source(GIVEN + MATMUL))
    sch.transform_layout("C", "C", mapping)
    rng = np.random.default_rng(0)
    a, b = (rng.random((8, 8), dtype="float32") for _ in range(2))
    np.testing.assert_allclose(run(sch, [a, b, a * 0]), np.maximum(a @ b, 0), rtol=1e-5)
    again = tir.Schedule(from_source(GIVEN + MATMUL))
    sch.trace.apply_json_to_schedule(sch.trace.as_json(), again)
    assert structural_equal(again.mod, sch.mod)


def test_parameters_change_their_shape() -> None:
    sch = tir.Schedule(from_source(GIVEN + STAGES))
    sch.transform_layout("C", ("write", 0), lambda i, j: [i // 4, j, i % 4])
    a = np.random.default_rng(0).random((8, 8), dtype="float32")
    found = run(sch, [a, np.zeros((2, 8, 4), "float32")])
    expected = (a * 2 + 1).reshape(2, 4, 8).transpose(0, 2, 1)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_all_accesses_move() -> None:
    sch = tir.Schedule(from_source(GIVEN + STAGES))
    sch.transform_layout("B", ("write", 0), lambda *i: [i[1], i[0]])
    assert str(sch.get(sch.get_block("B")).writes[0]) == "B[vj, vi]"
    assert str(sch.get(sch.get_block("C")).reads[0]) == "B[vj, vi]"
    line = str(sch.trace).splitlines()[3]
    assert line == (
        '  sch.transform_layout(block=b0, buffer=("write", 0), '
        "index_map=lambda i_0, i_1: (i_1, i_0,), pad_value=None, "
        "assume_injective_transform=False)"
    )


@pytest.mark.parametrize("mapping", [lambda i, j, k: [i * 8 + j, k], lambda i, j, k: [k, j, i]])
def test_instances_in_another_order(mapping: Callable[..., Any]) -> None:
    sch = tir.Schedule(from_source(GIVEN + MATMUL))
    sch.transform_block_layout("C", mapping)
    assert [one.name for one in sch.get_loops("C")] == ["ax0", "ax1", "ax2"][
        : len(sch.get_loops("C"))
    ]
    rng = np.random.default_rng(0)
    a, b = (rng.random((8, 8), dtype="float32") for _ in range(2))
    np.testing.assert_allclose(run(sch, [a, b, a * 0]), np.maximum(a @ b, 0), rtol=1e-5)


def test_a_product_becomes_a_product_of_matrices() -> None:
    sch = tir.Schedule(from_source(GIVEN + MATMUL))
    sch.reindex("C", "A")
    sch.transform_layout("C", "A_reindex", lambda i, k: [i // 2, k, i % 2])
    sch.transform_block_layout("C", lambda i, j, k: [i // 2, j, i % 2, k])
    kinds = [axis.kind for axis in sch.get(sch.get_block("C")).iter_vars]
    assert kinds == ["DataPar", "DataPar", "DataPar", "CommReduce"]
    rng = np.random.default_rng(0)
    a, b = (rng.random((8, 8), dtype="float32") for _ in range(2))
    np.testing.assert_allclose(run(sch, [a, b, a * 0]), np.maximum(a @ b, 0), rtol=1e-5)


def test_groups_of_dimensions() -> None:
    sch = tir.Schedule(from_source(GIVEN + MATMUL))
    sch.transform_layout("C", "C", lambda i, j: [i // 4, j, tir.IndexMap.AXIS_SEPARATOR, i % 4])
    buffer = sch.get(sch.get_block("C")).writes[0].buffer
    assert buffer.axis_separators == (2,)
    assert 'sch.set_axis_separator(block=b0, buffer=("write", 0), axis_separators=[2])' in str(
        sch.trace
    )
    again = tir.Schedule(from_source(GIVEN + MATMUL))
    sch.trace.apply_json_to_schedule(sch.trace.as_json(), again)
    assert structural_equal(again.mod, sch.mod)
    sch.set_axis_separator("C", ("write", 0), [])
    rng = np.random.default_rng(0)
    a, b = (rng.random((8, 8), dtype="float32") for _ in range(2))
    np.testing.assert_allclose(run(sch, [a, b, a * 0]), np.maximum(a @ b, 0), rtol=1e-5)


def test_groups_of_dimensions_of_a_parameter() -> None:
    sch = tir.Schedule(from_source(GIVEN + STAGES))
    sch.set_axis_separator("B", ("read", 0), [1])
    ((_, func),) = sch.mod.functions_items()
    assert [one.axis_separators for one in func.buffer_map.values()] == [(1,), ()]
