"""Reshapes that are found."""

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
