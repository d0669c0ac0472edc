"""Functions with some parameters and sizes given; weights become constants that are used."""

import numpy as np
import pytest

from te_sched import relax, tir
from te_sched.errors import GraphError
from tests.relax.transform.linear import Linear


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
