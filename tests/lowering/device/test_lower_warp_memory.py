"""Memory of a warp becomes registers of its lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched.errors import BuildError
from te_sched.ir.expr import Expr, Var
from te_sched.ir.stmt import PrimFunc
from te_sched.lowering.device.lower_warp_memory import lower_warp_memory
from tests.lowering.build import allocate, block, function, loop, read, store, temporary, thread

A, B = temporary("A", 64), temporary("B", 64)
tx, i = Var("tx"), Var("i")


def through_warp(
    place: Callable[[Any], Expr], wanted: Expr, each: int = 1, threads: int = 32
) -> PrimFunc:
    """Each lane keeps `each` elements, and takes one of another's."""
    w = temporary("w", 64, scope="warp")
    keep = loop(i, each, store(w, read(A, place(i)), place(i)))
    body = allocate(w, block(keep, store(B, read(w, wanted), tx)))
    return function(thread("threadIdx.x", threads, tx, body), A, B)


def text(func: PrimFunc) -> str:
    return str(lower_warp_memory(func))


def test_each_lane_keeps_its_own() -> None:
    found = text(through_warp(lambda i: tx + i, 31 - tx))
    assert "w_1[0] = A[tx" in found
    assert 'scope="local"' in found
    assert "T.tvm_warp_shuffle(T.uint32(4294967295), w_1[0], 31 - tx, 32, 32)" in found


def test_neighboring_elements_are_of_one_lane() -> None:
    found = text(through_warp(lambda i: tx * 2 + i, tx * 2, each=2))
    assert "w_1[i] = A[tx * 2 + i]" in found
    assert "B[tx] = w_1[0]" in found  # its own: no shuffle


def test_small_blocks_have_narrow_warps() -> None:
    found = text(through_warp(lambda i: tx + i, 7 - tx, threads=8))
    assert "7 - tx, 8, 32)" in found
    assert "tvm_warp_activemask" in found


def test_other_kernels_stay() -> None:
    func = function(thread("threadIdx.x", 32, tx, store(B, read(A, tx), tx)), A, B)
    assert lower_warp_memory(func) is func


@pytest.mark.parametrize(
    ("place", "threads", "why"),
    [
        (lambda i: tx + i, 24, "threadIdx.x has extent 24"),
        (lambda i: i, 32, r"not a multiple of threadIdx\.x"),
        (lambda i: tx + i + 1, 32, "by a lane that does not own it"),
    ],
)
def test_stores_of_others_elements_are_refused(place: Any, threads: int, why: str) -> None:
    with pytest.raises(BuildError, match=why):
        lower_warp_memory(through_warp(place, tx, threads=threads))
