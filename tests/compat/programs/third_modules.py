"""Third generation, TVM 0.19: modules of functions, passes over them, analysis, targets."""

import numpy as np
import tvm
import tvm.testing
from tvm import IRModule, arith, nd, runtime, target, te, tir
from tvm.ir import register_intrin_lowering, register_op_attr
from tvm.ir.module import IRModule as SameModule
from tvm.target import Target

assert SameModule is IRModule is tvm.ir.IRModule
register_op_attr("tir.compat_twice", "TCallEffectKind", tir.CallEffectKind.Pure)
A = te.placeholder((16,), name="A")
B = te.compute((16,), lambda i: tir.call_intrin("float32", "tir.compat_twice", A[i]), name="B")


@register_intrin_lowering("tir.compat_twice", target="default", level=20)
def twice(op):
    assert op.op.name == "tir.compat_twice"
    return op.args[0] + op.args[0]


s = te.create_schedule(B.op)
mod = tvm.lower(s, [A, B], name="main")
assert isinstance(mod, tvm.IRModule)
func = mod["main"]
assert isinstance(func, tir.PrimFunc)
assert len(func.params) == 2
found = []
tir.stmt_functor.post_order_visit(func.body, lambda node: found.append(type(node).__name__))
assert "For" in found


@tir.transform.prim_func_pass(opt_level=0)
def unroll(f, mod, ctx):
    def change(loop):
        if loop.kind == tir.ForKind.SERIAL:
            kind = tir.ForKind.UNROLLED
            return tir.For(loop.loop_var, loop.min, loop.extent, kind, loop.body)

    return f.with_body(tir.stmt_functor.ir_transform(f.body, None, change, ["tir.For"]))


unrolled = tvm.transform.Sequential([unroll, tir.transform.UnrollLoop(), tir.transform.Simplify()])(
    mod
)
assert "B[15]" in str(unrolled)
assert not tvm.ir.structural_equal(unrolled, mod)
tvm.ir.assert_structural_equal(mod, tvm.lower(s, [A, B]))
with Target("llvm", host="llvm"):
    f = tvm.build(unrolled)
a, b = nd.array(np.arange(16, dtype="float32"), tvm.cpu()), nd.empty((16,), "float32")
f["main"](a, b)
tvm.testing.assert_allclose(b.numpy(), 2 * a.numpy())

analyzer = arith.Analyzer()
x = te.var("x")
analyzer.bind(x, tvm.ir.Range(0, 10))
assert analyzer.const_int_bound(x * 2 + 1).max_value == 19
assert analyzer.modular_set(x * 4 + 1).coeff == 4
assert analyzer.can_prove(x < 10)
assert analyzer.simplify((x * 8 + 3) // 8).same_as(x)
assert runtime.enabled("llvm")
assert not runtime.enabled("compat_nothing")
assert runtime.DataType("float16").bits == 16
assert target.Target({"kind": "llvm", "mcpu": "generic"}).mcpu == "generic"
assert isinstance(f, runtime.Module)


@tvm.testing.requires_llvm
def test_marked():
    assert tvm.runtime.num_threads() >= 1


@target.generic_func
def kind_of_schedule():
    return "plain"


@kind_of_schedule.register(["cuda", "gpu"])
def _():
    return "gpu"


assert kind_of_schedule() == "plain"
with target.cuda(arch="sm_80"):
    assert kind_of_schedule() == "gpu"
test_marked()
