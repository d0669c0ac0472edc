"""Passes that change which functions a module has, and their parameters and results."""

import numpy as np
import pytest

from te_sched import IRModule, relax
from te_sched.errors import GraphError, LoweringError
from te_sched.relax.analysis import well_formed
from te_sched.relax.transform.replace_global_vars import replace_global_vars
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T
from te_sched.transform import ApplyPassToFunction, PassContext


def _run(module, *given, name="main"):
    return relax.VirtualMachine(relax.build(module, "llvm"))[name](*given)


def test_lambdas_become_functions_and_closures():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            @R.function
            def scaled(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                b = R.multiply(a, x)
                return b

            @R.function
            def twice(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                b = R.add(a, a)
                return b

            z = twice(y)
            w = scaled(z)
            return w

    module = relax.transform.LambdaLift()(Module)
    assert sorted(map(str, module.functions)) == ["main", "main_scaled", "main_twice"]
    assert well_formed(module)
    given = [np.random.rand(4).astype("float32") for _ in range(2)]
    np.testing.assert_allclose(_run(module, *given).numpy(), 2 * given[0] * given[1], rtol=1e-6)


@I.ir_module
class Private:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        cls = Private
        pair = cls.both(((x, x), x))
        y = pair[1]
        return y

    @R.function(private=True)
    def both(
        args: R.Tuple(
            R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")),
            R.Tensor((2, 3), "float32"),
        ),
    ) -> R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")):
        first = args[0]
        a = first[1]
        b = args[1]
        c = R.exp(b)
        d = R.add(a, a)
        return (c, d)


def test_parameters_and_results_of_private_functions():
    module = relax.transform.ExpandTupleArguments()(Private)
    assert len(module["both"].params) == 3
    module = relax.transform.RemoveUnusedOutputs()(module)
    assert isinstance(module["both"].ret_struct_info, relax.TensorStructInfo)
    module = relax.transform.RemoveUnusedParameters()(module)
    assert [one.name_hint for one in module["both"].params] == ["args_0_1"]
    assert well_formed(module)
    given = np.random.rand(2, 3).astype("float32")
    np.testing.assert_allclose(_run(module, given).numpy(), 2 * given, rtol=1e-6)


def test_functions_that_need_nothing_changed_stay():
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    module = IRModule({"main": relax.Function([x], x).with_attr("global_symbol", "main")})
    for name in ("RemoveUnusedParameters", "LambdaLift", "InlinePrivateFunctions"):
        assert getattr(relax.transform, name)()(module) is module


def test_names_of_functions_are_their_symbols():
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    func = relax.Function([x], x).with_attr("global_symbol", "f")
    with pytest.raises(GraphError, match="two functions have the global symbol 'f'"):
        relax.transform.NormalizeGlobalVar()(IRModule({"a": func, "b": func}))
    private = relax.Function([x], x)
    module = relax.transform.NormalizeGlobalVar()(IRModule({"f": private, "b": func}))
    assert sorted(map(str, module.functions)) == ["f", "f1"]
    assert module["f"].attrs["global_symbol"] == "f"


def test_calls_in_programs_are_renamed():
    @T.prim_func
    def caller():
        T.evaluate(0)

    module = replace_global_vars(IRModule({"caller": caller}), {"caller": "other"})
    assert [str(name) for name in module.functions] == ["other"]
    assert module["other"].attrs["global_symbol"] == "other"


def _weights(name, *, count=2, size=4):
    infos = [relax.TensorStructInfo([size, size], "float32") for _ in range(count)]
    x = relax.Var("x", relax.TensorStructInfo([size, size], "float32"))
    weights = [relax.Var(f"w{place}", info) for place, info in enumerate(infos)]
    builder = relax.BlockBuilder()
    with builder.function(name, [x, *weights], {"num_input": 1}):
        with builder.dataflow():
            y = x
            for one in weights:
                y = builder.emit(relax.op.matmul(y, relax.op.permute_dims(one)))
            gv = builder.emit_output(y)
        builder.emit_func_output(gv)
    return builder.get()


def test_computations_of_weights_are_lifted():
    module = relax.transform.LiftTransformParams()(_weights("main"))
    assert well_formed(module)
    x, *weights = [np.random.rand(4, 4).astype("float32") for _ in range(3)]
    from te_sched import nd

    ready = _run(module, [nd.array(one) for one in weights], name="main_transform_params")
    found = _run(module, x, *[ready[place] for place in range(2)]).numpy()
    np.testing.assert_allclose(found, x @ weights[0].T @ weights[1].T, rtol=1e-5)


def test_weights_are_freed_when_they_are_taken():
    with PassContext(config={"relax.lift_transform_params.consume_params": True}):
        module = relax.transform.LiftTransformParams()(_weights("main"))
    (block,) = module["main_transform_params"].body.blocks
    callees = [one.value.args[0] for one in block.bindings if hasattr(one.value, "args")]
    names = [getattr(one, "global_symbol", "") for one in callees]
    assert names.count("vm.builtin.tuple_reset_item") == 2


def test_shared_weights_must_agree():
    first = _weights("f")
    lift = relax.transform.LiftTransformParams(shared_transform=True)

    def both(other):
        return IRModule({**first.functions, **other.functions})

    assert "transform_params" in lift(both(_weights("g")))
    with pytest.raises(GraphError, match="two functions with shared weights have 2 and 1 weights"):
        lift(both(_weights("g", count=1)))
    with pytest.raises(GraphError, match=r"weight w0 is .* in one function and"):
        lift(both(_weights("g", size=5)))


def test_a_pass_is_applied_to_one_function():
    module = IRModule({**_weights("f").functions, **_weights("g").functions})
    bundle = ApplyPassToFunction(relax.transform.BundleModelParams("weights"), "f")
    found = bundle(module)
    assert [len(found[name].params) for name in "fg"] == [2, 3]
    strict = ApplyPassToFunction(bundle, "h", error_if_no_function_matches_regex=True)
    with pytest.raises(LoweringError, match="no function has a name that matches 'h'"):
        strict(module)
