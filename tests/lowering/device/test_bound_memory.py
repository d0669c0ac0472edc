"""Memory of kernels gets constant sizes."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.ir.expr import Var
from te_sched.ir.ops import TRUE, convert, minimum
from te_sched.ir.stmt import Allocate, PrimFunc
from te_sched.ir.visitor import statements
from te_sched.lowering.device.bound_memory import bound_memory
from tests.lowering.build import EFFECT, function, loop, temporary, thread

n, bx, i = Var("n"), Var("bx"), Var("i")


def sized(*extents: Any) -> PrimFunc:
    """Memory of this size, in a loop of a block."""
    data = temporary("w", 1, scope="shared").data
    room = Allocate(data, "float32", tuple(map(convert, extents)), TRUE, EFFECT)
    return function(thread("blockIdx.x", 8, bx, loop(i, 5, room)), n)


def extents(func: PrimFunc) -> list[str]:
    (room,) = [node for node in statements(func.body) if type(node) is Allocate]
    return [str(extent) for extent in room.extents]


@pytest.mark.parametrize(
    ("extent", "most"),
    [
        (bx * 8 % 18 + 7, "24"),
        (i + bx, "11"),
        (minimum(n, 12), "12"),
        (i - 9, "1"),  # at least one element
    ],
)
def test_extents_become_their_bounds(extent: Any, most: str) -> None:
    assert extents(bound_memory(sized(extent))) == [most]


def test_each_extent_by_itself() -> None:
    assert extents(bound_memory(sized(3, bx + 1, n))) == ["3", "8", "n"]


@pytest.mark.parametrize("extent", [n, n * 4, 64])
def test_what_has_no_bound_or_is_constant_stays(extent: Any) -> None:
    func = sized(extent)
    assert bound_memory(func) is func
