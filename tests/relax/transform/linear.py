"""A product with symbolic sizes."""

from te_sched.script import ir as I
from te_sched.script import relax as R


@I.ir_module
class Linear:
    @R.function
    def main(x: R.Tensor(("b", "m"), "float32"), w: R.Tensor(("m", "n"), "float32")):
        with R.dataflow():
            gv = R.matmul(x, w)
            R.output(gv)
        return gv
