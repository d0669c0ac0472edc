"""Passes by TVM's names."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import IRModule, tir
from te_sched.errors import DeclarationError, LoweringError
from te_sched.script import tir as T
from te_sched.target import Target
from tests.transformed import functions


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


def test_targets_are_bound_to_functions():
    target = Target("cuda", host="llvm")
    bind = tir.transform.BindTarget(target)
    assert bind(functions())["f"].attrs["target"] == Target("cuda")
    assert bind(functions(global_symbol="f"))["f"].attrs["target"] == target
    kept = bind(functions(global_symbol="f", target=Target("llvm")))["f"].attrs["target"]
    assert (kept.kind, kept.host) == ("llvm", Target("llvm"))


def test_the_entry_of_several_functions_is_unknown():
    annotate = tir.transform.AnnotateEntryFunc()
    assert annotate(functions())["f"].attrs["tir.is_entry_func"]
    two = te_sched.IRModule({name: functions()["f"] for name in "fg"})
    with pytest.raises(LoweringError, match="cannot choose the entry function"):
        annotate(two)


def two_functions(*named: str) -> IRModule:
    func = tir.PrimFunc((), tir.Evaluate(0), {})
    return IRModule(
        {one: func.with_attr("global_symbol", one) if one in named else func for one in "fg"}
    )


def test_functions_that_callers_see_get_the_host_of_a_target() -> None:
    cuda = Target("cuda", host="llvm")
    bound = tir.transform.BindTarget(cuda)(two_functions("f"))
    assert bound["f"].attrs["target"].host is not None
    assert bound["g"].attrs["target"].host is None
    again = tir.transform.BindTarget(Target("llvm", host="llvm"))(bound)
    assert [again[name].attrs["target"].kind for name in "fg"] == ["cuda", "cuda"]
    plain = two_functions("f")["f"].with_attr("target", Target("cuda"))
    hosted = tir.transform.BindTarget(cuda)(IRModule({"f": plain}))["f"].attrs["target"]
    assert hosted.host is not None


def test_the_function_with_a_symbol_is_the_entry() -> None:
    module = tir.transform.AnnotateEntryFunc()(two_functions("g"))
    assert "tir.is_entry_func" in module["g"].attrs
    assert "tir.is_entry_func" not in module["f"].attrs


@pytest.mark.parametrize("named", ["", "fg"])
def test_an_entry_must_be_the_only_candidate(named: str) -> None:
    with pytest.raises(LoweringError, match="cannot choose the entry function"):
        tir.transform.AnnotateEntryFunc()(two_functions(*named))


def test_pragmas_of_loops_without_blocks_become_attributes() -> None:
    @T.prim_func
    def clear(A: T.Buffer((8,), "int32")):
        for i in T.serial(8, annotations={"pragma_loop_partition_hint": 1}):
            A[i] = 0

    new = tir.transform.LowerOpaqueBlock()(IRModule({"main": clear}))["main"].body
    assert (new.attr_key, new.body.annotations) == ("pragma_loop_partition_hint", {})
