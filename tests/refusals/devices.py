"""Refusals of lowering for a GPU and of the emulated device, for hand-written kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import te_sched
from te_sched import te, tir
from te_sched.codegen.checker import check_program
from te_sched.codegen.emulator.emulate import emulate
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.lowering.device.pipeline import device_passes
from tests.codegen.checker import kernels as k
from tests.codegen.cuda.kernels import call
from tests.refusals.table import Case, enter

ZERO, ONE = E.IntImm(0), E.FloatImm(1.0)


def lowered(body: Callable[..., Any], threads: Any = 32, tag: str = "threadIdx.x") -> Any:
    """Lower a kernel with body(ib, out, tx, n)."""

    def run() -> None:
        ib = tir.ir_builder.create()
        A = tir.decl_buffer((64,), name="A")
        n = te.var("n")
        tx = E.IterVar(None, E.Var("tx"), "ThreadIndex", tag)
        ib.scope_attr(tx, "thread_extent", n if threads is None else threads)
        body(ib, ib.buffer_ptr(A), tx.var, n)
        func = tir.PrimFunc((n, A.data), ib.get(), {A.data: A}, {"global_symbol": "main"})
        device_passes(func)

    return run


def in_warp(
    body: Callable[..., Any], size: Any = 32, threads: Any = 32, dtype: str = "float32"
) -> Any:
    """Lower a kernel that keeps w[tx] in memory of a warp."""

    def with_memory(ib: Any, out: Any, tx: E.Var, n: E.Var) -> None:
        w = ib.allocate(dtype, n if size is None else size, name="w", scope="warp")
        body(ib, out, tx, n, w)

    return lowered(with_memory, threads)


def two_stores(ib: Any, out: Any, tx: E.Var, n: E.Var, w: Any) -> None:
    w[tx] = out[tx]
    w[tx * 2] = out[tx]


def constant_store(ib: Any, out: Any, tx: E.Var, n: E.Var, w: Any) -> None:
    w[0] = out[tx]


def shifted_store(ib: Any, out: Any, tx: E.Var, n: E.Var, w: Any) -> None:
    w[tx + 1] = out[tx]


def plain(ib: Any, out: Any, tx: E.Var, n: E.Var, w: Any) -> None:
    w[tx] = out[tx]
    out[tx] = w[31 - tx]


def own_rows(ib: Any, out: Any, tx: E.Var, n: E.Var, w: Any) -> None:
    w[tx] = out[tx]
    w[tx + 32] = out[tx]
    out[tx] = w[tx * 32 + 1 - tx // 2 * 32]


def addressed(ib: Any, out: Any, tx: E.Var, n: E.Var, w: Any) -> None:
    w[tx] = out[tx]
    ib.emit(S.Evaluate(call("int32", "call_extern", "f", w.buffer.data)))


def under_let(ib: Any, out: Any, tx: E.Var, n: E.Var, w: Any) -> None:
    w[tx] = out[tx]
    v = E.Var("v", "float32")
    with ib.if_scope(tx < 5):
        load = E.BufferLoad(w.buffer, (31 - tx,))
        ib.emit(S.LetStmt(v, load, S.BufferStore(out.buffer, v, (tx,))))


def in_loop(ib: Any, out: Any, tx: E.Var, n: E.Var, w: Any) -> None:
    w[tx] = out[tx]
    with ib.for_range(0, tx, name="i") as i:
        out[tx] = w[31 - tx] + i.astype("float32")


def in_while(ib: Any, out: Any, tx: E.Var, n: E.Var, w: Any) -> None:
    w[tx] = out[tx]
    store = S.BufferStore(out.buffer, E.BufferLoad(w.buffer, (31 - tx,)), (tx,))
    ib.emit(S.While(tx < 5, store))


def with_else(ib: Any, out: Any, tx: E.Var, n: E.Var, w: Any) -> None:
    w[tx] = out[tx]
    with ib.if_scope(tx < 5):
        out[tx] = w[31 - tx]
    with ib.else_scope():
        out[tx] = 0.0


def computed(ib: Any, out: Any, tx: E.Var, n: E.Var, w: Any) -> None:
    w[tx] = out[tx]
    with ib.if_scope(tx < 5):
        out[tx] = call("float32", "tvm_warp_shuffle", -1, w[tx] + out[tx], 3, 32, 32)


def below_zero(ib: Any, out: Any, tx: E.Var, n: E.Var, w: Any) -> None:
    w[tx] = out[tx]
    with ib.if_scope(tx < 5):
        out[tx] = w[n * 32 + 31 - tx]


def condition_of_branches(ib: Any, out: Any, tx: E.Var, n: E.Var) -> None:
    s = ib.allocate("float32", 32, name="s", scope="shared")
    s[tx] = out[tx]
    with ib.if_scope(s[0] > 0.0):
        s[tx] = 1.0
    out[tx] = s[31 - tx]


def barrier_of_some(ib: Any, out: Any, tx: E.Var, n: E.Var) -> None:
    s = ib.allocate("float32", 32, name="s", scope="shared")
    s[tx] = out[tx]
    with ib.if_scope(tx < 5):
        ib.emit(S.Evaluate(call("int32", "tvm_storage_sync", "shared")))
    out[tx] = s[31 - tx]


def no_reduction(ib: Any, out: Any, tx: E.Var, n: E.Var) -> None:
    x, y = E.Var("x", "float32"), E.Var("y", "float32")
    reducer = E.CommReducer((x,), (y,), (E.Add(x, y),), (E.FloatImm(0.0),))
    ib.emit(S.AttrStmt(reducer, "reduce_scope", ZERO, S.Evaluate(ZERO)))


def reduction_of_any(ib: Any, out: Any, tx: E.Var, n: E.Var) -> None:
    x, y = E.Var("x", "float32"), E.Var("y", "float32")
    reducer = E.CommReducer((x,), (y,), (E.Add(x, y),), (E.FloatImm(0.0),))
    result = ib.allocate("float32", 1, name="r", scope="local")
    all_of = call("handle", "tvm_thread_allreduce", 1, out[tx], True, result[0], tx)
    ib.emit(S.AttrStmt(reducer, "reduce_scope", ZERO, S.Evaluate(all_of)))


LOWERED: dict[str, Case] = {
    "threads of no kind": (
        lowered(lambda *_: None, tag="threadIdx.w"),
        BuildError,
        "unknown thread tag",
    ),
    "width of a warp": (in_warp(plain, threads=33), BuildError, "the lanes of a warp"),
    "different stores": (in_warp(two_stores), BuildError, "to different lanes"),
    "constant store": (in_warp(constant_store), BuildError, "is not a multiple of threadIdx.x"),
    "shifted store": (in_warp(shifted_store), BuildError, "by a lane that does not own it"),
    "size of warp memory": (in_warp(plain, None), BuildError, "its size is not constant"),
    "elements of all lanes": (in_warp(own_rows, 1024), BuildError, "lanes read different"),
    "address of warp memory": (in_warp(addressed), BuildError, "takes its address"),
    "shuffle in a let": (in_warp(under_let), BuildError, "computed under the same condition"),
    "shuffle in a loop": (in_warp(in_loop), BuildError, "not equally often"),
    "shuffle in a while": (in_warp(in_while), BuildError, "a loop not equally often"),
    "shuffle with else": (in_warp(with_else), BuildError, "it stands under"),
    "shuffle of a sum": (in_warp(computed), BuildError, "computed under the condition"),
    "shuffle below zero": (in_warp(below_zero, 64), BuildError, "may be out of bounds outside"),
    "condition in shared memory": (
        lowered(condition_of_branches),
        BuildError,
        "a condition reads shared memory",
    ),
    "barrier of some": (lowered(barrier_of_some), BuildError, "a barrier is inside of"),
    "no reduction": (lowered(no_reduction), BuildError, "body is not a tvm_thread_allreduce"),
    "reduction of blocks": (
        lowered(reduction_of_any, tag="blockIdx.x"),
        BuildError,
        r"blockIdx\.x",
    ),
    "reduction of any": (
        lowered(reduction_of_any, threads=None),
        BuildError,
        r"the extent of threadIdx\.x is not constant",
    ),
}


def emulated(body: Callable[[Any, E.Var], Any], threads: int = 32) -> Callable[[], Any]:
    def build(ib: Any, C: Any, tx: E.Var) -> None:
        made = body(ib, tx)
        ib.emit(S.Evaluate(made) if isinstance(made, E.Expr) else made)

    return lambda: emulate(k.program(build, [k.array("C", 32)], tx=threads))


def fragment(use: Callable[[E.Buffer], E.Expr], size: int = 256) -> Callable[[Any, E.Var], Any]:
    def made(ib: Any, tx: E.Var) -> S.Stmt:
        data = E.Var("F", "handle", E.PointerType("float16", "wmma.accumulator"))
        buffer = E.Buffer(data, "float16", (E.IntImm(size),), (), ZERO, "F")
        true = E.IntImm(1, "bool")
        return S.Allocate(data, "float16", (E.IntImm(size),), true, S.Evaluate(use(buffer)))

    return made


def filled(buffer: E.Buffer) -> E.Call:
    return call("handle", "tvm_fill_fragment", buffer.data, 16, 16, 16, 0, 0.0)


def matrices(*args: Any) -> Callable[[Any, E.Var], Any]:
    return lambda ib, tx: call("float32", "ptx_ldmatrix", *args)


FLOATS = E.Var("L", "handle", E.PointerType("float32", "local"))
HALVES = E.Var("L", "handle", E.PointerType("float16", "local"))
WORDS = ("m16n8k16", "row", "col", "fp16", "fp16", "fp32")


def product(*args: Any) -> Callable[[Any, E.Var], Any]:
    return lambda ib, tx: call("float32", "ptx_mma", *args)


EMULATED: dict[str, Case] = {
    "loose fragment": (
        emulated(lambda ib, tx: filled(fragment_of())),
        BuildError,
        "has no memory, or no constant",
    ),
    "loose pointer": (
        emulated(
            fragment(
                lambda f: call(
                    "handle",
                    "tvm_load_matrix_sync",
                    f.data,
                    16,
                    16,
                    16,
                    0,
                    E.Var("p", "handle"),
                    16,
                    "row_major",
                )
            )
        ),
        BuildError,
        "pointer p refers to unknown memory",
    ),
    "half a warp": (emulated(fragment(filled), 16), BuildError, "not made of whole warps"),
    "unknown shape": (
        emulated(product(WORDS[0], "col", *WORDS[2:], *[HALVES, 0] * 3)),
        BuildError,
        "expects a product of rows by columns",
    ),
    "registers of another type": (
        emulated(product(*WORDS, FLOATS, 0, FLOATS, 0, FLOATS, 0)),
        BuildError,
        "expects elements of float16, got L of float32",
    ),
    "no registers": (
        emulated(product(*WORDS, 1, 0, 1, 0, 1, 0)),
        BuildError,
        "expects memory of float16",
    ),
    "three matrices": (
        emulated(matrices(0, 3, ".b16", HALVES, 0, HALVES, 0)),
        BuildError,
        "expects 7 arguments and 1, 2 or 4 matrices",
    ),
    "matrices to nowhere": (
        emulated(matrices(0, 4, ".b16", 1, 0, HALVES, 0)),
        BuildError,
        "expects memory of a thread",
    ),
    "matrices of floats": (
        emulated(matrices(0, 4, ".b16", FLOATS, 0, FLOATS, 0)),
        BuildError,
        "expects elements of 16 bits",
    ),
    "matrices from nowhere": (
        emulated(matrices(0, 4, ".b16", HALVES, 0, 1, 0)),
        BuildError,
        "loads from unknown memory",
    ),
    "a strange statement": (
        emulated(
            lambda ib, tx: S.AssertStmt(
                E.LT(tx, E.IntImm(99)),
                E.StringImm("no"),
                S.Evaluate(call("int32", "tvm_storage_sync", "shared")),
            )
        ),
        BuildError,
        "cannot emulate a barrier inside of",
    ),
}


def fragment_of() -> E.Buffer:
    data = E.Var("F", "handle", E.PointerType("float16", "wmma.accumulator"))
    return E.Buffer(data, "float16", (E.IntImm(256),), (), ZERO, "F")


def checked(build: Callable[..., Any], argument: Any = None) -> Callable[[], Any]:
    def run() -> None:
        program = k.program(build, [k.array("C", 32)], tx=32)
        check_program(program, [np.zeros(32, "float32") if argument is None else argument])

    return run


def as_integers(ib: Any, C: Any, tx: E.Var) -> None:
    buffer = C.buffer
    wide = E.Buffer(buffer.data, "float64", (E.IntImm(16),), (), ZERO, "C")
    ib.emit(S.BufferStore(wide, E.FloatImm(1.0, "float64"), (tx,)))


def vectors_of_vectors(ib: Any, C: Any, tx: E.Var) -> None:
    buffer = C.buffer
    pairs = E.Buffer(buffer.data, "float32x2", (E.IntImm(16),), (), ZERO, "C")
    ib.emit(S.BufferStore(pairs, E.Broadcast(ONE, 4), (E.Ramp(ZERO, E.IntImm(1), 2),)))


CHECKED: dict[str, Case] = {
    "wider elements": (checked(as_integers), BuildError, "cannot access C, of float32, as float64"),
    "vectors of vectors": (checked(vectors_of_vectors), BuildError, "a vector of float32x2"),
    "text for an array": (
        checked(lambda ib, C, tx: None, "x"),
        te_sched.errors.CallError,
        "argument C .* must be an array, got a str",
    ),
}

enter("lowering for a GPU", LOWERED)
enter("emulating", EMULATED)
enter("checking kernels", CHECKED)
