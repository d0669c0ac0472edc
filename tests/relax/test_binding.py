"""Functions with some parameters and sizes given; weights become constants that are used."""

import numpy as np
import pytest

from te_sched import relax, tir
from te_sched.errors import GraphError
from te_sched.script import ir as I
from te_sched.script import relax as R


@I.ir_module
class Linear:
    @R.function
    def main(x: R.Tensor(("b", "m"), "float32"), w: R.Tensor(("m", "n"), "float32")):
        with R.dataflow():
            gv = R.matmul(x, w)
            R.output(gv)
        return gv


def test_sizes_of_weights_are_known_everywhere():
    weights = np.random.rand(3, 2).astype("float32")
    module = relax.transform.BindParams("main", {"w": weights})(Linear)
    main = module["main"]
    assert str(main.params[0].struct_info) == 'R.Tensor((b, 3), dtype="float32")'
    assert str(main.ret_struct_info) == 'R.Tensor((b, 2), dtype="float32")'
    given = np.random.rand(5, 3).astype("float32")
    machine = relax.VirtualMachine(relax.build(module, "llvm"))
    np.testing.assert_allclose(machine["main"](given).numpy(), given @ weights, rtol=1e-5)


def test_parameters_are_given_by_variable_and_as_numbers():
    x = relax.Var("x", relax.PrimStructInfo("int64"))
    func = relax.Function([x], x)
    assert func.bind_params({x: 3}).body.body.value.value == 3


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"v": np.zeros(3)}, "the function has no parameter 'v'"),
        ({"w": np.zeros(3, "float32")}, "parameter w is given .*, expected"),
        ({"w": np.zeros((3, 2), "int32")}, "parameter w is given .*, expected"),
    ],
)
def test_bind_params_rejects_what_does_not_fit(given, match):
    with pytest.raises(GraphError, match=match):
        Linear["main"].bind_params(given)


def test_bind_params_rejects_ambiguous_names():
    info = relax.TensorStructInfo([4], "float32")
    x, y = relax.Var("x", info), relax.Var("x", info)
    func = relax.Function([x, y], x)
    with pytest.raises(GraphError, match="two parameters have the name x"):
        func.bind_params({"x": np.zeros(4, "float32")})
    single = relax.Function([x], x)
    with pytest.raises(GraphError, match="parameter x is given twice"):
        single.bind_params({"x": np.zeros(4, "float32"), x: np.zeros(4, "float32")})
    with pytest.raises(
        GraphError, match=r"the function has no parameter .*(\n.*)*it has no parameters"
    ):
        relax.Function([], relax.const(1)).bind_params({"x": 1})


def test_bind_params_needs_a_function_of_graphs():
    with pytest.raises(GraphError, match="the module has no function 'mian' of graphs"):
        relax.transform.BindParams("mian", {})(Linear)


def test_sizes_are_bound_and_simplified():
    module = relax.transform.BindSymbolicVars({"m": 3, "b": 2}, "main")(Linear)
    assert str(module["main"].ret_struct_info) == 'R.Tensor((2, n), dtype="float32")'


def test_bind_symbolic_vars_rejects_what_does_not_fit():
    main, n = Linear["main"], tir.Var("n", "int64")
    with pytest.raises(GraphError, match="the function has no variable 'k' of sizes"):
        main.bind_symbolic_vars({"k": 3})
    with pytest.raises(GraphError, match="no function of the module has a variable 'k'"):
        relax.transform.BindSymbolicVars({"k": 3})(Linear)
    with pytest.raises(GraphError, match="variable k of sizes is not defined"):
        main.bind_symbolic_vars({"m": tir.Var("k", "int64") * 2})
    own = main.params[0].struct_info.shape[0]
    with pytest.raises(GraphError, match="variable b of sizes is given twice"):
        main.bind_symbolic_vars({"b": 1, own: 1})
    x = relax.Var("x", relax.TensorStructInfo([n, tir.Var("n", "int64")], "float32"))
    with pytest.raises(GraphError, match="two variables of sizes have the name n"):
        relax.Function([x], x).bind_symbolic_vars({"n": 3})
