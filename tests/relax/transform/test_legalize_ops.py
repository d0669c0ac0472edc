"""The pass LegalizeOps: which calls it replaces, and by what."""

from __future__ import annotations

import pytest

from te_sched import IRModule, relax, topi
from te_sched.errors import GraphError
from te_sched.ir.op import Op
from te_sched.relax.transform import LegalizeOps
from tests.relax.transform.compared import IMAGE, VECTOR, graph_of, normalized


def _module(info: relax.TensorStructInfo) -> IRModule:
    x = relax.Var("x", info)
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    return builder.get()


def _value(module: IRModule) -> relax.Call:
    return module["main"].body.blocks[0].bindings[0].value


def test_legalize_ops_replaces_calls() -> None:
    module = relax.transform.LegalizeOps()(_module(relax.TensorStructInfo([4], "float32")))
    assert _value(module).op == Op.get("relax.call_tir")
    assert _value(module).args[0] == "add"
    assert "add" in module.functions


def test_legalize_ops_keeps_calls_of_unknown_shape() -> None:
    before = _module(relax.TensorStructInfo(None, "float32", ndim=1))
    assert relax.transform.LegalizeOps()(before)["main"] is before["main"]


def test_legalize_ops_takes_custom_rules() -> None:
    def rule(builder: relax.BlockBuilder, call: relax.Call) -> relax.Call:
        return builder.call_te(topi.multiply, *call.args)

    legalize = relax.transform.LegalizeOps({"relax.add": rule})
    module = legalize(_module(relax.TensorStructInfo([4], "float32")))
    assert _value(module).args[0] == "multiply"


def test_legalize_ops_warns_of_operators_without_rule() -> None:
    before = _module(relax.TensorStructInfo([4], "float32"))
    op = Op.get("relax.add")
    rule = op.get_attr("FLegalize")
    assert op.has_attr("FLegalize")
    op.reset_attr("FLegalize")
    try:
        with pytest.warns(UserWarning, match="no legalization rule for relax.add"):
            after = relax.transform.LegalizeOps(enable_warning=True)(before)
    finally:
        relax.transform.legalize_ops.register_legalize("relax.add", rule)
    assert after["main"] is before["main"]


def test_legalize_ops_rejects_a_product_of_unknown_dtype() -> None:
    a, b = [relax.Var(name, relax.TensorStructInfo([4, 4], "")) for name in "ab"]
    builder = relax.BlockBuilder()
    with builder.function("main", [a, b]):
        builder.emit_func_output(builder.emit(relax.op.matmul(a, b)))
    with pytest.raises(AssertionError, match=r"the dtype of the result of R\.matmul is not known"):
        relax.transform.LegalizeOps()(builder.get())


def test_legalize_ops_makes_the_second_of_two_constants_a_number() -> None:
    builder = relax.BlockBuilder()
    with builder.function("main", []):
        total = relax.op.divide(relax.const(6.0), relax.const(3.0))
        builder.emit_func_output(builder.emit(total))
    module = relax.transform.LegalizeOps()(builder.get())
    assert _value(module).args[1].fields[0].data.numpy() == 6
    machine = relax.VirtualMachine(relax.build(module, "llvm"))
    assert machine["main"]().numpy() == 2


def test_rules_that_are_not_a_dictionary_are_refused():
    with pytest.raises(GraphError, match="the rules of LegalizeOps are a list, expected a dict"):
        relax.transform.LegalizeOps([("relax.add", None)])


def test_legalize_ops_warns_that_batch_norm_is_that_of_training() -> None:
    graph = graph_of([IMAGE, VECTOR, VECTOR], normalized)
    with pytest.warns(UserWarning, match="apply relax.transform.DecomposeOpsForInference"):
        LegalizeOps()(graph)
