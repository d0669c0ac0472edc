"""Passes of a user: a mutator that makes one function of a product and the sum that follows it, one
that lowers the operators to tensor expressions, and FuseTIR.
"""

import numpy as np
import tvm
from tvm import relax, topi
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Perceptron:
    @R.function
    def main(
        x: R.Tensor((1, 32), "float32"),
        w0: R.Tensor((32, 16), "float32"),
        b0: R.Tensor((16,), "float32"),
        w1: R.Tensor((16, 4), "float32"),
        b1: R.Tensor((4,), "float32"),
    ) -> R.Tensor((1, 4), "float32"):
        with R.dataflow():
            lv = R.matmul(x, w0)
            lv1 = R.add(lv, b0)
            lv2 = R.nn.relu(lv1)
            lv3 = R.matmul(lv2, w1)
            out = R.add(lv3, b1)
            R.output(out)
        return out


def is_call(expr, name):
    return isinstance(expr, relax.Call) and expr.op == tvm.ir.Op.get(name)


@relax.expr_functor.mutator
class Fuser(relax.PyExprMutator):
    def __init__(self, mod):
        super().__init__()
        self.mod, self.count = mod, 0

    def transform(self):
        for name, func in self.mod.functions.items():
            if isinstance(func, relax.Function):
                func = relax.analysis.remove_all_unused(self.visit_expr(func))
                self.builder_.update_func(name, func)
        return self.builder_.get()

    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        product = self.lookup_binding(call.args[0]) if is_call(call, "relax.add") else None
        if not is_call(product, "relax.matmul"):
            return call
        values = [*product.args, call.args[1]]
        names = zip("xwb", values)
        params = [relax.Var(name, value.struct_info) for name, value in names]
        name = f"fused_dense_add{self.count}"
        self.count += 1
        inner = relax.BlockBuilder()
        with inner.function(name, params):
            with inner.dataflow():
                lv = inner.emit(relax.op.matmul(params[0], params[1]))
                gv = inner.emit_output(relax.op.add(lv, params[2]))
            inner.emit_func_output(gv)
        func = inner.get()[name].with_attr("Primitive", 1).without_attr("global_symbol")
        return relax.Call(self.builder_.add_func(func, name), values)


@relax.expr_functor.mutator
class Lowerer(relax.PyExprMutator):
    functions = {
        "relax.matmul": topi.matmul,
        "relax.add": topi.add,
        "relax.nn.relu": topi.nn.relu,
    }

    def __init__(self, mod):
        super().__init__()
        self.mod = mod

    def transform(self):
        for name, func in self.mod.functions.items():
            if isinstance(func, relax.Function):
                self.builder_.update_func(name, self.visit_expr(func))
        return self.builder_.get()

    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        for name, function in self.functions.items():
            if is_call(call, name):
                return self.builder_.call_te(function, *call.args)
        return call


@tvm.ir.transform.module_pass(opt_level=2, name="FuseDenseAdd")
class FuseDenseAdd:
    def transform_module(self, mod, ctx):
        return Fuser(mod).transform()


@tvm.ir.transform.module_pass(opt_level=0, name="LowerToTensorIR")
class LowerToTensorIR:
    def transform_module(self, mod, ctx):
        return Lowerer(mod).transform()


fused = FuseDenseAdd()(Perceptron)
lowered = LowerToTensorIR()(fused)
final = relax.transform.FuseTIR()(lowered)
for module in (fused, lowered, final):
    print(module.script())
print(str(FuseDenseAdd().info).strip())
rng = np.random.default_rng(0)
params = Perceptron["main"].params
shapes = [[int(size) for size in param.struct_info.shape] for param in params]
x, w0, b0, w1, b1 = arrays = [rng.normal(size=one).astype("float32") for one in shapes]
want = np.maximum(x @ w0 + b0, 0) @ w1 + b1
joined = tvm.transform.Sequential([FuseDenseAdd(), LowerToTensorIR(), relax.transform.FuseTIR()])
print(tvm.ir.structural_equal(joined(Perceptron), final))
for module in (Perceptron, final):
    machine = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    found = machine["main"](*[tvm.nd.array(one) for one in arrays])
    np.testing.assert_allclose(found.numpy(), want, rtol=1e-4, atol=1e-5)
