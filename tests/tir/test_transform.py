"""Passes by TVM's names."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.errors import DeclarationError, LoweringError
from te_sched.ir.stmt import IRModule


def test_apply_and_filter_take_functions() -> None:
    module = IRModule({name: tir.PrimFunc((), tir.Evaluate(0), {}) for name in "fg"})
    marked = tir.transform.Apply(lambda func: func.with_attr("marked", 1))(module)
    assert [marked[name].attrs["marked"] for name in "fg"] == [1, 1]
    assert tir.transform.Filter(lambda func: False)(module).functions == {}


def test_passes_have_tvms_names() -> None:
    for name in ("Simplify", "StorageRewrite", "UnrollLoop", "LowerInitBlock", "ConvertSSA"):
        assert getattr(tir.transform, name)().info.name == f"tir.{name}"


@pytest.mark.parametrize("name", ["AnnotateDeviceRegions", "LowerThreadAllreduce", "LowerIntrin"])
def test_passes_for_a_target_refuse_functions_without_one(name: str) -> None:
    module = IRModule({"f": tir.PrimFunc((), tir.Evaluate(0), {})})
    with pytest.raises(DeclarationError, match="function main has no target, "):
        getattr(tir.transform, name)()(module)


def test_indices_are_narrowed_to_types_that_there_are() -> None:
    with pytest.raises(LoweringError, match="cannot narrow indices to 8 bits"):
        tir.transform.NarrowDataType(8)


def test_the_entry_of_several_functions_must_be_visible() -> None:
    module = IRModule({name: tir.PrimFunc((), tir.Evaluate(0), {}) for name in "fg"})
    with pytest.raises(LoweringError, match="cannot choose the entry function of a module of 2"):
        tir.transform.AnnotateEntryFunc()(module)
