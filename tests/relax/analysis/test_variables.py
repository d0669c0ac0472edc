"""Variables of a graph: those that it binds, those that it uses, and where."""

import pytest

from te_sched import IRModule, relax
from te_sched.errors import ParameterError
from te_sched.relax import analysis
from te_sched.relax.analysis.variables import sources_of, uses_of, written_in_place
from te_sched.script import relax as R
from te_sched.script import tir as T


@R.function
def func(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
    with R.dataflow():
        a = R.add(x, x)
        b = (a, x)
        c = b[0]
        R.output(c)
    return c


def names(variables):
    return [var.name_hint for var in variables]


def test_variables_that_are_bound_used_and_free():
    (binding, *_) = func.body.blocks[0].bindings
    assert names(analysis.all_vars(func)) == ["x", "y", "a", "b", "c"]
    assert names(analysis.bound_vars(func)) == ["x", "y", "a", "b", "c"]
    assert names(analysis.free_vars(func)) == []
    assert names(analysis.free_vars(func.body)) == ["x"]
    assert names(uses_of(binding.value)) == ["x", "x"]


def test_chains_from_definitions_to_uses():
    block = func.body.blocks[0]
    chains = {var.name_hint: names(users) for var, users in analysis.udchain(block).items()}
    assert chains == {"x": ["a", "b"], "a": ["b"], "b": ["c"], "c": []}
    assert list(analysis.name_to_binding(func)) == ["a", "b", "c"]
    assert str(analysis.get_var2val(func)[block.bindings[0].var].op) == "relax.add"


def test_functions_that_are_called_or_passed_on():
    x = func.params[0]
    called, kernel, passed = (relax.GlobalVar(name) for name in ("called", "kernel", "passed"))
    info = x.struct_info
    value = relax.Tuple(
        [relax.Call(called, [x]), relax.call_tir(kernel, (x,), info), relax.Tuple([passed])]
    )
    assert list(map(str, analysis.called_global_vars(value))) == ["called", "kernel"]
    assert list(map(str, analysis.all_global_vars(value))) == ["called", "kernel", "passed"]
    assert analysis.all_global_vars(IRModule({}).functions.get("f") or x) == []


def test_arrays_that_calls_overwrite_by_any_name():
    info = func.params[0].struct_info
    x, y = func.params
    pair, item = relax.Var("pair", relax.TupleStructInfo([info, info])), relax.Var("item", info)
    call = relax.op.call_tir_inplace(relax.GlobalVar("f"), (item, y), [0], [info])
    bindings = [
        relax.VarBinding(pair, relax.Tuple([x, y])),
        relax.VarBinding(item, relax.TupleGetItem(pair, 0)),
        relax.VarBinding(relax.Var("out", info), call),
    ]
    body = relax.SeqExpr([relax.BindingBlock(bindings)], x)
    assert {"item", "pair", "x"} <= set(names(written_in_place(body)))


def test_callbacks_take_one_expression():
    with pytest.raises(ParameterError, match="takes 0 arguments"):
        analysis.post_order_visit(func, lambda: None)


def test_sources_of_a_binding_are_the_matches_of_its_sizes_too():
    @R.function
    def matched(x: R.Tensor((1,), "int64")):
        n = T.int64()
        with R.dataflow():
            shape = R.tensor_to_shape(x)
            match = R.match_cast(shape, R.Shape([n]))  # noqa: F841
            y = R.zeros(R.shape([n]), "float32")
            R.output(y)
        return y

    (block,) = matched.body.blocks
    sources = {str(var): names(used) for var, used in sources_of(block).items()}
    assert sources == {"shape": ["x"], "match": ["shape"], "y": ["match"]}
