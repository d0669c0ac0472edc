"""BindSymbolicVars: variables of sizes get a value."""

from te_sched import IRModule, relax
from tests.relax.transform.linear import Linear


def test_sizes_are_bound_and_simplified():
    module = relax.transform.BindSymbolicVars({"m": 3, "b": 2}, "main")(Linear)
    assert str(module["main"].ret_struct_info) == 'R.Tensor((2, n), dtype="float32")'


def test_sizes_are_bound_in_all_functions_that_have_them():
    other = Linear["main"].with_attr("global_symbol", "other")
    module = IRModule({**Linear.functions, "other": other})
    bound = relax.transform.BindSymbolicVars({"m": 3})(module)
    infos = {str(func.params[0].struct_info) for func in bound.functions.values()}
    assert infos == {'R.Tensor((b, 3), dtype="float32")'}
