"""Tensors that live at different times share storages."""

import pytest

import te_sched
from te_sched import relax, tir
from te_sched.errors import GraphError
from te_sched.relax import transform
from te_sched.script import from_source
from tests.relax.described import described
from tests.relax.transform.lowered import INFO, NAMES, after, chained, names


def test_tensors_share_storages():
    module = after(chained(4), "StaticPlanBlockMemory")
    made = [one for one in names(module["main"]) if one.startswith("storage")]
    assert made == ["storage", "storage1"]
    module = after(chained(4), "KillAfterLastUse")
    assert "lv" not in names(module["main"])  # aliases are dropped
    text = described(module["main"])
    assert text.count("kill_storage") == 3
    assert text.count("kill_tensor") == 4


def test_storages_grow_and_results_have_their_own():
    module = from_source(
        """
        @I.ir_module
        class Module:
            @T.prim_func
            def f(A: T.Buffer((T.int64(8),), "float32"), B: T.Buffer((T.int64(8),), "float32")):
                T.evaluate(0)

            @T.prim_func
            def g(A: T.Buffer((T.int64(8),), "float32"), B: T.Buffer((T.int64(10),), "float32")):
                T.evaluate(0)

            @R.function
            def main(x: R.Tensor((8,), "float32")):
                a = R.call_tir(Module.f, (x,), R.Tensor((8,), "float32"))
                b = R.call_tir(Module.f, (a,), R.Tensor((8,), "float32"))
                c = R.call_tir(Module.g, (b,), R.Tensor((10,), "float32"))
                d = R.call_tir(Module.g, (c,), R.Tensor((10,), "float32"))
                return d
        """,
        NAMES,
        check_well_formed=False,  # g gets what it does not take
    )
    planned = transform.StaticPlanBlockMemory()(transform.CallTIRRewrite()(module))
    values = [one.value for one in planned["main"].body.blocks[0].bindings]
    sizes = [
        one.args[0].values[0].value
        for one in values
        if getattr(one, "op", "") == "relax.memory.alloc_storage"
    ]
    assert sizes == [40, 32]


def test_bounds_are_numbers():
    function = relax.Function([relax.Var("x", INFO)], relax.const(1)).with_attr(
        "tir_var_upper_bound", {"n": [4]}
    )
    with pytest.raises(GraphError, match="the upper bound of variable n"):
        transform.StaticPlanBlockMemory()(te_sched.IRModule({"main": function}))


@pytest.mark.parametrize("size", [4, "n"])
def test_functions_of_constant_shapes_are_left_to_their_arena(size):
    """One of other shapes is planned, since it is interpreted."""
    n = tir.Var("n", "int64") if size == "n" else size
    x = relax.Var("x", relax.TensorStructInfo([n], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        value = builder.emit(relax.op.exp(builder.emit(relax.op.exp(x))))
        builder.emit_func_output(value)
    module = after(builder.get(), "CallTIRRewrite")
    planned = transform.StaticPlanBlockMemory(leaves_static=True)(module)
    assert ("storage" in names(planned["main"])) == (size == "n")


@pytest.mark.parametrize(
    "kind", ["condition", "result of a packed function", "parameter of unknown rank"]
)
def test_functions_that_are_interpreted_are_planned(kind):
    info = relax.TensorStructInfo(ndim=1, dtype="float32") if "rank" in kind else INFO
    x, flag = relax.Var("x", info), relax.Var("flag", relax.TensorStructInfo([], "bool"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, flag]):
        if kind == "condition":
            y = builder.emit(relax.If(flag, relax.op.exp(x), relax.op.negative(x)))
        elif "packed" in kind:
            y = builder.emit(relax.op.call_pure_packed("f", x, sinfo_args=[INFO]))
        else:
            y = builder.match_cast(x, INFO)
        value = builder.emit(relax.op.exp(builder.emit(relax.op.exp(y))))
        builder.emit_func_output(value)
    module = after(builder.get(), "CallTIRRewrite")
    planned = transform.StaticPlanBlockMemory(leaves_static=True)(module)
    assert "storage" in names(planned["main"])
