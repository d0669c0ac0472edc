"""Operators of planned memory: storages, tensors in them, and views."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import relax
from te_sched.errors import GraphError
from te_sched.relax.op import memory
from te_sched.relax.operators.memory import DERIVES_VIEW
from te_sched.relax.operators.registry import operator_of
from tests.relax.operator_tables import (
    Build,
    Case,
    N,
    Results,
    floats,
    inferred,
    of_rank,
    shape,
    tensor,
    text_of,
    unknown,
)

STORAGE = relax.Var("storage", relax.ObjectStructInfo())
ARRAYS: dict[str, Any] = {"x": floats(4, 3)}
CASES: dict[str, Case] = {
    "view shape": (lambda v: memory.view(v["x"], [2, 6]), lambda v: v["x"].reshape(2, 6)),
    "view part": (lambda v: memory.view(v["x"], [2, 3], None, 24), lambda v: v["x"][2:]),
    "view bytes": (
        lambda v: memory.view(v["x"], [48], "uint8"),
        lambda v: v["x"].view("uint8").ravel(),
    ),
    "view bits": (
        lambda v: memory.view(v["x"], dtype="int32"),
        lambda v: v["x"].view("int32"),
    ),
    "ensure_zero_offset": (
        lambda v: memory.ensure_zero_offset(memory.view(v["x"], [1], None, 44)),
        lambda v: v["x"][3, 2:],
    ),
}
RESULTS = Results(ARRAYS, CASES)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    RESULTS.check(name)


X = tensor(4, 3)
INFERRED: list[tuple[Build, str]] = [
    (lambda: memory.alloc_storage([4], 0, "global", "uint8"), "R.Object"),
    (lambda: memory.alloc_tensor(STORAGE, 0, (N, 2), "int8"), text_of("n, 2", "int8")),
    (lambda: memory.kill_storage(STORAGE), "R.Tuple"),
    (lambda: memory.kill_tensor(X), "R.Tuple"),
    (lambda: memory.view(X, [12]), text_of("12,")),
    (lambda: memory.view(X, [2], "int32", 8), text_of("2,", "int32")),
    (lambda: memory.view(X, shape(ndim=1)), 'R.Tensor(s, dtype="float32")'),
    (lambda: memory.view(unknown(2), dtype="int32"), of_rank(2, "int32")),
    (lambda: memory.view(X, [11], "uint8", N), text_of("11,", "uint8")),
    (lambda: memory.ensure_zero_offset(X), text_of("4, 3")),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


REFUSED: list[tuple[Build, str]] = [
    (lambda: memory.view(X, X), "expected a shape"),
    (lambda: memory.view(X, [13]), "relax.memory.view makes"),
    (
        lambda: memory.view(X, [12], None, 4),
        "relax.memory.view makes",
    ),
    (lambda: memory.view(X, [2], None, -4), "offset of relax.memory.view is -4"),
    (lambda: memory.view(unknown(), relative_byte_offset=4), "moves R.Tensor.* by 4 bytes"),
    (lambda: memory.view(tensor(N, dtype=""), (N // 4 + 1, 4)), "relax.memory.view makes"),
]


@pytest.mark.parametrize(("build", "text"), REFUSED)
def test_calls_are_refused(build: Build, text: str) -> None:
    with pytest.raises(GraphError, match=text):
        inferred(build())


VIEW = 'R.call_packed("runtime.TVMArrayCreateView"'
LOWERED: list[tuple[Build, str]] = [
    (
        lambda: memory.alloc_storage([4], 1, "shared", "float32"),
        'R.vm.alloc_storage(R.shape([4]), R.prim_value(1), R.dtype("uint8"), R.str("shared"))',
    ),
    (
        lambda: memory.alloc_tensor(STORAGE, 4, [2], "int8"),
        'R.vm.alloc_tensor(storage, R.prim_value(4), R.shape([2]), R.dtype("int8"))',
    ),
    (lambda: memory.kill_storage(STORAGE), "R.vm.kill_object(storage)"),
    (lambda: memory.kill_tensor(X), "R.vm.kill_object(x)"),
    (
        lambda: memory.view(X, [12]),
        f'{VIEW}, x, R.shape([12]), R.dtype("float32"), R.prim_value(0))',
    ),
    (
        lambda: memory.view(X, dtype="int32", relative_byte_offset=0),
        f'{VIEW}, x, R.shape([4, 3]), R.dtype("int32"), R.prim_value(0))',
    ),
]


@pytest.mark.parametrize(("build", "text"), LOWERED)
def test_lowered_calls(build: Build, text: str) -> None:
    call = build()
    lower = operator_of(call.op).lower
    assert lower is not None
    assert str(lower(call)) == text


def test_views_that_are_functions_infer_as_the_operator() -> None:
    call = memory.view(X, [2], "int32", 8)
    lower = operator_of(call.op).lower
    assert lower is not None
    assert lower(call).op.struct_info.derive_func == DERIVES_VIEW
    assert str(inferred(lower(call))) == str(inferred(call))
