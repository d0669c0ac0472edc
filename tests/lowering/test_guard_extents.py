"""Ragged loops in uneven tiles: the extent is read only for rows that exist."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import BuildError
from te_sched.lowering.guard_extents import guard_extents

ROWS, COLUMNS = 7, 5


def ragged() -> tuple[Any, list[Any]]:
    """Y[i] = sum of the first M[i] elements of row i of X."""
    x = te.placeholder((ROWS, COLUMNS), name="X")
    m = te.placeholder((ROWS,), "int32", name="M")
    total = te.compute((ROWS,), lambda i: _sum(x, m, i), name="Y")
    return total, [x, m, total]


def _sum(x: Any, m: Any, i: Any) -> Any:
    k = te.reduce_axis((0, m[i]), name="k")
    return te.sum(x[i, k], axis=k)


def run(s: Any, args: list[Any]) -> None:
    x = np.random.default_rng(0).random((ROWS, COLUMNS), "float32")
    # beyond the end of M lies a number that no row has: who reads it, reads far beyond X
    memory = np.array([0, 5, 2, 3, 1, 4, 5] + [10**9] * 8, "int32")
    out = np.full(ROWS, np.nan, "float32")
    te_sched.build(s, args)(x, memory[:ROWS], out)
    expected = [row[:count].sum() for row, count in zip(x, memory, strict=False)]
    np.testing.assert_allclose(out, expected, rtol=1e-5)


def split_rows(s: Any, y: Any) -> None:
    s[y].split(y.op.axis[0], 4)


def split_both(s: Any, y: Any) -> None:
    s[y].split(y.op.axis[0], 4)
    s[y].split(y.op.reduce_axis[0], 2)


def parallel_rows(s: Any, y: Any) -> None:
    outer, _ = s[y].split(y.op.axis[0], 4)
    s[y].parallel(outer)


def cached(s: Any, y: Any) -> None:
    local = s.cache_write(y, "local")
    outer, _ = s[y].split(y.op.axis[0], 4)
    s[local].compute_at(s[y], outer)


def unrolled(s: Any, y: Any) -> None:
    _, inner = s[y].split(y.op.axis[0], 3)
    s[y].unroll(inner)


@pytest.mark.parametrize("change", [split_rows, split_both, parallel_rows, cached, unrolled])
def test_ragged_extents_in_uneven_tiles(change: Any) -> None:
    y, args = ragged()
    s = te.create_schedule(y.op)
    change(s, args[-1])
    run(s, args)


def test_an_extent_that_is_read_beyond_its_tensor_is_refused() -> None:
    m = te.placeholder((ROWS - 1,), "int32", name="M")
    x = te.placeholder((ROWS, COLUMNS), name="X")
    y = te.compute((ROWS,), lambda i: _sum(x, m, i), name="Y")
    with pytest.raises(BuildError, match="reads M at 6 in dimension 0"):
        te_sched.build(te.create_schedule(y.op), [x, m, y])


def test_a_guard_is_put_round_a_loop_whose_extent_reads() -> None:
    y, args = ragged()
    s = te.create_schedule(y.op)
    split_rows(s, y)
    before = te_sched.lower(s, args, stop_after="schedule_ops")["main"]
    after = str(guard_extents(before))
    loop = after.index("T.serial(M[") if "T.serial(M[" in after else after.index("range(M[")
    assert "if T.likely(" in after[:loop]


def test_programs_whose_extents_read_nothing_stay() -> None:
    x = te.placeholder((ROWS,), name="X")
    y = te.compute((ROWS,), lambda i: x[i], name="Y")
    s = te.create_schedule(y.op)
    split_rows(s, y)
    func = te_sched.lower(s, [x, y], stop_after="schedule_ops")["main"]
    assert guard_extents(func) is func
