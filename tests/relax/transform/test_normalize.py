"""Normalize: arguments become variables."""

from te_sched import IRModule, relax
from te_sched.relax import op
from tests.relax.described import described


def test_nested_calls_are_bound():
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    func = relax.Function([x], op.add(op.exp(x), op.exp(x)), x.struct_info)
    found = relax.transform.Normalize()(IRModule({"main": func}))["main"]
    assert described(found) == "(x) gv* = exp(x); gv1* = exp(x); gv2* = add(gv, gv1); gv2"
