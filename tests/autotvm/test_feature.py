"""Features of the loops of schedules."""

from __future__ import annotations

import random
from typing import Any

import pytest

from te_sched import te
from te_sched.autotvm import feature, record
from te_sched.autotvm.tuner import callback
from te_sched.errors import DeclarationError
from tests.autotvm.templates import records_of, task_of
from tests.autotvm.test_record import LINE


def gemm(n: int = 8) -> tuple[Any, list[Any]]:
    A, B = (te.placeholder((n, n), name=name) for name in "AB")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_schedule(C.op), [A, B, C]


def rows_of(s: Any, args: list[Any]) -> list[dict[str, list[Any]]]:
    return [{name: values for name, *values in row} for row in feature.get_itervar_feature(s, args)]


def test_rows_of_a_product() -> None:
    i, j, k = rows_of(*gemm())
    serial = [*[0] * 9, 1, 0]
    assert i["_attr_"] == [8, 1, 8, 512, *serial]
    assert (i["A_0"], i["B_0"]) == ([8, -1, 64, 8, 0, 0], [0, -1, 64, 8, 0, 0])
    assert (j["A_0"], j["B_0"]) == ([0, -1, 8, 8, 0, 0], [1, -1, 64, 1, 0, 0])
    assert (k["_attr_"][:4], k["_arith_"]) == ([8, 3, 512, 8], [1, 1, 0])
    assert k["C_0"] == k["C_1"] == [0, -1, 1, 8, 0, 0]


def test_kinds_of_loops_and_their_threads() -> None:
    s, args = gemm()
    outer, inner = s[args[2]].split(args[2].op.axis[0], 4)
    s[args[2]].parallel(outer)
    s[args[2]].vectorize(args[2].op.axis[1])
    s[args[2]].unroll(inner)
    found = rows_of(s, args)
    kinds = [row["_attr_"][4:].index(1) for row in found]
    assert kinds == [8, 6, 7, 9]
    assert (found[0]["A_0"][4:], found[0]["B_0"][4:]) == ([2, 1], [1, 2])


def test_threads_of_a_device_are_loops() -> None:
    s, args = gemm()
    C = args[2]
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    s[C].bind(C.op.axis[1], te.thread_axis("vthread"))
    kinds = [row["_attr_"][4:].index(1) for row in rows_of(s, args)]
    assert kinds == [0, 10, 9]


def test_remainders_have_a_modulus() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((6,), lambda i: A[(i * 3) % 8], name="B")
    assert rows_of(te.create_schedule(B.op), [A, B])[0]["A_0"] == [3, 8, 6, 1, 0, 0]


def test_indices_that_depend_on_data_have_no_stride() -> None:
    A, I = te.placeholder((8,), name="A"), te.placeholder((6,), name="I", dtype="int32")  # noqa: E741
    B = te.compute((6,), lambda i: A[I[i] // 2], name="B")
    assert rows_of(te.create_schedule(B.op), [A, I, B])[0]["A_0"][0] == 0


def test_all_schedules_of_a_program_have_as_many_features() -> None:
    lengths = set()
    for seed in range(8):
        s, args = gemm(12)
        C = args[2]
        axes = [*s[C].tile(*C.op.axis, 1, 4), C.op.reduce_axis[0]]
        random.Random(seed).shuffle(axes)
        s[C].reorder(*axes)
        lengths.add(len(feature.get_itervar_feature_flatten(s, args)))
    assert len(lengths) == 1


def test_flat_features_have_names() -> None:
    rows = feature.get_itervar_feature(*gemm(), take_log=True)
    flat, names = feature.flatten_itervar_feature(rows), feature.get_flatten_name(rows)
    assert len(flat) == len(names)
    assert names[:2] == ["f0.i._attr_.length", "f1.i._attr_.nest_level"]
    assert flat[0] == pytest.approx(3.1699, abs=1e-4)


def test_names_of_a_line_of_a_log() -> None:
    assert "f18.i_outer.A_0.stride" in {
        one.replace(".outer", "_outer", 1) for one in feature.get_flatten_name(LINE)
    }
    old = LINE.replace("0.2, ", "0.1, ")
    with (
        pytest.warns(UserWarning, match="no longer supported"),
        pytest.raises(DeclarationError, match="a line of a log that is too old"),
    ):
        feature.get_flatten_name(old)


def test_names_of_other_rows_are_refused() -> None:
    with pytest.raises(DeclarationError, match="has other rows than those of get_itervar_feature"):
        feature.get_flatten_name([1, 2])


def test_curves_have_a_length_by_buffers_alone() -> None:
    for n in (4, 16):
        curves = feature.get_buffer_curve_sample_flatten(*gemm(n), sample_n=5)
        assert len(curves) == 3 * 4 * 2 * 5


def test_a_log_is_enough_for_features() -> None:
    inp, result = records_of(task_of(8), [1.0])[0]
    found, _ = record.decode(record.encode(inp, result))
    assert callback.speed(found, result) == 0.0  # of a record without a count of operations
    s, args = found.task.instantiate(found.config)
    assert callback.speed(found, result) == 1024.0
    assert len(feature.get_itervar_feature(s, args)) == 5
