"""Intrinsics of TensorIR: those that are registered, and what a description stands for."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import tir
from te_sched.errors import DeclarationError, ScheduleError
from te_sched.tensorir.intrinsics import _BROUGHT, Mismatch, matched
from tests.tensorir.programs import function, program
from tests.tensorir.schedules import scheduled


@pytest.mark.parametrize("name", _BROUGHT)
def test_descriptions_and_implementations_agree(name: str) -> None:
    intrinsic = tir.TensorIntrin.get(name)
    assert tir.TensorIntrin.get(name) is intrinsic
    roots = [func.body.block for func in (intrinsic.desc, intrinsic.impl)]
    assert str(roots[0].writes) == str(roots[1].writes)
    assert str(roots[0].reads) == str(roots[1].reads)
    with pytest.raises(ScheduleError, match="is registered already"):
        tir.TensorIntrin.register(name, intrinsic.desc, intrinsic.impl)


def test_an_unknown_name_is_a_value_error() -> None:
    with pytest.raises(DeclarationError, match=r"did you mean 'dot_16x4_vnni'"):
        tir.TensorIntrin.get("dot_16x4_vnn")
    with pytest.raises(ValueError, match="there is no intrinsic"):
        tir.TensorIntrin.get("none")
    assert tir.TensorIntrin.get("none", allow_missing=True) is None


def copied(value: str, buffers: str = "A:4 B:4") -> Any:
    """A function of a loop around a block B, which stores a value."""
    body = 'with T.block("root"):\n    for i in range(4):\n        with T.block("B"):\n'
    body += f"            vi = T.axis.spatial(4, i)\n            B[vi] = {value}\n"
    return program(function(buffers, body))


@pytest.mark.parametrize(
    ("name", "desc", "impl", "message"),
    [
        (3, copied("A[vi]"), copied("A[vi]"), "the name of an intrinsic is 3"),
        ("own", copied("A[vi]"), 3, "impl of intrinsic own is an int"),
        ("own", copied("A[vi]"), copied("A[vi]", "A:5 B:4"), "have other parameters"),
        ("own", copied("A[vi]"), copied("1.0", "B:4"), "have other parameters"),
    ],
)
def test_registrations_are_rejected(name: Any, desc: Any, impl: Any, message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        tir.TensorIntrin.register(name, desc, impl)
    assert tir.TensorIntrin.get("own", allow_missing=True) is None


# A program with the loop of `copied` in a loop over rows.
ROWS = """
for r in range(8):
    for i in range(4):
        with T.block("B"):
            vr = T.axis.spatial(8, r)
            vi = T.axis.spatial(4, i)
            B[vr, vi + 2] = {value}
"""


def match(desc: Any, value: str, rows: str = "") -> dict[str, tuple[str, str]]:
    """What the buffers of a description stand for in the rows of a program."""
    sch = scheduled(function("A:8,8 B:8,8", (rows or ROWS).format(value=value)))
    loop = sch.get_loops("B")[1]
    sch.blockize(loop)
    target = sch.get(sch.get_loops("B")[-1])
    matches = matched(desc.body.block.body, target)
    return {
        desc.name: (matches[desc].buffer.name, str(list(matches[desc].begin))) for desc in matches
    }


def test_buffers_and_the_indices_at_which_they_begin() -> None:
    matches = match(copied("A[vi] + 1.0"), "A[vr, vi + 1] + 1.0")
    assert matches == {"A": ("A", "[vr_o, 1]"), "B": ("B", "[vr_o, 2]")}


@pytest.mark.parametrize(
    ("described", "value"),
    [
        ("A[vi] + 1.0", "A[vr, vi] + 2.0"),
        ("A[vi] + 1.0", "A[vr, vi] - 1.0"),
        ("A[vi] + A[vi]", "A[vr, vi] + A[vr, vi + 1]"),
        ("A[vi]", "A[vr, vi * 2]"),
        ("A[vi]", "A[vi, vr]"),
        ("A[vi]", "T.Cast('float32', vi)"),
    ],
)
def test_programs_that_compute_something_else(described: str, value: str) -> None:
    with pytest.raises(Mismatch, match="where the description has"):
        match(copied(described), value)


def test_iterators_of_another_kind() -> None:
    rows = ROWS.replace("vi = T.axis.spatial", "vi = T.axis.opaque")
    assert match(copied("A[vi]"), "A[vr, vi]")
    with pytest.raises(Mismatch, match="where the description has"):
        match(copied("A[vi]"), "A[vr, vi]", rows)
