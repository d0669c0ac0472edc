"""The memory of tensors, before and after it is planned."""

import pytest

from te_sched import relax, tir
from te_sched.relax.analysis import estimate_memory_usage
from tests.relax.transform.lowered import after, chained


@pytest.mark.parametrize(
    ("last", "planned", "share"), [("CallTIRRewrite", 5, 100), ("StaticPlanBlockMemory", 3, 60)]
)
def test_storages_that_are_shared_count_once(last, planned, share):
    text = estimate_memory_usage(after(chained(4), last))
    assert "Without memory planning, there are 5 constant-size memory allocation(s)" in text
    assert f"With memory planning, there are {planned} constant-size" in text
    assert f"reduces constant memory size to {share:.1f}%" in text


def test_sizes_that_are_not_known_are_counted_apart():
    x = relax.Var("x", relax.TensorStructInfo([tir.Var("n", "int64")], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    text = estimate_memory_usage(after(builder.get(), "CallTIRRewrite"))
    assert "total size 0.0 GB, and 1 dynamic-size allocation(s)" in text


def test_a_function_is_reported_without_its_module():
    text = estimate_memory_usage(after(chained(1), "CallTIRRewrite")["main"])
    assert text.startswith("Memory usage estimation:\n- Function foo:\n")
