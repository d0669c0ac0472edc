"""Private functions of which all uses are calls, and passes that change their parameters."""

import numpy as np
import pytest

from te_sched import IRModule, relax
from te_sched.relax.analysis import well_formed
from te_sched.relax.transform.private_calls import CallRewriter, called_private_functions
from tests.relax.described import described
from tests.relax.transform.private import Nested, Private
from tests.relax.transform.weights import run


def test_parameters_and_results_of_private_functions():
    module = relax.transform.ExpandTupleArguments()(Nested)
    assert len(module["both"].params) == 3
    module = relax.transform.RemoveUnusedOutputs()(module)
    assert isinstance(module["both"].ret_struct_info, relax.TensorStructInfo)
    module = relax.transform.RemoveUnusedParameters()(module)
    assert [one.name_hint for one in module["both"].params] == ["args_0_1"]
    assert well_formed(module)
    given = np.random.rand(2, 3).astype("float32")
    np.testing.assert_allclose(run(module, given).numpy(), 2 * given, rtol=1e-6)


@pytest.mark.parametrize("name", ["RemoveUnusedParameters", "LambdaLift", "InlinePrivateFunctions"])
def test_functions_that_need_nothing_changed_stay(name):
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    module = IRModule({"main": relax.Function([x], x).with_attr("global_symbol", "main")})
    assert getattr(relax.transform, name)()(module) is module


def test_functions_that_are_passed_on_are_not_changed():
    both = Private["both"].without_attr("global_symbol")
    name = Private.get_global_var("both")
    passing = relax.Function(
        [], relax.call_pure_packed("f", name, sinfo_args=[both.struct_info.ret])
    )
    module = IRModule(
        {**Private.functions, "passing": passing.with_attr("global_symbol", "passing")}
    )
    assert set(called_private_functions(Private)) == {"first", "both"}
    assert set(called_private_functions(module)) == {"first"}
    assert called_private_functions(Private, to_run=True) == {}


def test_calls_of_functions_are_rewritten():
    rewriter = CallRewriter({"first": lambda builder, call: call.args[1]})
    assert described(rewriter.visit_expr(Private["main"])).startswith("(x, y) a* = y; b* = both(")
