"""relax.build: what it takes, and errors of modules that cannot run."""

import gc

import numpy as np
import pytest

import te_sched
from te_sched import relax, te, tir
from te_sched.errors import GraphError
from te_sched.relax.vm.build import compile_module
from te_sched.transform import module_pass

CPU = te_sched.cpu()

X = relax.Var("x", relax.TensorStructInfo([4], "float32"))


def test_functions_and_modules_are_built():
    function = relax.Function([X], relax.op.exp(X)).with_attr("global_symbol", "e")
    for build in (relax.build, relax.vm.build, compile_module):
        machine = relax.VirtualMachine(build(te_sched.IRModule({"e": function}), "llvm"), CPU)
        assert machine["e"](np.zeros(4, "float32")).numpy().tolist() == [1] * 4
    assert "e" in relax.build(function, "llvm").as_text()
    loops = tir.PrimFunc((), tir.Evaluate(0), {}).with_attr("global_symbol", "f")
    assert compile_module(te_sched.IRModule({"f": loops})).function_names == ("f",)


def test_modules_are_compiled_with_a_pipeline_of_graphs():
    """As programs of TVM 0.20 write it."""
    module, seen = te_sched.IRModule({"main": relax.Function([X], relax.op.exp(X))}), []

    @module_pass(opt_level=0)
    def pipeline(mod, _):
        seen.append(mod)
        return relax.get_pipeline("default")(mod)

    for chosen in (pipeline, "default", "default_build"):
        executable = compile_module(module, "llvm", relax_pipeline=chosen, tir_pipeline=None)
        result = relax.VirtualMachine(executable, CPU)["main"](np.zeros(4, "float32"))
        assert result.numpy().tolist() == [1] * 4
    assert len(seen) == 1
    with pytest.raises(GraphError, match="compiled with tir_pipeline='mine'"):
        compile_module(module, "llvm", tir_pipeline="mine")


def test_parameters_are_bound():
    w = relax.Var("w", relax.TensorStructInfo([4], "float32"))
    module = te_sched.IRModule({"main": relax.Function([X, w], relax.op.add(X, w))})
    executable = relax.build(module, "llvm", {"w": np.arange(4, dtype="float32")})
    result = relax.VirtualMachine(executable, CPU)["main"](np.ones(4, "float32"))
    assert result.numpy().tolist() == [1, 2, 3, 4]


def test_schedules_of_processors_are_refused_on_gpus():
    module = te_sched.IRModule({"main": relax.Function([X], relax.op.exp(X))})
    with te_sched.target.Target("llvm"):
        scheduled = relax.get_pipeline("processor")(module)
    fault = "function tir_exp is scheduled for processors, the target is cuda"
    with pytest.raises(GraphError, match=fault) as caught:
        relax.build(scheduled, "cuda")
    assert caught.value.names("function") == ["tir_exp"]
    with te_sched.target.Target("cuda"):
        scheduled = relax.get_pipeline("gpu")(module)
    assert relax.build(scheduled, "cuda").as_text()


def test_build_rejects():
    function = relax.Function([X], X)
    with pytest.raises(GraphError, match="the execution mode is 'fast'"):
        relax.build(function, exec_mode="fast")
    with pytest.raises(GraphError, match=r"relax\.build cannot build 3"):
        relax.build(3)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("size", "result"), [(5, 4), (4, 3), (4, 5)])
def test_calls_that_do_not_fit_their_function_are_refused(size, result, packed):
    a = te.placeholder((4,), name="A")
    copy = te.create_prim_func([a, te.compute((4,), lambda i: a[i])])
    x = relax.Var("x", relax.TensorStructInfo([size], "float32"))
    builder = relax.BlockBuilder()
    name = builder.add_func(copy, "copy")
    info = relax.TensorStructInfo([result], "float32")
    with builder.function("main", [x]):
        call = relax.call_dps_packed("copy", x, info) if packed else relax.call_tir(name, x, info)
        builder.emit_func_output(builder.emit(call))
    with pytest.raises(GraphError, match=r"copy.* is called with R\.Tensor\(\([35],\)"):
        relax.build(builder.get(), "llvm")


def test_garbage_is_collected_again_after_a_build():
    def enabled_inside(mod, context):
        seen.append(gc.isenabled())
        return mod

    seen = []
    before = gc.isenabled()
    function = relax.Function([X], X).with_attr("global_symbol", "e")
    relax.build(function, pipeline=module_pass(opt_level=0)(enabled_inside))
    with pytest.raises(GraphError, match="are not computed"):
        relax.build(relax.Function([X], relax.PrimValue(tir.Var("n", "int64"))), pipeline=None)
    assert (seen, gc.isenabled()) == ([False], before)
