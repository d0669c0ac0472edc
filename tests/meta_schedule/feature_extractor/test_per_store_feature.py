"""Features of programs: a row of numbers for each store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched import te, tir
from te_sched.errors import DeclarationError, LoweringError
from te_sched.ir.stmt import BufferStore, PrimFunc
from te_sched.meta_schedule import MeasureCandidate, TuneContext, feature_extractor
from te_sched.meta_schedule.feature_extractor import PerStoreFeature, stores
from te_sched.tir.schedule import Schedule
from tests.meta_schedule.feature_extractor.rows import (
    NAMES,
    features,
    matmul,
    picked,
)


def test_a_product_moves_its_matrices() -> None:
    (row,) = features(matmul(64))
    assert picked(row, "float_addsub", "float_mul", "outer_prod", "num_loops") == (
        *[64**3] * 3,
        3,
    )
    # B walks down columns, A along rows, C stays: most cache lines first.
    assert picked(row, "B0.stride", "B1.stride", "B2.stride") == (64, 1, 0)
    assert picked(row, "B0.lines", "B1.lines", "B2.lines") == (64**3, 64**3 / 16, 64**2 / 16)
    assert picked(row, "B0.dis_iter", "B1.dis_iter", "B2.dis_iter") == (64**2, 64, 1)
    assert picked(row, "B2.dis_bytes", "B2.both", "B2.ct") == (12, 1, 64)
    # After all iterations: two operations each, three matrices of four bytes.
    assert row["curve9"] == pytest.approx(2 * 64**3 / (3 * 4 * 64**2))


def test_annotated_loops_are_described() -> None:
    sch = Schedule(matmul(64))
    i, j, _ = sch.get_loops(sch.get_block("C"))
    outer, inner = sch.split(j, [None, 16])
    sch.parallel(i)
    sch.vectorize(inner)
    sch.unroll(outer)
    sch.annotate(i, "pragma_auto_unroll_max_step", 32)
    (row,) = features(sch)
    assert picked(row, "vec_num", "vec_prod", "vec_len", "vec_7") == (1, 16, 16, 1)
    assert picked(row, "unroll_len", "parallel_len", "auto_unroll_max_step") == (4, 64, 32)
    assert row["vec_0"] == 0


def test_an_allocated_buffer_has_the_size_of_its_region() -> None:
    sch = Schedule(matmul(64))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    (i_0, i_1), (j_0, j_1) = sch.split(i, [None, 8]), sch.split(j, [None, 16])
    sch.reorder(i_0, j_0, i_1, j_1, k)
    local = sch.cache_write(block, 0, "global")
    sch.reverse_compute_at(local, j_0)
    update, copy = features(sch)
    assert picked(update, "alloc_size", "alloc_outer_prod", "alloc_inner_prod") == (
        8 * 16 * 4,
        8 * 4,
        8 * 16 * 64,
    )
    # i_0 * 8 + i_1 of A and j_0 * 16 + j_1 of B are computed; C_global is indexed from its region.
    assert picked(update, "int_addsub", "int_mul") == (2 * 64**3, 2 * 64**3)
    # The region is used again in each iteration of j_0.
    assert picked(copy, "alloc_size", "B0.write", "B1.loop", "B1.ct") == (64 * 64 * 4, 1, 1, 4)


def test_data_are_used_again_by_a_later_store() -> None:
    first, second, third = features("""
        for i in range(64):
            for j in range(16):
                B[i, j] = A[i, j] * T.float32(2)
            for j in range(16):
                C[j] = A[i, j] + B[i, j]
            for j in range(8):
                B[i, j] = A[i, j]
    """)
    assert first["B0.none"] == 1
    # A: 16 iterations ago, while the first store touched 2 and this one 3 * 16 elements in a row.
    assert picked(second, "B0.serial", "B0.ct", "B0.dis_iter") == (1, 1, 16)
    assert second["B0.dis_bytes"] == 4 * (16 + 16 + 16 + 16) + 4 * 16 // 64
    assert picked(third, "B0.serial", "B0.ct", "B0.dis_iter") == (1, 2, 8)


def test_threads_are_one_loop_for_each_axis() -> None:
    sch = Schedule(matmul(64))
    block = sch.get_block("C")
    shared = sch.cache_read(block, 0, "shared")
    i, j, k = sch.get_loops(block)
    i_0, i_1 = sch.split(i, [None, 16])
    sch.reorder(i_0, i_1, j, k)
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "vthread.x")
    sch.bind(j, "threadIdx.x")
    sch.compute_at(shared, j)
    sch.bind(sch.get_loops(shared)[-1], "threadIdx.x")
    copy, update = features(sch, "cuda")
    for row in (copy, update):
        threads = ("is_gpu", "blockIdx.x", "blockIdx.y", "threadIdx.x", "vthread")
        assert picked(row, *threads) == (1, 4, 1, 64, 16)
    assert copy["outer_prod"] == 4 * 16 * 64 * 16  # the inner loop of threadIdx.x counts once
    assert features(sch)[0]["threadIdx.x"] == 1  # not for a processor


def test_the_stride_of_digits_is_that_of_the_first_iterations() -> None:
    (row,) = features("for i in range(64):\n    B[i // 8, i % 8] = A[i % 4 * 16, i // 4]")
    assert picked(row, "B0.stride", "B1.stride") == (16 * 64, 1)
    (row,) = features("for i in range(64):\n    B[i, 0] = A[T.min(i, 3), T.max(i, 2)]")
    assert picked(row, "B0.stride", "B1.stride") == (64, 64)


@pytest.mark.parametrize("value", ["T.float32(1)", 'T.Cast("float32", 1)'])
def test_a_store_of_a_constant_has_no_row(value: str) -> None:
    assert features(f"for i in range(64):\n    C[i] = {value}") == []


def test_sizes_that_are_not_known_count_once() -> None:
    n = te.var("n")
    A = te.placeholder((n, 4), name="A")
    B = te.compute((n, 4), lambda i, j: A[i, j] + 1.0, name="B")
    (row,) = features(te.create_prim_func([A, B]))
    assert picked(row, "outer_prod", "B0.unique_bytes") == (4, 16)


def test_loops_without_iterations_touch_nothing() -> None:
    (row,) = features("for j in range(0, -1):\n    C[j] = C[j] + T.float32(1)")
    assert picked(row, "B0.unique_bytes", "B0.bytes", "outer_prod") == (0, 4, 1)


def test_features_follow_a_schedule_that_changes() -> None:
    sch, context, extractor = Schedule(matmul(64)), TuneContext(target="llvm"), PerStoreFeature()
    candidates = [MeasureCandidate(sch, None)]
    before, again = (extractor.extract_from(context, candidates)[0].numpy() for _ in range(2))
    assert (before == again).all()
    sch.parallel(sch.get_loops(sch.get_block("C"))[0])
    after = extractor.extract_from(context, candidates)[0].numpy()
    assert after[0, NAMES.index("parallel_num")] == 1
    assert before[0, NAMES.index("parallel_num")] == 0


def test_a_program_that_is_nested_too_deeply_is_refused() -> None:
    C = tir.decl_buffer((4,), name="C")
    body: Any = BufferStore(C, tir.const(1.0, "float32"), (tir.const(0, "int32"),))
    for _ in range(60_000):
        body = tir.IfThenElse(tir.Var("c", "bool"), body, None)
    func = PrimFunc((), body, {})
    with pytest.raises(LoweringError, match=r"(?s)extract the features.*nested too deeply"):
        stores.read(func)


def test_the_size_of_rows_follows_the_options() -> None:
    extractor = PerStoreFeature(2, 4, cache_line_bytes=128)
    (rows,) = extractor.extract_from(
        TuneContext(target="llvm"), [MeasureCandidate(Schedule(matmul(64)), None)]
    )
    assert rows.shape == (1, 64 + 2 * 18 + 4)


@pytest.mark.parametrize(
    ("create", "message"),
    [
        (lambda: PerStoreFeature(0), "buffers_per_store is 0, expected a number"),
        (
            lambda: PerStoreFeature(cache_line_bytes="1"),
            "PerStoreFeature is '1', expected",
        ),
        (lambda: PerStoreFeature(extract_workload=True), "features of the unscheduled program"),
        (lambda: feature_extractor.create("per-store"), "'per-store' is not a feature extractor"),
    ],
)
def test_extractors_refuse_bad_options(create: Callable[[], Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        create()
