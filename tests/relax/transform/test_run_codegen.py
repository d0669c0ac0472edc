"""RunCodegen: functions of libraries, compiled by registered functions."""

import numpy as np
import pytest

import te_sched
from te_sched import IRModule, relax
from te_sched.errors import GraphError
from te_sched.relax.dpl import is_op, wildcard
from te_sched.relax.transform import FuseOpsByPattern, MergeCompositeFunctions, RunCodegen
from te_sched.runtime.registry import registered_names, remove_global_func
from te_sched.script import relax as R
from tests.relax.described import described_module

PATTERNS = [
    ("numpylib.matmul", is_op("relax.matmul")(wildcard(), wildcard())),
    ("numpylib.relu", is_op("relax.nn.relu")(wildcard())),
]


@R.function
def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 3), "float32")):
    with R.dataflow():
        y = R.nn.relu(R.matmul(x, w))
        z = R.exp(y)
        R.output(z)
    return z


@pytest.fixture(autouse=True)
def _names_are_free():
    yield
    for name in registered_names():
        if name.startswith(("relax.ext.numpylib", "fused_relax_matmul_relax_nn_relu_numpylib")):
            remove_global_func(name)


def partitioned():
    fused = FuseOpsByPattern(PATTERNS)(IRModule({"main": main}))
    return MergeCompositeFunctions()(fused)


def test_a_library_computes_its_functions():
    seen = []

    def compiled(functions, options, constants):
        seen.append((len(functions), options, constants))

        def product(x, w, out):
            out[:] = np.maximum(x.numpy() @ w.numpy(), 0)

        return [product]

    te_sched.register_func("relax.ext.numpylib", compiled, override=True)
    module = RunCodegen({"numpylib": {"level": 3}})(partitioned())
    assert seen == [(1, {"level": 3}, {})]
    assert described_module(module) == {
        "main": "(x, w) lv = call_dps_packed(fused_relax_matmul_relax_nn_relu_numpylib, (x, w)); "
        "z* = exp(lv); z"
    }
    machine = relax.VirtualMachine(relax.build(module, "llvm"), te_sched.cpu())
    x, w = (
        np.random.default_rng(1).normal(size=size).astype("float32") for size in ((5, 8), (8, 3))
    )
    found = machine["main"](*[te_sched.nd.array(one) for one in (x, w)]).numpy()
    np.testing.assert_allclose(found, np.exp(np.maximum(x @ w, 0)), 1e-4)


def test_modules_keep_their_functions():
    """Two modules have functions of one name, each compiled with options of its own."""

    def compiled(functions, options, constants):
        def product(x, w, out):
            out[:] = options["scale"] * np.maximum(x.numpy() @ w.numpy(), 0)

        return [product]

    te_sched.register_func("relax.ext.numpylib", compiled, override=True)
    x, w = np.full((1, 8), 0.5, "float32"), np.full((8, 3), 0.25, "float32")
    modules = [RunCodegen({"numpylib": {"scale": scale}})(partitioned()) for scale in (0, 1)]
    for scale, module in enumerate(modules):
        machine = relax.VirtualMachine(relax.build(module, "llvm"), te_sched.cpu())
        found = machine["main"](te_sched.nd.array(x), te_sched.nd.array(w)).numpy()
        np.testing.assert_allclose(found, np.exp(scale * (x @ w)), 1e-4)


def test_a_module_without_functions_of_libraries_stays():
    module = IRModule({"main": main})
    assert RunCodegen()(module) is module


def test_a_library_that_is_not_registered():
    named = FuseOpsByPattern([("absentlib.relu", PATTERNS[1][1])], annotate_codegen=True)
    with pytest.raises(GraphError, match="library absentlib is not registered"):
        RunCodegen()(named(IRModule({"main": main})))


def test_a_library_that_returns_too_little():
    te_sched.register_func("relax.ext.numpylib", lambda *args: [], override=True)
    with pytest.raises(GraphError, match="library numpylib returns a list for 1 functions"):
        RunCodegen()(partitioned())
