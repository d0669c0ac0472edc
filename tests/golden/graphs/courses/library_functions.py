"""Parts of a graph that a library computes: found by patterns, marked, merged. A mutator calls a
function of the environment in their place.
"""

import numpy as np
import tvm
from tvm import relax
from tvm.relax.backend import get_patterns_with_prefix
from tvm.relax.backend.pattern_registry import register_patterns
from tvm.relax.dpl import is_op, rewrite_call, wildcard
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Model:
    @R.function
    def main(
        x: R.Tensor((4, 16), "float32"),
        w: R.Tensor((16, 8), "float32"),
        b: R.Tensor((8,), "float32"),
        v: R.Tensor((8, 8), "float32"),
    ):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.add(y, b)
            r = R.nn.relu(z)
            t = R.matmul(r, v)
            o = R.tanh(t)
            R.output(o)
        return o


def linear():
    x, w, b = wildcard(), wildcard(), wildcard()
    product = is_op("relax.matmul")(x, w)
    return is_op("relax.nn.relu")(is_op("relax.add")(product, b)), {"product": product, "w": w}


def is_float(context):
    print(context.annotated_expr["product"], context.annotated_expr["w"].struct_info)
    return context.annotated_expr["product"].struct_info.dtype == "float32"


product = is_op("relax.matmul")(wildcard(), wildcard())
register_patterns([("course.product", product), ("course.linear", *linear(), is_float)])
patterns = get_patterns_with_prefix("course")
print([(one.name, one.pattern) for one in patterns])
parts = relax.transform.FuseOpsByPattern(patterns, annotate_codegen=True)(Model)
print(parts.script())
composites = relax.transform.FuseOpsByPattern(patterns[1:])(Model)
print(composites.script())
merged = relax.transform.MergeCompositeFunctions()(composites)
print([str(one.name_hint) for one in merged.get_global_vars()])


@tvm.register_func("env.course.product", override=True)
def product_of_library(x, w, out):
    out.copyfrom(x.numpy() @ w.numpy())


@relax.expr_functor.mutator
class WithLibrary(relax.PyExprMutator):
    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        if call.op == tvm.ir.Op.get("relax.matmul"):
            args = relax.Tuple(call.args)
            return relax.call_dps_packed("env.course.product", args, call.struct_info)
        return call


mixed = tvm.IRModule({"main": WithLibrary(Model).visit_expr(Model["main"])})
print(mixed.script())
inside = wildcard()
sigmoid = rewrite_call(
    is_op("relax.tanh")(inside), lambda expr, match: relax.op.sigmoid(match[inside]), Model["main"]
)
print(sigmoid.script())
rng = np.random.default_rng(0)
sizes = [(4, 16), (16, 8), (8,), (8, 8)]
x, w, b, v = arrays = [rng.normal(size=size).astype("float32") for size in sizes]
machine = relax.VirtualMachine(relax.build(mixed, "llvm"), tvm.cpu())
found = machine["main"](*[tvm.nd.array(one) for one in arrays]).numpy()
np.testing.assert_allclose(found, np.tanh(np.maximum(x @ w + b, 0) @ v), rtol=1e-4, atol=1e-5)
