"""Padding that new layouts of buffers add: transform_layout with pad_value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.ir import structural_equal
from te_sched.script import from_source
from tests.tensorir.programs import GIVEN, MATMUL, PADDED, STAGES, function

# What TVM 0.19 prints.
PRODUCER = """
        for axis0, axis1, axis2 in T.grid(8, 3, 3):
            with T.block("C"):
                v_axis0, v_axis1, v_axis2 = T.axis.remap("SSS", [axis0, axis1, axis2])
                T.reads(B[v_axis0, v_axis1 * 3 + v_axis2])
                T.writes(C[v_axis0, v_axis1, v_axis2])
                C[v_axis0, v_axis1, v_axis2] = T.if_then_else(v_axis1 == 2 and v_axis2 == 2, \
T.float32(7), B[v_axis0, v_axis1 * 3 + v_axis2] + T.float32(1))
"""
REDUCTION = """
                with T.init():
                    C[v_axis0, v_axis1, v_axis2] = T.if_then_else(v_axis1 == 2 and v_axis2 == 2, \
T.float32(1), T.float32(0))
                C[v_axis0, v_axis1, v_axis2] = T.if_then_else(v_axis1 == 2 and v_axis2 == 2, \
T.float32(1), C[v_axis0, v_axis1, v_axis2] + A[v_axis0, vk] * B[vk, v_axis1 * 3 + v_axis2])
"""
BLOCK = """
        for axis0, axis1, axis2 in T.grid(8, 3, 3):
            with T.block("buffer_C_padding"):
                v_axis0, v_axis1, v_axis2 = T.axis.remap("SSS", [axis0, axis1, axis2])
                T.where(axis1 == 2 and axis2 == 2)
                T.reads()
                T.writes(C[v_axis0, v_axis1, v_axis2])
                C[v_axis0, v_axis1, v_axis2] = T.float32(7)
"""
ASSUMPTION = """
        for axis0, axis1, axis2 in T.grid(8, 3, 3):
            with T.block("buffer_A_assumptions"):
                v_axis0, v_axis1, v_axis2 = T.axis.remap("SSS", [axis0, axis1, axis2])
                T.reads(A[v_axis0, v_axis1, v_axis2])
                T.writes()
                T.assume(not (v_axis1 == 2 and v_axis2 == 2) or \
A[v_axis0, v_axis1, v_axis2] == T.float32(7))
"""
OPAQUE = function(
    "A:8,8 C:8",
    """
for i in range(8):
    C[i] = 0.0
    for k in range(8):
        with T.block("C"):
            C[i] = C[i] + A[i, k]
""",
)
OF_OTHER_ELEMENTS = function(
    "A:8 C:8",
    """
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = A[vi] + C[7 - vi]
""",
)
CONDITIONAL = function(
    "A:8 C:8",
    """
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        if vi < 4:
            C[vi] = A[vi]
for i in range(8):
    with T.block("D"):
        vi = T.axis.spatial(8, i)
        if 4 <= vi:
            C[vi] = A[vi] + 1.0
""",
)


def scheduled(text: str) -> Any:
    """A schedule of a program."""
    return tir.Schedule(from_source(GIVEN + text))


def thirds(i: Any, j: Any) -> list[Any]:
    """A layout of rows of 8 elements as 3 groups of 3."""
    return [i, j // 3, j % 3]


def grouped(values: np.ndarray, padding: float) -> np.ndarray:
    """The values of the layout `thirds`."""
    return np.pad(values, ((0, 0), (0, 1)), constant_values=padding).reshape(8, 3, 3)


def call(sch: Any, *arrays: np.ndarray) -> np.ndarray:
    """The last array, after a call of a schedule's program, which its trace makes again."""
    given = [te_sched.nd.array(one) for one in arrays]
    te_sched.build(sch.mod, target="llvm")(*given)
    return given[-1].numpy()


def random(*shape: int) -> np.ndarray:
    """Random values."""
    return np.random.default_rng(0).random(shape, dtype="float32")


def check_replayed(sch: Any, text: str) -> None:
    """The trace of a schedule makes its program."""
    again = scheduled(text)
    sch.trace.apply_json_to_schedule(sch.trace.as_json(), again)
    assert structural_equal(again.mod, sch.mod)
    assert str(again.trace) == str(sch.trace)


def test_the_loops_of_a_producer_run_over_the_padding() -> None:
    sch = scheduled(STAGES)
    sch.transform_layout("C", "C", thirds, pad_value=7.0)
    assert PRODUCER in sch.mod.script() + "\n"
    assert "pad_value=lambda indices_0, indices_1, indices_2: (T.float32(7),)" in str(sch.trace)
    found = call(sch, random(8, 8), np.zeros((8, 3, 3), "float32"))
    np.testing.assert_allclose(found, grouped(random(8, 8) * 2 + 1, 7), rtol=1e-6)
    check_replayed(sch, STAGES)


def test_reductions_print_as_tvm() -> None:
    sch = scheduled(MATMUL)
    sch.transform_layout("C", "C", thirds, pad_value=1.0)
    assert REDUCTION in sch.mod.script()
    a, b = random(8, 8), random(8, 8)[::-1].copy()
    np.testing.assert_allclose(call(sch, a, b, a * 0), np.maximum(a @ b, 0), rtol=1e-5)
    check_replayed(sch, MATMUL)


@pytest.mark.parametrize("kind", ["parallel", "split", "reorder", "fuse"])
def test_other_loops_are_followed_by_a_block(kind: str) -> None:
    sch = scheduled(STAGES)
    i, j = sch.get_loops(sch.get_block("C"))
    if kind == "parallel":
        sch.parallel(i)
    elif kind == "split":
        sch.split(j, [2, 4])
    elif kind == "reorder":
        sch.reorder(j, i)
    else:
        sch.fuse(i, j)
    sch.transform_layout("C", "C", thirds, pad_value=7.0)
    assert BLOCK in sch.mod.script() + "\n"
    found = call(sch, random(8, 8), np.zeros((8, 3, 3), "float32"))
    np.testing.assert_allclose(found, grouped(random(8, 8) * 2 + 1, 7), rtol=1e-6)
    check_replayed(sch, STAGES)


def test_padding_of_parameters_is_assumed() -> None:
    sch = scheduled(STAGES)
    sch.transform_layout("B", "A", thirds, pad_value=7.0)
    assert ASSUMPTION in sch.mod.script()
    assert "T.assume(axis1 < 2 or axis2 < 2 or" in te_sched.lower(sch.mod).script()
    found = call(sch, grouped(random(8, 8), 7), np.zeros((8, 8), "float32"))
    np.testing.assert_allclose(found, random(8, 8) * 2 + 1, rtol=1e-6)
    check_replayed(sch, STAGES)


def test_values_of_indices() -> None:
    sch = scheduled(STAGES)
    sch.transform_layout("C", "C", thirds, pad_value=lambda i, j, k: tir.Cast("float32", i + j * k))
    found = call(sch, random(8, 8), np.zeros((8, 3, 3), "float32"))
    np.testing.assert_allclose(found[:, 2, 2], np.arange(8) + 4)
    check_replayed(sch, STAGES)


@pytest.mark.parametrize("shift", [1, 2, 3])
def test_padding_at_both_ends(shift: int) -> None:
    sch = scheduled(PADDED["plain"])
    sch.transform_layout("C", "C", lambda i: [(i + shift) // 4, (i + shift) % 4], pad_value=-1.0)
    a, d = random(10, 13), random(13)
    found = call(sch, a, d, np.zeros((-(-(10 + shift) // 4), 4), "float32")).reshape(-1)
    expected = np.full_like(found, -1)
    expected[shift : shift + 10] = a @ d + 1
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_loops_without_iterators() -> None:
    sch = scheduled(OPAQUE)
    sch.transform_layout("C", "C", lambda i: [i // 3, i % 3], pad_value=7.0)
    assert "C[axis0, axis1] = T.if_then_else(axis0 == 2 and axis1 == 2" in sch.mod.script()
    found = call(sch, random(8, 8), np.zeros((3, 3), "float32"))
    np.testing.assert_allclose(found.reshape(-1), [*random(8, 8).sum(1), 7], rtol=1e-5)


@pytest.mark.parametrize("text", [OF_OTHER_ELEMENTS, CONDITIONAL])
def test_loops_that_do_more_keep_their_order(text: str) -> None:
    sch = scheduled(text)
    sch.transform_layout("C", "C", lambda i: [i % 3, i // 3], pad_value=7.0)
    names = [block.name for block in sch.get_child_blocks(sch.get_block("root"))]
    assert names[-1] == "buffer_C_padding"
    a, c = random(8), random(8) + 1
    expected = te_sched.nd.array(c)
    te_sched.build(scheduled(text).mod, target="llvm")(te_sched.nd.array(a), expected)

    def layout(x: np.ndarray) -> np.ndarray:
        return np.append(x, np.float32(7)).reshape(3, 3).T.copy()

    np.testing.assert_allclose(call(sch, a, layout(c)), layout(expected.numpy()), rtol=1e-6)
    check_replayed(sch, text)


def test_maps_without_padding_do_not_need_it() -> None:
    sch = scheduled(STAGES)
    sch.transform_layout("C", "C", lambda i, j: [i, j // 4, j % 4], pad_value=7.0)
    assert "if_then_else" not in sch.mod.script()


def test_without_a_value_the_map_may_be_said_to_be_one_to_one() -> None:
    sch = scheduled(STAGES)
    sch.transform_layout("B", "B", thirds, assume_injective_transform=True)
    assert sch.get(sch.get_block("B")).writes[0].buffer.shape == (8, 3, 3)
    found = call(sch, random(8, 8), np.zeros((8, 8), "float32"))
    np.testing.assert_allclose(found, random(8, 8) * 2 + 1, rtol=1e-6)


def test_axis_separators_with_padding() -> None:
    sch = scheduled(STAGES)
    sch.transform_layout(
        "B", "B", lambda i, j: [i, tir.IndexMap.AXIS_SEPARATOR, j // 3, j % 3], pad_value=7.0
    )
    assert sch.get(sch.get_block("B")).writes[0].buffer.axis_separators == (1,)
    np.testing.assert_allclose(
        call(sch, random(8, 8), np.zeros((8, 8), "float32")), random(8, 8) * 2 + 1, rtol=1e-6
    )


def test_a_block_around_the_producer_has_the_padding() -> None:
    sch = scheduled(STAGES)
    sch.loop_partition(sch.get_loops(sch.get_block("B"))[0], [3])
    sch.transform_layout("C", ("read", 0), thirds, pad_value=7.0)
    np.testing.assert_allclose(
        call(sch, random(8, 8), np.zeros((8, 8), "float32")), random(8, 8) * 2 + 1, rtol=1e-6
    )


def test_symbolic_sizes() -> None:
    text = """
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for i in range(n):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            C[vi] = A[vi]
"""
    sch = scheduled(text)
    sch.transform_layout("C", "C", lambda i: [i // 4, i % 4], pad_value=7.0)
    for size in (1, 4, 6):
        found = call(sch, random(size), np.zeros((-(-size // 4), 4), "float32")).reshape(-1)
        np.testing.assert_allclose(found, [*random(size), *[7] * (-size % 4)])
