"""The passes of the build pipeline: what they write, step by step, and errors."""

import numpy as np
import pytest

import te_sched
from te_sched import relax, tir
from te_sched.errors import GraphError
from te_sched.relax import transform
from te_sched.relax.op import builtin, call_dps_packed, call_tir
from te_sched.script import from_source
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T
from tests.relax.described import described

INFO = relax.TensorStructInfo([4], "float32")
NAMES = {"I": I, "R": R, "T": T}
STEPS = (
    *("LegalizeOps", "RewriteDataflowReshape", "ToNonDataflow", "RemovePurityChecking"),
    *("CallTIRRewrite", "StaticPlanBlockMemory", "LowerAllocTensor", "KillAfterLastUse"),
    *("LowerRuntimeBuiltin", "VMShapeLower", "AttachGlobalSymbol"),
)


def after(module, last):
    """The module after the passes up to one."""
    for name in STEPS[: STEPS.index(last) + 1]:
        module = getattr(transform, name)()(module)
    return module


def names(func):
    return [one.var.name_hint for block in func.body.blocks for one in block.bindings]


def chained(count=4):
    x = relax.Var("x", INFO)
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            value = x
            for _ in range(count):
                value = builder.emit(relax.op.exp(value))
            out = builder.emit_output(relax.op.exp(value))
        builder.emit_func_output(out)
    return builder.get()


def test_calls_write_allocated_tensors():
    module = after(chained(1), "CallTIRRewrite")
    assert names(module["main"]) == ["alloc", "_", "lv", "alloc1", "_1", "gv"]
    assert module["main"].attrs["relax.force_pure"]
    assert type(module["main"].body.blocks[0]).__name__ == "BindingBlock"


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


def test_reshapes_are_found():
    x = relax.Var("x", INFO)
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            lv = builder.emit(relax.op.reshape(x, [2, 2]))
            out = builder.emit_output(relax.op.exp(lv))
        builder.emit_func_output(out)
    module = after(builder.get(), "RewriteDataflowReshape")
    assert described(module["main"]).startswith("(x) lv = reshape(x, ")


def test_sizes_are_computed_when_functions_run():
    n = tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo([n, 4], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    module = after(builder.get(), "AttachGlobalSymbol")
    assert sorted(module.functions) == ["main", "shape_func", "tir_exp"]
    assert names(module["main"])[:4] == ["shape_heap", "_", "_1", "_2"]
    assert module["shape_func"].attrs["global_symbol"] == "shape_func"


def test_sizes_without_values_are_refused():
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    s = relax.Var("s", relax.ShapeStructInfo([n + 1]))
    function = relax.Function([s], s)
    with pytest.raises(GraphError, match=r"the variables in .* have no value"):
        transform.VMShapeLower()(te_sched.IRModule({"main": function}))
    function = relax.Function([], relax.ShapeExpr([m]), relax.ShapeStructInfo(ndim=1))
    with pytest.raises(GraphError, match="size m is used before its variables have values"):
        transform.VMShapeLower()(te_sched.IRModule({"main": function}))


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        (
            "CallTIRRewrite",
            call_dps_packed("f", (), relax.TensorStructInfo(ndim=1, dtype="int8")),
            "cannot allocate a result",
        ),
        (
            "LowerAllocTensor",
            builtin.alloc_tensor(relax.Var("s", relax.ShapeStructInfo(ndim=1)), "int8", 0),
            "cannot allocate a tensor of shape s",
        ),
        (
            "LowerRuntimeBuiltin",
            builtin.alloc_tensor([4], "int8", 0),
            "relax.builtin.alloc_tensor is left in the graph",
        ),
    ],
)
def test_passes_reject(name, value, text):
    params = [one for one in value.args if isinstance(one, relax.Var)]
    module = te_sched.IRModule({"main": relax.Function(params, value, relax.ObjectStructInfo())})
    with pytest.raises(GraphError, match=text):
        getattr(transform, name)()(module)


def test_bounds_are_numbers():
    function = relax.Function([relax.Var("x", INFO)], relax.const(1)).with_attr(
        "tir_var_upper_bound", {"n": [4]}
    )
    with pytest.raises(GraphError, match="the upper bound of variable n"):
        transform.StaticPlanBlockMemory()(te_sched.IRModule({"main": function}))


def test_tuples_of_arguments_are_unpacked():
    module = from_source(
        """
        @I.ir_module
        class Module:
            @T.prim_func
            def add(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32"),
                    c: T.Buffer((4,), "float32")):
                for i in range(4):
                    with T.block("c"):
                        v = T.axis.spatial(4, i)
                        c[v] = a[v] + b[v]

            @R.function
            def main(t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
                c = R.call_tir(Module.add, t, out_sinfo=R.Tensor((4,), "float32"))
                return c
        """,
        NAMES,
    )
    machine = relax.VirtualMachine(relax.build(module, "llvm"), te_sched.cpu())
    x = np.arange(4, dtype="float32")
    assert machine["main"]((x, x)).numpy().tolist() == [0, 2, 4, 6]


def test_functions_in_system_libraries_have_a_prefix():
    x = relax.Var("x", INFO)
    loops = tir.PrimFunc((), tir.Evaluate(0), {})
    main = relax.Function([x], call_tir(relax.GlobalVar("f"), (), INFO))
    module = te_sched.IRModule({"f": loops, "main": main}, {"system_lib_prefix": "a_"})
    named = transform.AttachGlobalSymbol()(module)
    assert sorted(named.functions) == ["a_f", "main"]
    assert named["main"].body.blocks[0].bindings[0].value.args[0] == "a_f"


def test_workspaces_are_allocated_by_callers():
    x = relax.Var("x", INFO)
    library = relax.Function([x], x).with_attrs({"Codegen": "a", "WorkspaceSize": 64})
    module = te_sched.IRModule({"a_exp": library})
    builder = relax.BlockBuilder(module)
    y = relax.Var("y", INFO)
    with builder.function("main", [y]):
        with builder.dataflow():
            call = relax.Call(module.get_global_var("a_exp"), [y])
            out = builder.emit_output(call)
        builder.emit_func_output(out)
    after = transform.AllocateWorkspace()(builder.get())
    assert sorted(after.functions) == ["a_exp1", "main"]
    assert described(after["main"]).endswith("gv* = a_exp1(y, workspace_main); gv")
    assert "WorkspaceSize" not in after["a_exp1"].attrs


def test_views_get_what_they_keep_of_a_tensor():
    x = relax.Var("x", relax.TensorStructInfo([4, 2], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.memory.view(x, [8])))
    func = relax.transform.LowerRuntimeBuiltin()(builder.get())["main"]
    call = func.body.blocks[0].bindings[0].value
    assert str(call.op.struct_info).startswith('R.Callable(derive_func="tvm.relax.struct_info')
    assert (call.args[2].value, call.args[3].value.value) == ("float32", 0)
    assert str(call.struct_info) == 'R.Tensor((8,), dtype="float32")'
