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
from tests.tensorir.programs import GIVEN, MATMUL, STAGES, function

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


@pytest.mark.parametrize(
    ("separators", "sizes"),
    [([0], [1, 64]), ([2], [64, 1]), ([0, 2], [1, 64, 1]), ([1, 1], [8, 1, 8])],
)
def test_groups_without_dimensions(separators: list[int], sizes: list[int]) -> None:
    sch = tir.Schedule(from_source(GIVEN + STAGES))
    sch.set_axis_separator("B", ("write", 0), separators)
    text = te_sched.lower(sch.mod).script()
    assert f'B = T.allocate({sizes}, "float32", "global")' in text
    a = np.random.default_rng(0).random((8, 8), dtype="float32")
    np.testing.assert_allclose(run(sch, [a, a * 0]), a * 2 + 1, rtol=1e-6)


def test_another_layout_keeps_the_groups() -> None:  # as in TVM 0.19
    sch = tir.Schedule(from_source(GIVEN + STAGES))
    sch.set_axis_separator("B", ("write", 0), [1])
    sch.transform_layout("B", ("write", 0), lambda i, j: [i, j])
    sch.transform_layout("B", ("write", 0), lambda i, j: [i // 4, j, i % 4])
    buffer = sch.get(sch.get_block("B")).writes[0].buffer
    assert ([int(one) for one in buffer.shape], buffer.axis_separators) == ([2, 8, 4], (1,))
    a = np.random.default_rng(0).random((8, 8), dtype="float32")
    np.testing.assert_allclose(run(sch, [a, a * 0]), a * 2 + 1, rtol=1e-6)


VIEWED = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 2), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            X = T.match_buffer(B[vi, vj], (), offset_factor=1)
            X[()] = A[vi, vj] * 2.0
    for i, j in T.grid(8, 2):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y = T.match_buffer(B[vi, vj * 4 : vj * 4 + 4], (4,), offset_factor=1)
            Z = T.match_buffer(B[vi : vi + 1, vj * 4 : vj * 4 + 4], (1, 4), offset_factor=1)
            C[vi, vj] = Y[0] + Z[0, 3]
"""


@pytest.mark.parametrize("by_map", [False, True])
def test_groups_of_dimensions_of_views(by_map: bool) -> None:
    sch = tir.Schedule(from_source(GIVEN + VIEWED))
    if by_map:
        sch.transform_layout("B", "B", lambda i, j: [i, tir.IndexMap.AXIS_SEPARATOR, j])
    else:
        sch.set_axis_separator("B", ("write", 0), [1])
    views = [
        match.buffer.axis_separators
        for name in "BC"
        for match in sch.get(sch.get_block(name)).match_buffers
    ]
    assert views == [(0,), (0,), (1,)]
    a = np.random.default_rng(0).random((8, 8), dtype="float32")
    expected = (a[:, [0, 4]] + a[:, [3, 7]]) * 2
    np.testing.assert_allclose(run(sch, [a, np.zeros((8, 2), "float32")]), expected, rtol=1e-6)


def test_indices_of_tiles_are_simplified() -> None:
    sch = tir.Schedule(from_source(GIVEN + STAGES))
    i, j = sch.get_loops(sch.get_block("C"))
    i_0, i_1 = sch.split(i, [None, 4])
    j_0, j_1 = sch.split(j, [None, 4])
    sch.reorder(i_0, j_0, i_1, j_1)
    tile = sch.blockize(i_1)
    copy = sch.cache_read(tile, 0, "global")
    sch.transform_layout(copy, ("write", 0), lambda i, j: (i // 4, j // 4, i % 4, j % 4))
    assert str(sch.get(sch.get_block("C")).reads[0]) == "B_global[vi_o, vj_o, vi_i, vj_i]"
    a = np.random.default_rng(0).random((8, 8), dtype="float32")
    np.testing.assert_allclose(run(sch, [a, a * 0]), a * 2 + 1, rtol=1e-6)


def test_iterators_of_one_value_stay() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((1, 8), "float32"), C: T.Buffer((1, 8), "float32")):
    for i, j in T.grid(1, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj]
"""
    sch = tir.Schedule(from_source(GIVEN + text))
    sch.transform_layout("C", "A", lambda i, j: [i * 8 + j])
    sch.transform_block_layout("C", lambda i, j: (j, i))
    block = sch.get(sch.get_block("C"))
    assert (str(block.reads[0]), str(block.writes[0])) == ("A[v0]", "C[v1, v0]")
    a = np.random.default_rng(0).random(8, dtype="float32")
    np.testing.assert_allclose(run(sch, [a, a.reshape(1, 8) * 0])[0], a)


def test_symbolic_strides() -> None:
    text = """
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (T.int64(4), n), "float32")
    C = T.match_buffer(c, (T.int64(4), n), "float32")
    for i, j in T.grid(T.int64(4), n):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj]
"""
    func = from_source(GIVEN + text)
    (n,) = {
        size
        for one in func.buffer_map.values()
        for size in one.shape
        if size.dtype == "int64" and isinstance(size, tir.Var)
    }
    sch = tir.Schedule(func)
    sch.transform_layout("C", "C", lambda i, j: i * n + j, assume_injective_transform=True)
    assert str(sch.get(sch.get_block("C")).writes[0].buffer.shape[0]) == "n * T.int64(4)"
    a = np.random.default_rng(0).random((4, 3), dtype="float32")
    np.testing.assert_allclose(run(sch, [a, np.zeros(12, "float32")]), a.reshape(-1))


# As TVM 0.19 prints it, with its own names of loops and iterators.
BY_A_SIZE = """
        B = T.alloc_buffer(((-16 % n + 16) // n, n))
        for axis0, axis1 in T.grid((-16 % n + 16) // n, n):
            with T.block("B"):
                v_axis0, v_axis1 = T.axis.remap("SS", [axis0, axis1])
                T.reads(A[v_axis1 + v_axis0 * n])
                T.writes(B[v_axis0, v_axis1])
                B[v_axis0, v_axis1] = T.if_then_else(-16 % n != 0 and (v_axis1 + v_axis0 * n) // n == 16 // n and 16 % n <= (v_axis1 + v_axis0 * n) % n, T.float32(0), A[v_axis1 + v_axis0 * n])
"""  # noqa: E501
SIZED = """
@T.prim_func
def main(A: T.Buffer((16,)), C: T.Buffer((16,)), n: T.int32):
    B = T.alloc_buffer((16,))
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi]
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] + 1.0
"""


@pytest.mark.parametrize("size", [1, 3, 5, 16, 20])
@pytest.mark.parametrize("is_turned", [False, True])
def test_layouts_in_tiles_of_a_symbolic_size(size: int, is_turned: bool) -> None:
    sch = tir.Schedule(from_source(GIVEN + SIZED))
    n = sch.mod["main"].params[2]
    sch.transform_layout(
        "B", "B", lambda i: [i % n, i // n] if is_turned else [i // n, i % n], pad_value=0.0
    )
    assert is_turned or BY_A_SIZE in sch.mod.script() + "\n"
    a = np.arange(16, dtype="float32")
    c = np.zeros(16, "float32")
    te_sched.build(sch.mod, target="llvm")(a, c, size)
    np.testing.assert_array_equal(c, a + 1)


@pytest.mark.parametrize("size", [0, -4])
def test_layouts_in_tiles_of_no_size_are_refused_when_they_run(size: int) -> None:
    sch = tir.Schedule(from_source(GIVEN + SIZED))
    n = sch.mod["main"].params[2]
    sch.transform_layout("B", "B", lambda i: [i // n, i % n], pad_value=0.0)
    run = te_sched.build(sch.mod, target="llvm")
    with pytest.raises(te_sched.TeSchedError, match="B has no elements there"):
        run(np.zeros(16, "float32"), np.zeros(16, "float32"), size)


SHIFTED = function(
    "A:16,16 B:4,8",
    """
for i, j in T.grid(4, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = T.if_then_else(vi > 1, A[vi - 1, vj + 2], A[vi + 3, vj])
""",
)


def shifted(a: np.ndarray) -> np.ndarray:
    """What SHIFTED computes."""
    i, j = np.indices((4, 8))
    return np.where(i > 1, a[i - 1, j + 2], a[i + 3, j])


@pytest.mark.parametrize(
    ("mapping", "text"),
    [
        (lambda i, j: [j, i], "T.if_then_else(vi > 1, A[vj + 2, vi - 2 + 1], A[vj, vi + 3])"),
        (lambda i, j: [i * 16 + j], "T.if_then_else(vi > 1, A[vi * 16 + vj - 14], A["),
    ],
)
def test_indices_begin_where_their_condition_holds(mapping: Callable[..., Any], text: str) -> None:
    sch = tir.Schedule(from_source(GIVEN + SHIFTED))
    sch.transform_layout("B", ("read", 0), mapping)
    assert text in sch.mod.script()
    a = np.random.default_rng(0).random((16, 16), dtype="float32")
    (index,) = [np.array([mapping(i, j) for i in range(16) for j in range(16)])]
    given = np.zeros(index.max(0) + 1, "float32")
    given[tuple(index.T)] = a.reshape(-1)
    np.testing.assert_array_equal(run(sch, [given, np.zeros((4, 8), "float32")]), shifted(a))


def test_indices_of_instances_in_another_order_are_sums_of_parts() -> None:
    text = SHIFTED.replace("vi > 1, A[vi - 1", "vj > 3, A[vi + 1")
    sch = tir.Schedule(from_source(GIVEN + text))
    sch.transform_block_layout("B", lambda i, j: [i * 8 + j])
    assert "v0 % 8 > 3, A[v0 // 8 + 1, v0 % 8 + -4 + 6], A[v0 // 8 + 3" in sch.mod.script()
    a = np.random.default_rng(0).random((16, 16), dtype="float32")
    i, j = np.indices((4, 8))
    expected = np.where(j > 3, a[i + 1, j + 2], a[i + 3, j])
    np.testing.assert_array_equal(run(sch, [a, np.zeros((4, 8), "float32")]), expected)


def test_regions_of_a_transformed_buffer_are_those_of_the_body() -> None:
    reads = "T.reads(A[0:16, 0:16])\n            B[vi, vj] = "
    text = SHIFTED.replace("B[vi, vj] = ", reads)
    sch = tir.Schedule(from_source(GIVEN + text))
    sch.transform_layout("B", ("read", 0), lambda i, j: [j, i])
    (region,) = sch.get(sch.get_block("B")).reads
    assert str(region) == "A[vj:vj + 3, vi - 1:vi - 1 + 5]"
    a = np.random.default_rng(0).random((16, 16), dtype="float32")
    found = run(sch, [a.T.copy(), np.zeros((4, 8), "float32")])
    np.testing.assert_array_equal(found, shifted(a))
