"""Hybrid scripts, lowered: the text is the peer's."""

# ruff: noqa: F821

from __future__ import annotations

from typing import Any

import pytest

tvm = pytest.importorskip("tvm")

import te_sched  # noqa: E402
from tests.peer.differential.outcome import normal  # noqa: E402


def window(T: Any) -> Any:
    @T.te.hybrid.script
    def means(data):
        count = 3.0
        out = output_tensor((data.shape[0] - 2,), data.dtype)
        for i in range(data.shape[0] - 2):
            total = 0.0
            for k in range(3):
                total += data[i + k]
            total = total / count
            out[i] = total
        return out

    return means, [T.te.placeholder((T.te.var("n"),), name="data")]


def kinds_of_loops(T: Any) -> Any:
    @T.te.hybrid.script
    def kinds(data):
        x = output_tensor((6,), "int32")
        y = output_tensor((6,), "int32")
        z = output_tensor((6,), "int32")
        for i in parallel(6):
            x[i] = data[i]
        for j in vectorize(6):
            y[j] = data[j] + 1
        for k in unroll(6):
            z[k] = data[k] * 2
        return z, x, y

    return kinds, [T.te.placeholder((6,), "int32", name="data")]


def conditions(T: Any) -> Any:
    @T.te.hybrid.script
    def chosen(data, limit):
        out = output_tensor((10,), "int32")
        for i in range(10):
            if 0 <= i < 5:
                out[i] = data[i]
            elif i > 7 and i != 9:
                out[i] = -1 if data[i] % 2 == 0 else limit
            else:
                assert data[i] < 4, "too large"
                out[i] = data[i] // 2
        return out

    return chosen, [T.te.placeholder((10,), "int32", name="data"), T.tir.const(7, "int32")]


def variables_of_conditions(T: Any) -> Any:
    @T.te.hybrid.script
    def squares(data):
        out = output_tensor((4, 4), data.dtype)
        for i in parallel(4):
            first = data[i, 0]
            for k in range(4):
                out[i, k] = first
                if data[i, k] > 1.0:
                    high = data[i, 0]
                    area = high * high
                    out[i, k] = area + 1.0
                else:
                    area = first
                out[i, k] += area
        return out

    return squares, [T.te.placeholder((4, 4), name="data")]


def memory(T: Any) -> Any:
    @T.te.hybrid.script
    def blur(data):
        out = output_tensor((6, 6), "float32")
        for i in range(6):
            rows = allocate((3, 6), "float32")
            for j in range(3):
                for k in range(6):
                    rows[j, k] = data[i + j, k] + data[i + j, k + 2]
            for k in range(6):
                out[i, k] = max(rows[0, k], rows[1, k]) * sqrt(rows[2, k])
        return out

    return blur, [T.te.placeholder((8, 8), name="data")]


def scattered(T: Any) -> Any:
    @T.te.hybrid.script
    def scatter(data, places, values):
        out = output_tensor(data.shape, data.dtype)
        for i in range(data.shape[0]):
            out[i] = data[i]
        for i in range(places.shape[0]):
            out[places[i] if places[i] >= 0 else places[i] + data.shape[0]] += values[i]
        return out

    te = T.te
    places = te.placeholder((6,), "int32", name="places")
    return scatter, [te.placeholder((9,), name="data"), places, te.placeholder((6,), name="values")]


def ragged(T: Any) -> Any:
    @T.te.hybrid.script
    def sums(starts, values):
        out = output_tensor((4,), "float32")
        for i in parallel(4):
            for k in range(starts[i], starts[i + 1]):
                out[i] += values[k]
        return out

    return sums, [
        T.te.placeholder((5,), "int32", name="starts"),
        T.te.placeholder((20,), name="values"),
    ]


def threads(T: Any) -> Any:
    @T.te.hybrid.script
    def doubled(data):
        out = output_tensor((64,), "float32")
        held = allocate((64,), "float32", "shared")
        for b in bind("blockIdx.x", 2):
            for t in bind("threadIdx.x", 32):
                held[b * 32 + t] = data[b * 32 + t]
        for b in bind("blockIdx.x", 2):
            for t in bind("threadIdx.x", 32):
                out[b * 32 + t] = held[b * 32 + t] * 2.0
        return out

    return doubled, [T.te.placeholder((64,), name="data")]


def product(T: Any) -> Any:
    @T.te.hybrid.script
    def outer(x, y):
        out = output_tensor((64, 60), x.dtype)
        for i in range(64):
            for j in range(60):
                out[i, j] = x[i] * y[j]
        return out

    return outer, [T.te.placeholder((64,), name="x"), T.te.placeholder((60,), name="y")]


def tiles(T: Any, s: Any, stage: Any, i: Any, j: Any) -> None:
    outer_i, inner_i = stage.split(i, 4)
    stage.parallel(inner_i)
    outer_j, inner_j = stage.split(j, 7)
    first, second = stage.split(outer_j, 4)
    stage.vectorize(inner_j)
    stage.reorder(inner_i, outer_i, first, second, inner_j)


def uneven(T: Any, s: Any, stage: Any, i: Any, j: Any) -> None:
    stage.split(i, 3)


def one_loop(T: Any, s: Any, stage: Any, i: Any, j: Any) -> None:
    stage.split(stage.fuse(i, j), 32)


def on_threads(T: Any, s: Any, stage: Any, i: Any, j: Any) -> None:
    stage.bind(i, T.te.thread_axis("blockIdx.x"))
    stage.bind(j, T.te.thread_axis("threadIdx.x"))


def other_order(T: Any, s: Any, stage: Any, i: Any, j: Any) -> None:
    stage.reorder(j, i)
    stage.unroll(i)


SCHEDULES = [tiles, uneven, one_loop, on_threads, other_order]


@pytest.mark.parametrize("change", SCHEDULES, ids=lambda change: change.__name__)
def test_loops_of_a_script_are_scheduled_as_by_the_peer(change: Any) -> None:
    assert _text(te_sched, product, change) == _text(tvm, product, change)


PROGRAMS = [
    window,
    kinds_of_loops,
    conditions,
    variables_of_conditions,
    memory,
    scattered,
    ragged,
    threads,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_hybrid_script_is_lowered_as_by_the_peer(program: Any) -> None:
    assert _text(te_sched, program) == _text(tvm, program)


def _text(T: Any, program: Any, change: Any = None) -> str:
    script, args = program(T)
    made = script(*args)
    outs = [made] if isinstance(made, T.te.Tensor) else [*made]
    inputs = [arg for arg in args if isinstance(arg, T.te.Tensor)]
    s = T.te.create_schedule(outs[0].op)
    if change is not None:
        change(T, s, s[outs[0]], *outs[0].op.axis)
    return normal(str(T.lower(s, [*inputs, *outs], simple_mode=True)))
