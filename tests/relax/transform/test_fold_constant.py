"""FoldConstant: values of constants are computed by running their functions."""

import numpy as np
import pytest

from te_sched import relax, topi
from te_sched.relax.transform import fold_constant
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T
from tests.relax.transform.cleaned import bindings_of, check_kept, check_overwritten, run


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
    (binding,) = bindings_of(folded)
    np.testing.assert_allclose(binding.value.args[1].data.numpy(), np.exp(array) * array, rtol=1e-5)
    np.testing.assert_allclose(run(folded, array), array + np.exp(array) * array, rtol=1e-5)


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
    first, second = (one.value for one in bindings_of(folded))
    assert (str(first.args[0]), str(second.args[0])) == ("f1", "f2")
    assert first.args[1].fields[0].data.numpy().tolist() == [2, 4]


def test_the_graph_computes_the_same():
    check_kept(relax.transform.FoldConstant(), 7)


def test_values_that_are_overwritten_are_not_shared():
    check_overwritten(relax.transform.FoldConstant())


@pytest.mark.parametrize("rows", [1024, 256])
def test_large_operands_of_products_may_be_left(rows):
    x = relax.Var("x", relax.TensorStructInfo([2, rows], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            weight = builder.emit_te(topi.exp, relax.const(np.zeros((rows, 512), "float32")))
            other = builder.emit_te(topi.exp, relax.const(np.zeros((2, 512), "float32")))
            product = builder.emit_te(topi.matmul, x, weight)
            out = builder.emit_output(builder.call_te(topi.add, product, other))
        builder.emit_func_output(out)
    module = relax.transform.AnnotateTIROpPattern()(builder.get())
    assert len(bindings_of(relax.transform.FoldConstant()(module))) == 2
    folded = relax.transform.FoldConstant(leaves_large=True)(module)
    assert len(bindings_of(folded)) == 2 + (rows == 1024)


def test_large_values_with_two_uses_are_computed_once():
    x = relax.Var("x", relax.TensorStructInfo([512, 512], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            weight = builder.emit_te(topi.exp, relax.const(np.zeros((512, 512), "float32")))
            product = builder.emit_te(topi.matmul, x, weight)
            out = builder.emit_output(builder.call_te(topi.matmul, product, weight))
        builder.emit_func_output(out)
    module = relax.transform.AnnotateTIROpPattern()(builder.get())
    assert len(bindings_of(relax.transform.FoldConstant(leaves_large=True)(module))) == 2
