"""Which modules are one workload."""

from __future__ import annotations

import pytest

from te_sched.errors import DeclarationError
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.database.equality import ModuleEquality
from te_sched.script import from_source

SOURCE = """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
    constant = T.allocate_const([1, 2], "float32", [2])
    table = T.decl_buffer((2,), "float32", data=constant)
    for i, k in T.grid(4, 8):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
    for i in range(4):
        with T.block("scaled"):
            vi = T.axis.spatial(4, i)
            C[vi] = C[vi] * table[0]
"""


def changed(old: str = "", new: str = "") -> IRModule:
    """The module, with a part of its text changed."""
    assert old in SOURCE
    return IRModule({"main": from_source(SOURCE.replace(old, new) if old else SOURCE)})


@pytest.mark.parametrize(
    ("change", "equal"),
    [
        (("", ""), {"structural", "ignore-ndarray", "anchor-block"}),
        (("constant", "other"), {"structural", "ignore-ndarray", "anchor-block"}),
        (("[1, 2]", "[1, 3]"), {"ignore-ndarray", "anchor-block"}),
        (('[1, 2], "float32", [2]', '[1, 2, 3], "float32", [3]'), {"anchor-block"}),
        (("C[vi] * table", "C[vi] + table"), {"anchor-block"}),
        (("C[vi] + A[vi, vk]", "C[vi] - A[vi, vk]"), set()),
    ],
)
@pytest.mark.parametrize("kind", ["structural", "ignore-ndarray", "anchor-block"])
def test_kinds_of_equality(change: tuple[str, str], equal: set[str], kind: str) -> None:
    equality, first, second = ModuleEquality(kind), changed(), changed(*change)
    assert equality.equal(first, second) == (kind in equal)
    assert (equality.hash(first) == equality.hash(second)) == (kind in equal)


def test_modules_without_an_anchor_are_compared_as_a_whole() -> None:
    copy = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        C[i] = A[i]
"""
    first, second = (IRModule({"main": from_source(copy.replace("4", n))}) for n in "45")
    assert ModuleEquality("anchor-block").equal(first, first)
    assert not ModuleEquality("anchor-block").equal(first, second)


def test_another_kind_is_rejected() -> None:
    with pytest.raises(DeclarationError, match="'exact' is not a module equality"):
        ModuleEquality("exact")
