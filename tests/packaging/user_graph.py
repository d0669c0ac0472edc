"""A user's graphs under `mypy --strict` and pyright: scripts, builders, models, passes, calls."""

from __future__ import annotations

from typing import Annotated, TypeAlias, assert_type, cast

import numpy as np

import te_sched
from te_sched import dlight, relax, tir
from te_sched.relax.frontend import nn
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T

Rows: TypeAlias = Annotated[R.Tensor, ("n", 8), "float32"]


@I.ir_module
class Layer:
    I.module_attrs({"name": "layer"})

    @T.prim_func
    def double(a: T.handle, b: T.handle) -> None:
        n = T.int64()
        A = T.match_buffer(a, (n, 8), "float32")
        B = T.match_buffer(b, (n, 8), "float32")
        for i, j in T.grid(n, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    @R.function
    def main(x: Rows, w: Annotated[R.Tensor, (8, 8), "float32"]) -> Rows:
        R.func_attr({"num_input": 1})
        cls = Layer
        n = T.int64()
        with R.dataflow():
            y = R.matmul(x, w)
            y = R.nn.relu(y)
            y = R.add(y, R.const(1.0, "float32"))
            y = R.call_tir(cls.double, (y,), out_sinfo=R.Tensor((n, 8), "float32"))
            parts = R.split(y, 2, axis=1)
            z = R.concat((parts[1], parts[0]), axis=1)
            R.output(z)
        return z


@R.function
def choose(p: Annotated[R.Tensor, (), "bool"], x: R.Object) -> R.Object:
    t = R.match_cast(x, R.Tensor((4,), "float32"))
    if p:  # noqa: SIM108  (scripts have statements)
        y = R.exp(t)
    else:
        y = R.negative(t)
    return y


layer = cast(te_sched.IRModule, Layer)


class Model(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.first = nn.Linear(size, size)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return nn.op.relu(self.first(x)) + x


@relax.expr_functor.mutator
class Exponentials(relax.PyExprMutator):
    def visit_call_(self, call: relax.Call) -> relax.Expr:
        new: relax.Expr = super().visit_call_(call)
        if isinstance(new, relax.Call) and new.op.same_as(relax.Var("f")):
            return relax.op.exp(new.args[0])
        return new


@te_sched.transform.module_pass(opt_level=0)
class Twice:
    def transform_module(
        self, mod: te_sched.IRModule, ctx: te_sched.transform.PassContext
    ) -> te_sched.IRModule:
        return mod


def build_graph() -> te_sched.IRModule:
    bb = relax.BlockBuilder()
    n = tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo((n, 8), "float32"))
    w = relax.Var("w", R.Tensor((8, 8), "float32"))
    with bb.function("main", [x, w]):
        with bb.dataflow():
            y = bb.emit(relax.op.matmul(x, w))
            z = bb.emit(relax.op.nn.softmax(y, axis=-1))
            scaled = bb.emit((z + x) * relax.const(0.5, "float32"))
            out = bb.emit_output(scaled)
        bb.emit_func_output(out)
    return bb.get()


def run(mod: te_sched.IRModule) -> None:
    mod = te_sched.transform.Sequential(
        [relax.transform.LegalizeOps(), relax.transform.FuseOps(), relax.transform.FuseTIR()]
    )(mod)
    with te_sched.target.Target("llvm"):
        mod = dlight.ApplyDefaultSchedule(dlight.cpu.Default())(mod)
    executable = relax.build(mod, target="llvm")
    vm = relax.VirtualMachine(executable, te_sched.cpu())
    a, b = (np.random.rand(4, 8).astype("float32"), np.random.rand(8, 8).astype("float32"))
    result = vm["main"](te_sched.nd.array(a), te_sched.nd.array(b))
    print(result.numpy().shape)


if __name__ == "__main__":
    assert_type(choose, relax.Function)
    run(build_graph())
    run(layer)
    exported, params = Model(8).export_tvm(
        spec={"forward": {"x": nn.spec.Tensor((4, 8), "float32")}}
    )
    print(exported.script()[:40], len(params), relax.analysis.well_formed(exported))
    print(relax.get_pipeline("zero")(exported)["forward"])
