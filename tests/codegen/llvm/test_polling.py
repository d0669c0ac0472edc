"""Long loops run in parts, between which they poll; what they compute is the same."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.codegen.llvm import polling

N = 37


def sums(n: Any, m: Any, parallel: bool = False) -> te_sched.runtime.Module:
    """The sum of each row of an n x m matrix."""
    a = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    b = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    if parallel:
        s[b].parallel(b.op.axis[0])
    return te_sched.build(s, [a, b])


def polls(module: te_sched.runtime.Module) -> int:
    """How often the body of a program calls `poll`, which is cold."""
    return module.get_source().count("memory(inaccessiblemem: readwrite)")


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("PART", 8), ("_LONG", 16), ("_LONG_INNERMOST", 16)):
        monkeypatch.setattr(polling, name, value)


@pytest.mark.usefixtures("short_parts")
@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("sizes", [(N, N), (te.var("n"), N), (te.var("n"), te.var("m"))])
def test_loops_in_parts_compute_the_same(sizes: tuple[Any, Any], parallel: bool) -> None:
    with te_sched.config.scoped(cache=False):
        module = sums(*sizes, parallel)
    assert polls(module) > 0
    x, y = np.random.default_rng(0).random((N, N), "float32"), np.zeros(N, "float32")
    module(x, y)
    np.testing.assert_allclose(y, x.sum(1), rtol=1e-5)


@pytest.mark.usefixtures("short_parts")
@pytest.mark.parametrize("extent", ["i + 1", "N - i", "n[i]"])
def test_loops_whose_extent_the_outer_one_gives(extent: str) -> None:
    def fill(ins: Any, outs: Any) -> Any:
        ib = te_sched.tir.ir_builder.create()
        n, b = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, N, name="i") as i:
            b[i] = 0
            with ib.for_range(0, eval(extent, {"i": i, "n": n, "N": N}), name="j"):
                b[i] = b[i] + 1
        return ib.get()

    n = te.placeholder((N,), name="n", dtype="int32")
    b = te.extern((N,), [n], fill, name="B", dtype="int32")
    counts, result = np.arange(N, dtype="int32")[::-1].copy(), np.zeros(N, "int32")
    with te_sched.config.scoped(cache=False):
        te_sched.build(te.create_schedule(b.op), [n, b])(counts, result)
    expected = [eval(extent, {"i": i, "n": counts, "N": N}) for i in range(N)]
    np.testing.assert_array_equal(result, expected)


def test_loops_of_a_moment_never_poll() -> None:
    assert polls(sums(1 << 10, 1 << 12)) == 0
    assert polls(sums(1 << 14, 1 << 12)) == 1


def test_loops_around_parts_of_open_sizes_count_their_steps() -> None:
    """They polled after each of their iterations, which cost more than the iterations."""
    n, m, k = te.var("n"), te.var("m"), te.reduce_axis((0, 16), "k")
    a = te.placeholder((n, m), name="A")
    b = te.compute((n, m // 16), lambda i, j: te.sum(a[i, j * 16 + k], axis=k), name="B")
    with te_sched.config.scoped(cache=False):
        module = te_sched.build(te.create_schedule(b.op), [a, b])
    parts = re.findall(r"sadd\.sat\.i32\(i32 \S+, i32 (\d+)\)", module.get_source())
    assert min(map(int, parts), default=polling.PART) > 1000
    x, y = np.random.default_rng(0).random((9, 40), "float32"), np.zeros((9, 2), "float32")
    module(x, y)
    np.testing.assert_allclose(y, x[:, :32].reshape(9, 2, 16).sum(2), rtol=1e-5)
