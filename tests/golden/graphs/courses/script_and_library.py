"""A module in TVMScript: functions of loops, a graph that calls them, a function of the environment
that writes its result, and two others that return theirs. One function of loops is scheduled.
"""

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Layers:
    I.module_attrs({"chapter": 2})

    @T.prim_func(private=True)
    def product(a: T.handle, b: T.handle, c: T.handle):
        T.func_attr({"tir.noalias": True})
        m, n, k = T.int64(), T.int64(), T.int64()
        A = T.match_buffer(a, (m, k))
        B = T.match_buffer(b, (k, n))
        C = T.match_buffer(c, (m, n))
        for i, j, r in T.grid(m, n, k):
            with T.block("C"):
                vi, vj, vr = T.axis.remap("SSR", [i, j, r])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] += A[vi, vr] * B[vr, vj]

    @T.prim_func
    def bias(
        A: T.Buffer((4, 8), "float32"),
        b: T.Buffer((8,), "float32"),
        C: T.Buffer((4, 8), "float32"),
    ):
        for i, j in T.grid(4, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + b[vj]

    @R.function
    def main(
        x: R.Tensor((4, 16), "float32"),
        w: R.Tensor((16, 8), "float32"),
        b: R.Tensor((8,), "float32"),
    ) -> R.Tensor((4, 8), "float32"):
        R.func_attr({"num_input": 1})
        cls = Layers
        with R.dataflow():
            y = R.call_tir(cls.product, (x, w), out_sinfo=R.Tensor((4, 8), "float32"))
            z = R.call_tir(cls.bias, (y, b), out_sinfo=R.Tensor((4, 8), "float32"))
            s = R.call_dps_packed("course.softmax", z, out_sinfo=R.Tensor((4, 8), "float32"))
            R.output(s)
        return s

    @R.function
    def rows(x: R.Tensor(("n", 8), "float32")) -> R.Tensor(("n", 8), "float32"):
        n = T.int64()
        half = R.call_pure_packed("course.half", x, sinfo_args=R.Tensor((n, 8), "float32"))
        return R.add(half, half)

    @R.function(pure=False)
    def noted(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        _ = R.call_packed("course.note", x, sinfo_args=R.Tuple())
        return x


@tvm.register_func("course.softmax", override=True)
def softmax(x, out):
    exponent = np.exp(x.numpy() - x.numpy().max(-1, keepdims=True))
    out.copyfrom(exponent / exponent.sum(-1, keepdims=True))


@tvm.register_func("course.half", override=True)
def half(x):
    return tvm.nd.array(x.numpy() / 2)


noted = []
tvm.register_func("course.note", lambda x: noted.append(x.shape), override=True)

print(Layers.script())
print(Layers.attrs["chapter"], Layers["main"].attrs["num_input"], Layers["main"].ret_struct_info)
for binding in Layers["main"].body.blocks[0].bindings:
    print(binding.var.name_hint, binding.value, binding.value.op.name)
rng = np.random.default_rng(0)
x, w, b = (rng.normal(size=size).astype("float32") for size in ((4, 16), (16, 8), (8,)))
logits = np.exp(x @ w + b)
for_main = [tvm.nd.array(one) for one in (x, w, b)]

schedule = tvm.tir.Schedule(Layers)  # the graphs stay as they are
i, j = schedule.get_loops(schedule.get_block("C", func_name="bias"))
schedule.vectorize(j)
print(schedule.mod["bias"].script())
for module in (Layers, schedule.mod):
    machine = relax.VirtualMachine(relax.build(module, tvm.target.Target("llvm")), tvm.cpu())
    found = machine["main"](*for_main).numpy()
    np.testing.assert_allclose(found, logits / logits.sum(-1, keepdims=True), rtol=1e-4)
machine.set_input("main", *for_main)
machine.invoke_stateful("main")
np.testing.assert_array_equal(machine.get_outputs("main").numpy(), found)
np.testing.assert_array_equal(machine["rows"](tvm.nd.array(found)).numpy(), found)
print(machine["noted"](tvm.nd.array(np.arange(2, dtype="float32"))), [tuple(one) for one in noted])
