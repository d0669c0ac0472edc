"""Copies of functions, and calls replaced by the body of the function."""

import numpy as np
import pytest

from te_sched import relax
from te_sched.errors import GraphError
from te_sched.relax.analysis import well_formed
from te_sched.script import ir as I
from te_sched.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor((2, 3), "float32"), b: R.Tensor((4, 3), "float32")):
        cls = Module
        with R.dataflow():
            c = cls.twice(a)
            d = cls.twice(b)
            e = R.concat((c, d))
            R.output(e)
        return e

    @R.function(private=True)
    def twice(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        y = R.add(x, x)
        return y


def test_private_functions_are_inlined_with_their_sizes():
    module = relax.transform.InlinePrivateFunctions()(Module)
    assert [str(name) for name in module.functions] == ["main"]
    assert well_formed(module)
    given = [np.random.rand(2, 3).astype("float32"), np.random.rand(4, 3).astype("float32")]
    machine = relax.VirtualMachine(relax.build(module, "llvm"))
    expected = 2 * np.concatenate(given)
    np.testing.assert_allclose(machine["main"](*given).numpy(), expected, rtol=1e-6)


def test_arguments_of_which_less_is_known_are_cast():
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    a = relax.Var("a", relax.TensorStructInfo(dtype="float32", ndim=1))
    builder = relax.BlockBuilder()
    with builder.function("f", [x], private=True):
        f = builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    with builder.function("main", [a]):
        builder.emit_func_output(builder.emit(relax.Call(f, [a])))
    main = relax.transform.InlinePrivateFunctions()(builder.get())["main"]
    assert isinstance(main.body.blocks[0].bindings[0], relax.MatchCast)


def test_inline_functions_rejects_recursion_and_two_of_a_name():
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    name = relax.GlobalVar("f")
    name.struct_info_ = relax.FuncStructInfo([x.struct_info], x.struct_info)
    builder = relax.BlockBuilder()
    with builder.function("f", [x], private=True):
        builder.emit_func_output(builder.emit(relax.Call(name, [x])))
    func = builder.get()["f"]
    with pytest.raises(GraphError, match="function f calls itself"):
        func.inline_functions({"f": func})

    class Other(str):
        def __hash__(self):
            return 1

        def __eq__(self, other):
            return self is other

    with pytest.raises(GraphError, match="function f is given twice"):
        func.inline_functions({"f": func, Other("f"): func})
