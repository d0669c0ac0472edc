"""Machines of modules of tests."""

import te_sched
from te_sched import relax
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T

CPU = te_sched.cpu()


@I.ir_module
class Symbolic:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), s: R.Shape(["n", "k"])):
        n = T.int64()
        k = T.int64()
        with R.dataflow():
            lv = R.add(x, x)
            out = R.reshape(lv, R.shape([n * 4]))
            R.output(out)
        return (out, R.shape([n + k, 2]), R.prim_value(n * k))

    @R.function
    def nothing() -> R.Tuple():
        return R.tuple()


def machine(module, **options):
    import te_sched.relax.testing.vm  # noqa: F401 - it registers functions

    return relax.VirtualMachine(relax.build(module, "llvm"), CPU, **options)
