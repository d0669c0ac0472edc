"""Reshapes that are found."""

import pytest

from te_sched import relax
from tests.relax.described import described
from tests.relax.transform.lowered import INFO, after


def test_reshapes_are_found():
    x = relax.Var("x", INFO)
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            lv = builder.emit(relax.op.reshape(x, [2, 2]))
            out = builder.emit_output(relax.op.exp(lv))
        builder.emit_func_output(out)
    module = after(builder.get(), "RewriteDataflowReshape")
    assert described(module["main"]).startswith("(x) lv = reshape(x, ")


@pytest.mark.parametrize(
    ("name", "arguments", "is_view"),
    [
        ("expand_dims", [0], True),
        ("flatten", [], True),
        ("permute_dims", [], False),
        ("flip", [0], False),
    ],
)
def test_operators_that_keep_the_order_of_elements_are_reshapes(name, arguments, is_view):
    x = relax.Var("x", relax.TensorStructInfo([2, 3], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            lv = builder.emit(getattr(relax.op, name)(x, *arguments))
            out = builder.emit_output(relax.op.exp(lv))
        builder.emit_func_output(out)
    module = after(builder.get(), "RewriteDataflowReshape")
    assert described(module["main"]).startswith("(x) lv = reshape(x, ") == is_view
