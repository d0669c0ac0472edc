"""RemovePurityChecking: pure functions may call others."""

from te_sched import IRModule, relax
from te_sched.script import relax as R
from tests.relax.transform.lowered import chained


def test_pure_functions_are_marked_and_others_stay():
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    impure = relax.Function([x], x, is_pure=False)
    module = IRModule({**chained(1).functions, "impure": impure})
    found = relax.transform.RemovePurityChecking()(module)
    assert found["main"].attrs["relax.force_pure"]
    assert "relax.force_pure" not in found["impure"].attrs


def test_calls_that_are_marked_as_pure_become_ordinary():
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.call_pure_packed("f", x, sinfo_args=R.Tensor((4,), "float32"))
        return y

    found = relax.transform.RemovePurityChecking()(IRModule({"main": main}))["main"]
    call = found.body.blocks[0].bindings[0].value
    assert (call.op.global_symbol, str(call.args[0])) == ("f", "x")
