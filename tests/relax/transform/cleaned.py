"""Graphs that passes make smaller: they compute the same before and after."""

import numpy as np

from te_sched import relax
from te_sched.relax.analysis import well_formed
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


def run(module, *given):
    return relax.VirtualMachine(relax.build(module, "llvm"))["main"](*given).numpy()


def bindings_of(module):
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


def check_kept(applied_pass, count):
    """After a pass, `Module` has a number of bindings, and computes what it computed."""
    module = applied_pass(Module)
    assert well_formed(module)
    assert len(bindings_of(module)) == count
    arrays = [np.random.default_rng(seed).random(4, "float32") for seed in range(2)]
    np.testing.assert_allclose(run(module, *arrays), sum(arrays) ** 2, rtol=1e-6)


def check_overwritten(applied_pass):
    """A pass does not share the tensor that is overwritten with another one."""
    machine = relax.VirtualMachine(relax.build(applied_pass(Overwriting), "llvm"))
    array = np.arange(4, dtype="float32")
    for _ in range(2):
        np.testing.assert_array_equal(machine["main"](array).numpy(), 1 + array)
