"""Passes that make graphs smaller: the graph computes the same before and after them."""

import numpy as np
import pytest

from te_sched import relax
from te_sched.errors import GraphError
from te_sched.relax.analysis import well_formed
from te_sched.relax.transform import fold_constant
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.add(x, y)
            _ = R.exp(b)
            pair = (a, b)
            c = pair[1]
            d = R.multiply(a, c)
            e = d
            R.output(a, e)
        f = R.match_cast(e, R.Tensor((4,), "float32"))
        return f

    @R.function(private=True)
    def absent(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return x


def _run(module, *given):
    return relax.VirtualMachine(relax.build(module, "llvm"))["main"](*given).numpy()


def _bindings(module):
    return [one for block in module["main"].body.blocks for one in block.bindings]


@I.ir_module
class Overwriting:
    @T.prim_func(private=True)
    def accumulate(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.block("x"):
                v = T.axis.spatial(T.int64(4), i)
                x[v] = x[v] + y[v]

    @R.function
    def main(y: R.Tensor((4,), "float32")):
        cls = Overwriting
        with R.dataflow():
            pair = (R.ones((4,), "float32"), R.ones((4,), "float32"))
            a = pair[0]
            b = R.ones((4,), "float32")
            c = R.call_tir_inplace(
                cls.accumulate, (a, y), inplace_indices=[0], out_sinfo=R.Tensor((4,), "float32")
            )
            d = R.multiply(c, b)
            R.output(d)
        return d


@pytest.mark.parametrize("name", ["FoldConstant", "EliminateCommonSubexpr", "CanonicalizeBindings"])
def test_values_that_are_overwritten_are_not_shared(name):
    module = getattr(relax.transform, name)()(Overwriting)
    machine = relax.VirtualMachine(relax.build(module, "llvm"))
    given = np.arange(4, dtype="float32")
    for _ in range(2):
        np.testing.assert_array_equal(machine["main"](given).numpy(), 1 + given)


PASSES = {
    "CanonicalizeBindings": 5,
    "DeadCodeElimination": 7,
    "EliminateCommonSubexpr": 8,
    "ConvertToDataflow": 5,
    "TopologicalSort": 8,
    "FoldConstant": 7,
}


@pytest.mark.parametrize("name", PASSES)
def test_passes_keep_what_is_computed(name):
    module = getattr(relax.transform, name)()(Module)
    assert well_formed(module)
    assert len(_bindings(module)) == PASSES[name]
    given = [np.random.rand(4).astype("float32") for _ in range(2)]
    np.testing.assert_allclose(_run(module, *given), sum(given) ** 2, rtol=1e-6)


def test_together_they_leave_two_calls():
    names = ["EliminateCommonSubexpr", "CanonicalizeBindings", "DeadCodeElimination"]
    module = Module
    for name in names:
        module = getattr(relax.transform, name)()(module)
    assert [str(one.value.op) for one in _bindings(module)] == ["relax.add", "relax.multiply"]
    assert [str(name) for name in module.functions] == ["main"]


def test_casts_must_be_consistent():
    @I.ir_module
    class Broken:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((5,), "float32")):
            n = T.int64()
            a = R.match_cast(x, R.Tensor((n,), "float32"))
            b = R.match_cast(y, R.Tensor((n,), "float32"))
            return (a, b)

    with pytest.raises(GraphError, match="MatchCast statements must be consistent: n is"):
        relax.transform.CanonicalizeBindings()(Broken)


def test_constants_are_computed_by_running_the_functions():
    array = np.arange(6, dtype="float32").reshape(2, 3)

    @I.ir_module
    class Constants:
        @R.function
        def main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                a = R.exp(w)
                b = R.multiply(a, w)
                c = R.add(x, b)
                R.output(c)
            return c

    module = relax.transform.BindParams("main", {"w": array})(Constants)
    folded = relax.transform.FoldConstant()(module)
    (binding,) = _bindings(folded)
    np.testing.assert_allclose(binding.value.args[1].data.numpy(), np.exp(array) * array, rtol=1e-5)
    np.testing.assert_allclose(_run(folded, array), array + np.exp(array) * array, rtol=1e-5)


def test_topological_sort_rejects_unknown_orders():
    with pytest.raises(GraphError, match="TopologicalSort has no order 'deep'"):
        relax.transform.TopologicalSort("deep")
    with pytest.raises(GraphError, match="TopologicalSort has no direction 'up'"):
        relax.transform.TopologicalSort("breadth-first", "up")


def test_breadth_first_sorts_by_distance():
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]), builder.dataflow():
        a = builder.emit(relax.op.add(x, x), "a")
        b = builder.emit(relax.op.add(a, x), "b")
        c = builder.emit(relax.op.exp(x), "c")
        builder.emit_func_output(builder.emit_output(relax.op.add(b, c), "d"))
    breadth = relax.transform.TopologicalSort("breadth-first")(builder.get())
    assert [one.var.name_hint for one in _bindings(breadth)] == ["a", "c", "b", "d"]
    deep = relax.transform.TopologicalSort("depth-first", "from-outputs")(breadth)
    assert [one.var.name_hint for one in _bindings(deep)] == ["a", "b", "c", "d"]


def _of_constants(*functions):
    """main() = the functions called with [1, 2], in turn and then added."""
    builder = relax.BlockBuilder()
    info = relax.TensorStructInfo([2], "float32")
    with builder.function("main", []):
        last = relax.const(np.array([1, 2], "float32"))
        for number, func in enumerate(functions):
            name = builder.add_func(func, f"f{number}")
            last = builder.emit(relax.call_tir(name, relax.Tuple([last]), info))
        builder.emit_func_output(last)
    return builder.get()


@T.prim_func(private=True)
def double(a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32")):
    for i in range(2):
        with T.block("b"):
            vi = T.axis.spatial(2, i)
            b[vi] = a[vi] * T.float32(2)


@T.prim_func(private=True)
def successor(a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32")):
    for i in range(2):
        with T.block("b"):
            vi = T.axis.spatial(2, i)
            b[vi] = a[vi] + T.float32(1)


@T.prim_func(private=True)
def foreign(a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32")):
    for i in range(2):
        with T.block("b"):
            vi = T.axis.spatial(2, i)
            b[vi] = T.call_extern("float32", "cleaning_is_not_there", a[vi])


def test_functions_of_constants_are_compiled_together(monkeypatch):
    built = []
    original = fold_constant.build
    monkeypatch.setattr(
        fold_constant,
        "build",
        lambda funcs, **o: (built.append(len(funcs)), original(funcs, **o))[1],
    )
    folded = relax.transform.FoldConstant()(_of_constants(double, successor, double))
    assert folded["main"].body.body.data.numpy().tolist() == [6, 10]
    assert built == [2]


def test_a_function_that_cannot_run_here_stays_and_others_are_folded():
    folded = relax.transform.FoldConstant()(_of_constants(double, foreign, successor))
    first, second = (one.value for one in _bindings(folded))
    assert (str(first.args[0]), str(second.args[0])) == ("f1", "f2")
    assert first.args[1].fields[0].data.numpy().tolist() == [2, 4]
