"""NormalizeGlobalVar: names of functions are their symbols."""

import pytest

from te_sched import IRModule, relax
from te_sched.errors import GraphError


def test_names_of_functions_are_their_symbols():
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    func = relax.Function([x], x).with_attr("global_symbol", "f")
    with pytest.raises(GraphError, match="two functions have the global symbol 'f'"):
        relax.transform.NormalizeGlobalVar()(IRModule({"a": func, "b": func}))


def test_names_of_private_functions_make_room():
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    func = relax.Function([x], x).with_attr("global_symbol", "f")
    private = relax.Function([x], x)
    module = relax.transform.NormalizeGlobalVar()(IRModule({"f": private, "b": func}))
    assert sorted(map(str, module.functions)) == ["f", "f1"]
    assert module["f"].attrs["global_symbol"] == "f"
