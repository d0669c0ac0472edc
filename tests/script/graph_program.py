"""A module of graphs with every construct; TVM 0.19 prints it as tests/golden/graphs/module.txt."""

# ruff: noqa: F841  (names of a script)
import numpy as np

from te_sched import relax
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T

C = relax.const(np.ones((2, 2), "float32"))


@I.ir_module(check_well_formed=False)
class Module:
    I.module_attrs({"attr": 10})
    ext = R.ExternFunc("ext_name")

    @T.prim_func(private=True)
    def zzz(x: T.Buffer((T.int64(128),), "float32"), y: T.Buffer((T.int64(128),), "float32")):
        T.evaluate(0)

    @T.prim_func
    def main(x: T.Buffer((T.int64(128),), "float32"), y: T.Buffer((T.int64(128),), "float32")):
        T.evaluate(0)

    @R.function
    def aaa(
        x: R.Tensor((128,), "float32"),
        xn: R.Tensor(("n * 2", "n")),
        s: R.Shape(["n", 4]),
        p: R.Prim(value="k"),
        cond: R.Tensor((), "bool"),
    ) -> R.Object:
        R.func_attr({"b": True, "a": 1, "c": "str", "d": [1, 2], "e": 1.5, "f": None})
        n = T.int64()
        cls = Module
        y = cls.zzz(x, x)
        g = R.call_packed("foo", x, sinfo_args=R.Tensor((n,)))
        g2 = R.call_pure_packed(
            "foo", x, sinfo_args=[R.Tensor, R.Object, R.Callable, R.Shape, R.Tuple]
        )
        t = (x,)
        t2 = ()
        t3 = (t, (t2, x))
        f2 = cls.bbb(C, xn)
        f3 = cls.bbb
        with R.dataflow():
            v = R.call_tir(
                cls.zzz, (x,), [R.Tensor((128,), "float32"), R.Tensor((128,), "float32")]
            )
            v1 = R.call_tir_inplace(cls.zzz, (x,), [0], R.Tensor((128,), "float32"))
            v2 = R.call_tir_inplace(
                cls.zzz, (x,), [0, -1], [R.Tensor((128,), "float32"), R.Tensor((128,), "float32")]
            )
            v3 = R.call_tir_with_grad(
                cls.zzz,
                (x,),
                R.Tensor((128,), "float32"),
                te_grad_name="grad_func",
                te_grad_kwargs={"k": 1.0, "x": 2, "y": True, "z": "s"},
            )
            v4: R.Object = R.call_dps_packed("foo", (x,), R.Tensor((128,), "float32"))
            v5 = R.call_dps_packed("foo", x, R.Tensor((128,), "float32"))
            v7 = R.prim_value(3)
            v8 = R.prim_value(n + 3)
            v10 = R.prim_value(T.float32(2.5))
            v11 = R.shape([n, T.max(n, 20), n // 2, 3])
            v12 = R.prim_value(T.Cast("int32", n) + 3)
            v13 = R.prim_value(n > 3)
            v14 = R.const(True)
            v15 = R.const(3)
            v16 = R.const(3, "float16")
            v17 = R.const(float("inf"), "float32")
            v18 = R.str('a"b\nc')
            v19 = R.dtype("int8")
            R.output(v, v2)
        if cond:
            w1 = R.add(x, x)
            o = R.add(w1, w1)
        else:
            o = R.add(x, x)
        m = T.int64()
        z = R.match_cast(o, R.Tensor((m,), "float32"))
        y = R.add(z, C)
        return (o, x, y)

    @R.function(private=True, pure=False)
    def bbb(x: R.Tensor(ndim=2), y: R.Tensor) -> R.Shape(ndim=2):
        n = T.int64()
        k = T.int64()

        @R.function
        def inner(a: R.Tensor(("q",), "float32")) -> R.Tensor(("q",), "float32"):
            q = T.int64()
            z = R.add(a, a)
            m = R.match_cast(z, R.Tensor((q,)))
            return m

        R.print(x, format="sss")
        u = R.assert_op(R.const(True), x, format="x")
        u2 = u
        _1 = R.match_cast(x, R.Tensor((n, k)))
        c = inner
        return R.shape([n, k])

    @R.function
    def nop() -> R.Tuple:
        return ()

    @R.function
    def nop3(
        ff: R.Callable((R.Object, R.Tensor((3,))), R.Tensor, False),
        pp: R.Callable,
        sp: R.Shape,
        tt: R.Tuple(R.Tensor(("n",)), R.Object),
    ):
        return (R.const(1),)
