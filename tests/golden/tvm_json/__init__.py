"""Programs and a database as TVM 0.19 saves them: `python -m tests.peer.tvm_json_files` makes the
files.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent

PRODUCT = """\
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        T.func_attr({"tir.noalias": T.bool(True)})
        for i, j, k in T.grid(8, 8, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""  # noqa: E501

_BLOCKS = """\
@I.ir_module
class Module:
    I.module_attrs({"version": 3, "names": ["a", "b"]})

    @T.prim_func
    def next(n: T.int32) -> T.int32:
        return n + 1

    @T.prim_func
    def main(a: T.handle, n: T.int32, C: T.Buffer((8, 8), "float32")):
        T.func_attr({"target": T.target("llvm -mtriple=x86_64-unknown-linux-gnu"), "half": 0.5, "deep": {"k": [1, "x"]}})
        m = T.int64(is_size_var=True)
        A = T.match_buffer(a, (m, 8), strides=(T.int64(8), 1), align=16, offset_factor=4)
        for i in T.parallel(8, annotations={"p": 1, "q": "s"}):
            for j in T.vectorized(8):
                C[i, j] = T.if_then_else(i < j, A[i, j], T.exp(A[i, j]) / T.float32(3))
        for k in T.unroll(4):
            T.evaluate(T.call_extern("int32", "f", Module.next(k), T.float64(0.1)))
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("b"):
                v = T.axis.spatial(8, tx)
                u = T.axis.opaque(8, tx)
                T.where(tx < 7)
                T.reads(C[v, 0:8])
                T.writes(C[v, 0:8])
                T.block_attr({"order": [1, T.int64(2)]})
                S = T.match_buffer(C[v, 0:8], (8,), strides=("s",), offset_factor=1)
                S[u] = T.Select(v < 3, T.float32(1), T.max(T.float32(2), C[v, u]))
        if n < 3 and not (n == 7 or n > 2):
            T.evaluate(n // 2 % 3 + T.truncdiv(n, 2) + T.truncmod(n, 2) - T.min(n, 1))
        else:
            T.evaluate(0)
"""  # noqa: E501

_LOOPS = """\
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), h: T.handle):
        x = T.allocate([16], "float32", "global", annotations={"z": 1})
        c = T.allocate_const([1, 2, 3], "int32", [3])
        x_1 = T.decl_buffer((16,), data=x)
        c_1 = T.decl_buffer((3,), "int32", data=c)
        with T.LetStmt(T.int32(3)) as y:
            x_1[T.Ramp(0, 1, 4)] = T.Broadcast(T.float32(3), 4)
            A[y] = T.Cast("float32", y) + T.Cast("float32", c_1[0])
        with T.launch_thread("threadIdx.x", 4) as tx:
            A[tx] = T.Shuffle([T.float32(1), T.float32(2)], [0])
        with T.attr(x, "storage", T.int32(3)):
            A[T.Ramp(0, 1, 4)] = A[T.Ramp(0, 1, 4)]
        assert A[0] > T.float32(1), "no"
        while A[0] > T.float32(1):
            A[0] = A[0] - T.float32(1)
        w = T.int32()
        with T.LetStmt(T.Let(w + 2, where={w: 5})) as z:
            A[z] = T.float32(7)
        T.evaluate(T.tvm_access_ptr(T.type_annotation("float32"), A.data, 0, 1, 1))
        T.evaluate(T.int64(4611686018427387904))
        T.evaluate(T.int8(-4))
        T.call_packed("f", h, A.data, T.float64(123456789.12345679))
"""

_GRAPH = """\
@I.ir_module
class Module:
    I.module_attrs({"half": 0.5, "version": 3})
    ext = R.ExternFunc("ext_name")

    @T.prim_func(private=True)
    def copy(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(4):
            y[i] = x[i]

    @R.function
    def main(x: R.Tensor((4,), "float32"), w: R.Tensor(("n * 2", "n")), s: R.Shape(["n", 4]), p: R.Prim(value="k"), cond: R.Tensor((), "bool"), f: R.Callable, t: R.Tuple(R.Tensor, R.Object)) -> R.Object:
        R.func_attr({"a": 1, "e": 1.5, "names": ["b", "c"], "on": True})
        n = T.int64()
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.copy, (x,), R.Tensor((4,), "float32"))
            lv1 = R.call_tir_with_grad(cls.copy, (lv,), R.Tensor((4,), "float32"), te_grad_name="g", te_grad_kwargs={"k": 1.0, "x": 2, "y": True})
            v = R.topk(R.add(lv1, R.const(1.5, "float32")), k=2, largest=False)
            R.output(v)
        if cond:
            o = R.nn.leakyrelu(x, alpha=0.1)
        else:
            o = x
        m = T.int64()
        z = R.match_cast(o, R.Tensor((m,), "float32"))
        c: R.Object = R.call_pure_packed("foo", z, R.prim_value(n + 3), R.str("a\\n"), R.dtype("int8"), sinfo_args=R.Object)
        d = cls.other
        return (v[1], z, R.shape([n, 2]), c, t, d)

    @R.function(private=True, pure=False)
    def other(g: R.Callable((R.Object, R.Tensor(ndim=1)), R.Tensor, False)) -> R.Tuple:
        @R.function
        def inner(a: R.Tensor(("q",), "float32")) -> R.Tensor(("q",), "float32"):
            return a

        u = R.print(R.const(True), format="x")
        return ()
"""  # noqa: E501

PROGRAMS = {"blocks": _BLOCKS, "graph": _GRAPH, "loops": _LOOPS}
