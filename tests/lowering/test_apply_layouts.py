"""Accesses of rearranged tensors follow their layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched.errors import LoweringError
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.ops import convert
from te_sched.ir.stmt import Stmt
from te_sched.lowering.apply_layouts import apply_layouts
from te_sched.schedule.layouts import LayoutMap, layout_map
from tests.lowering.build import (
    attribute,
    block,
    function,
    loop,
    read,
    realize,
    region,
    store,
    temporary,
    text,
)

A, B = temporary("A", 12, 8), temporary("B", 12, 8)
i, j = Var("i"), Var("j")


def layout(rule: Callable[[Any, Any], list[Any]], *extents: int) -> LayoutMap:
    x, y = Var("x"), Var("y")
    sizes = list(map(IntImm, extents or (12, 8)))
    return layout_map((x, y), sizes, tuple(map(convert, rule(x, y))), (), "here")


TURNED = layout(lambda x, y: [y, x])
COPY = loop(i, 12, loop(j, 8, store(B, read(A, i, j), i, j)))


def applied(body: Stmt, *layouts: LayoutMap) -> str:
    return text(apply_layouts(function(body, B), {A: layouts}))


def test_the_whole_tensor_exists_in_its_new_shape() -> None:
    body = realize(A, region((2, 4), (0, 8)), block(store(A, 1.0, 2, j), COPY))
    found = applied(body, layout(lambda x, y: [x // 4, y, x % 4]))
    assert "A[0:3, 0:8, 0:4]" in found
    assert "A[T.FloorDiv(2, 4), j, T.FloorMod(2, 4)] = " in found
    assert "A[i // 4, j, i % 4]" in found


def test_parameters_and_attributes_follow() -> None:
    marked = attribute(A, "double_buffer_scope", 1, store(A, 1.0, 3, j))
    func = apply_layouts(function(marked, A), {A: (TURNED,)})
    (buffer,) = func.buffer_map.values()
    assert [str(extent) for extent in buffer.shape] == ["8", "12"]
    assert func.body.node is buffer
    assert func.body.body.buffer is buffer


def test_layouts_of_layouts_are_applied_in_turn() -> None:
    second = layout(lambda x, y: [x // 2, y, x % 2], 8, 12)
    found = applied(store(B, read(A, i, j), i, j), TURNED, second)
    assert found.endswith("B[i, j] = A[j // 2, i, j % 2]")


def test_other_buffers_stay() -> None:
    func = function(store(B, 1.0, i, j), B)
    assert apply_layouts(func, {}) is func
    assert apply_layouts(func, {A: (TURNED,)}).body is func.body


@pytest.mark.parametrize(
    ("node", "key", "user"),
    [
        (A, "buffer_dim_align", "storage_align or prefetch"),
        ((B, A), "buffer_bind_scope", "an extern operation or a tensor intrinsic"),
    ],
)
def test_users_of_the_declared_dimensions_are_refused(node: Any, key: str, user: str) -> None:
    with pytest.raises(LoweringError, match=user):
        applied(attribute(node, key, 1, store(A, 1.0, i, j)), TURNED)
