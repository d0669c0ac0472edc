"""Methods of classes of the IR that modules above implement."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from te_sched import nd, tir
from te_sched.late_methods import _METHODS, _PROPERTIES, give_methods
from te_sched.lazy_loading import load
from te_sched.script import from_source

NUMBERS = np.arange(6, dtype="int32").reshape(2, 3)
MAP = tir.IndexMap.from_func(lambda i, j: [j, i])
FUSED = tir.IndexMap.from_func(lambda i, j: [i * 4 + j])


@pytest.mark.parametrize(
    ("kind", "name", "place", "summary"),
    [*_METHODS, *_PROPERTIES],
    ids=[f"{row[0].__name__}.{row[1]}" for row in (*_METHODS, *_PROPERTIES)],
)
def test_methods_lead_to_functions_of_as_many_arguments(
    kind: type, name: str, place: str, summary: str
) -> None:
    give_methods()
    assert vars(kind)[name].__doc__ == summary
    assert [*inspect.signature(load(place)).parameters], "the object itself"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (lambda: [*map(int, FUSED.map_shape([2, 4]))], [8]),
        (lambda: [*map(int, FUSED.map_indices([1, 3]))], [7]),
        (lambda: MAP.inverse([2, 3]).is_equivalent_to(MAP), True),
        (lambda: MAP.map_ndarray(nd.array(NUMBERS)).numpy().tolist(), [[0, 3], [1, 4], [2, 5]]),
        (lambda: int(tir.decl_buffer((4, 8)).offset_of([2, 3])[0]), 19),
    ],
)
def test_methods_compute(value, expected) -> None:
    assert value() == expected


def test_properties_ask_their_object() -> None:
    func = from_source(
        '@T.prim_func\ndef f(A: T.Buffer((4,), "int8"), n: T.int32):\n    A[0] = T.int8(1)\n'
    )
    assert len(func.struct_info.params) == 2
