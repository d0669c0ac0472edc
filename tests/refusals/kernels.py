"""Refusals of the printer of CUDA, the checked mode and the emulated device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from te_sched import te
from te_sched.codegen.checker import check_program
from te_sched.codegen.checker.numbers import numpy_dtype
from te_sched.codegen.cuda import print_kernels
from te_sched.codegen.cuda.device_functions import expand_device_functions
from te_sched.codegen.cuda.types import floating
from te_sched.errors import BuildError, CallError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.ops import const
from tests.codegen.checker import kernels as k
from tests.codegen.cuda.kernels import allocate, array, call, kernel, text_of, thread
from tests.refusals.table import Case, enter

TX = thread()
C = array("C", 32)
INDEX = E.Var("i")
LOAD = E.BufferLoad(C, (TX,))
ZERO, ONE = E.IntImm(0), E.FloatImm(1.0)
VECTOR = E.Broadcast(E.FloatImm(1.0), 3)
FRAGMENT = array("F", 256, "float16", "wmma.matrix_a")
LOCAL = array("w", 1, scope="local")
PRODUCED = te.placeholder((4,), name="P")(0)
STORE = S.BufferStore(C, ONE, (TX,))


def printed(body: Any) -> Callable[[], Any]:
    """Print a kernel of a statement or an expression."""
    statement = S.Evaluate(body) if isinstance(body, E.Expr) else body
    return lambda: text_of(kernel(TX, [C], statement))


def stored(value: E.Expr, dtype: str | None = None) -> Callable[[], Any]:
    """Print a kernel that stores a value."""
    to = array("D", 32, dtype or value.dtype)
    return lambda: text_of(kernel(TX, [C, to], S.BufferStore(to, value, (TX,))))


def fill(m: Any) -> E.Call:
    return call("handle", "tvm_fill_fragment", FRAGMENT.data, m, 16, 16, 0, 0.0)


def fragment(buffer: E.Buffer, *sizes: Any) -> Callable[[], Any]:
    use = call("handle", "tvm_fill_fragment", buffer.data, *sizes, 0, 0.0)
    return printed(allocate(buffer, S.Evaluate(use)))


def late(key: str) -> S.Stmt:
    axis = E.IterVar(E.Range(ZERO, E.IntImm(2)), E.Var("v"), "ThreadIndex", "vthread")
    return S.AttrStmt(axis, key, E.IntImm(2), STORE)


def expanded(name: str, *args: Any) -> Callable[[], Any]:
    def build(ib: Any, buffer: Any, tx: E.Var) -> None:
        buffer[tx] = call("float32", "call_pure_extern", name, *args).astype("float32")

    return lambda: expand_device_functions(k.program(build, [k.array("C", 32)], tx=32))


PRINTED: dict[str, Case] = {
    "shuffle": (
        stored(E.Shuffle((E.Broadcast(ONE, 2),), (INDEX,))),
        BuildError,
        "lane numbers of a Shuffle must be constants",
    ),
    "vector argument": (
        printed(call("int32", "call_extern", "f", VECTOR)),
        BuildError,
        "a float32x3 as an argument|float32x3",
    ),
    "vector result": (
        stored(call("float32x8", "call_extern", "f")),
        BuildError,
        "a function that returns a float32x8",
    ),
    "exp of two": (
        stored(call("float32", "exp", 1.0, 2.0)),
        BuildError,
        "tir.exp has 2 arguments, expected 1",
    ),
    "exp of an integer": (
        stored(call("int32", "exp", 1)),
        BuildError,
        "exp expects floats, got int32",
    ),
    "address": (
        printed(call("int32", "call_extern", "f", call("handle", "address_of", 1))),
        BuildError,
        "address_of",
    ),
    "extern": (
        printed(call("int32", "call_extern", 1)),
        BuildError,
        "first argument of tir.call_extern must be",
    ),
    "atomic": (
        printed(call("int8", "atomic_add", C.data, const(1, "int8"))),
        BuildError,
        "atomic add does not support int8",
    ),
    "late thread": (printed(late("virtual_thread")), BuildError, "vthread"),
    "late loop": (
        printed(S.For(INDEX, ZERO, E.IntImm(2), "thread_binding", STORE)),
        BuildError,
        "kernel 'f'",
    ),
    "unknown size": (
        printed(
            S.Allocate(
                array("w", 1, scope="local").data, "float32", (TX,), E.IntImm(1, "bool"), STORE
            )
        ),
        BuildError,
        "size of array w .* is not a constant",
    ),
    "fragment without shape": (fragment(FRAGMENT, INDEX, 16, 16), BuildError, "constant m, n, k"),
    "fragment of no kind": (
        fragment(array("F", 256, "float16", "wmma.matrix_x"), 16, 16, 16),
        BuildError,
        "scope wmma.matrix_x, which does not exist",
    ),
    "fragment of odd size": (
        fragment(array("F", 100, "float16", "wmma.matrix_a"), 16, 16, 16),
        BuildError,
        "has 256",
    ),
    "mma without text": (printed(call("float32", "ptx_mma", 1, 2, 3)), BuildError, "ptx_mma"),
    "mma without shape": (
        printed(call("float32", "ptx_mma", "m1n1k1", "row", "col", "fp16", "fp16", "fp32")),
        BuildError,
        "ptx_mma of shape 'm1n1k1'",
    ),
    "matrices": (
        printed(call("float32", "ptx_ldmatrix", 0, 3, ".b16", C.data, 0, C.data, 0)),
        BuildError,
        "3 matrices of b16",
    ),
    "large constant": (
        lambda: floating(1e300, "float32"),
        BuildError,
        "larger than the largest float32",
    ),
    "expression": (
        printed(PRODUCED),
        BuildError,
        "a ProducerLoad(.|\n)*lower the schedule",
    ),
    "statement": (
        printed(S.BufferRealize(C, (), E.IntImm(1, "bool"), STORE)),
        BuildError,
        "a BufferRealize(.|\n)*lower the schedule",
    ),
    "choice of vectors": (
        stored(
            call(
                "float32x2",
                "if_then_else",
                E.GT(E.Ramp(TX, E.IntImm(1), 2), E.Broadcast(ZERO, 2)),
                call("float32x2", "call_extern", "f"),
                E.Broadcast(ONE, 2),
            )
        ),
        BuildError,
        "do not vectorize this loop|choice between vectors",
    ),
    "target": (
        lambda: print_kernels({"f": kernel(TX, [C], STORE)}, "llvm"),
        BuildError,
        "is not a CUDA device",
    ),
    "dot product": (expanded("__dp4a", 1.0, 1.0, 0), BuildError, "expects four bytes"),
    "cached load": (
        expanded("__ldg", 1.0),
        BuildError,
        "expects a pointer to an element of float32",
    ),
}


def checked(value: Any, dtype: str = "float32", **options: Any) -> Callable[[], Any]:
    """Run a kernel that stores a value in checked mode."""

    def build(ib: Any, buffer: Any, tx: E.Var) -> None:
        made = value(ib, tx) if callable(value) else value
        if isinstance(made, S.Stmt):
            ib.emit(made)
        elif made is not None:
            buffer[tx] = made

    def run() -> None:
        size = options.get("threads", 32)
        program = k.program(build, [k.array("C", size, dtype)], tx=size)
        numpy = {"bool": "bool", "bfloat16": "float32"}.get(dtype, dtype)
        check_program(program, [np.zeros(size, numpy)])

    return run


def emitted(body: Callable[[Any, E.Var], Any]) -> Callable[[], Any]:
    """Run a kernel of a statement in checked mode."""

    def build(ib: Any, tx: E.Var) -> None:
        made = body(ib, tx)
        if made is not None:
            ib.emit(S.Evaluate(made) if isinstance(made, E.Expr) else made)

    return checked(lambda ib, tx: build(ib, tx))


def in_scope(scope: str, size: Any) -> Callable[[Any, E.Var], S.Stmt]:
    def made(ib: Any, tx: E.Var) -> S.Stmt:
        buffer = array("w", 32, scope=scope)
        extent = tx if size is None else E.IntImm(size)
        store = S.BufferStore(buffer, ONE, (ZERO,))
        return S.Allocate(buffer.data, "float32", (extent,), E.IntImm(1, "bool"), store)

    return made


def on_fragment(use: Callable[[E.Buffer, E.Var], E.Expr], size: Any = 256) -> Any:
    def made(ib: Any, tx: E.Var) -> S.Stmt:
        buffer = array("F", 256, "float16", "wmma.accumulator")
        extent = tx if size is None else E.IntImm(size)
        body = S.Evaluate(use(buffer, tx))
        return S.Allocate(buffer.data, "float16", (extent,), E.IntImm(1, "bool"), body)

    return made


def filled(m: Any = 16, number: Any = 0) -> Callable[[E.Buffer, E.Var], E.Expr]:
    return lambda buffer, tx: call(
        "handle", "tvm_fill_fragment", buffer.data, m, 16, 16, tx if number is None else number, 0.0
    )


def reinterpreted(source: E.Expr, dtype: str) -> E.Expr:
    return E.Call(dtype, "tir.reinterpret", (source,))


CHECKED: dict[str, Case] = {
    "pointer": (
        emitted(lambda ib, tx: call("float32", "atomic_add", 1, 1.0)),
        BuildError,
        "does not support the pointer",
    ),
    "no host": (
        lambda: check_program(S.IRModule({"f": kernel(TX, [C], STORE)}), []),
        BuildError,
        "no host function",
    ),
    "dimensions": (
        lambda: check_program(k.reverse()[0], [np.zeros((2, 2), "float32")] * 2),
        CallError,
        "has 2 dimensions, expected 1",
    ),
    "threads": (checked(ONE, threads=2048), BuildError, "2048 threads in a block"),
    "expression": (checked(lambda ib, tx: PRODUCED), BuildError, "support ProducerLoad"),
    "shuffle": (
        checked(lambda ib, tx: E.Shuffle((E.Broadcast(ONE, 2),), (tx,))),
        BuildError,
        "indices that are not constant",
    ),
    "intrinsic": (
        checked(call("float32", "no_such_intrinsic")),
        BuildError,
        "the intrinsic tir.no_such_intrinsic",
    ),
    "large number": (
        checked(lambda ib, tx: call("uint64", "large_uint_imm", tx, tx), "uint64"),
        BuildError,
        "large_uint_imm of what is not constant",
    ),
    "bits of bfloat16": (
        checked(reinterpreted(E.FloatImm(1.0, "bfloat16"), "int16"), "int16"),
        BuildError,
        "reinterpret of bfloat16",
    ),
    "bits of lanes": (
        checked(
            lambda ib, tx: reinterpreted(E.Broadcast(E.FloatImm(1.0, "float16"), 2), "float32")
        ),
        BuildError,
        "another number of lanes",
    ),
    "statement": (
        emitted(lambda ib, tx: S.BufferRealize(C, (), E.IntImm(1, "bool"), S.Evaluate(ZERO))),
        BuildError,
        "the statement BufferRealize",
    ),
    "assertion": (
        emitted(
            lambda ib, tx: S.AssertStmt(E.LT(tx, E.IntImm(5)), E.StringImm("no"), S.Evaluate(ZERO))
        ),
        CallError,
        "assertion failed in .*: no",
    ),
    "scope": (emitted(in_scope("texture", 32)), BuildError, "memory of scope 'texture'"),
    "size": (emitted(in_scope("local", None)), BuildError, "size that differs between threads"),
    "barrier": (
        emitted(lambda ib, tx: call("int32", "tvm_storage_sync", "global")),
        BuildError,
        "a barrier of scope 'global'",
    ),
    "width": (
        checked(lambda ib, tx: call("float32", "tvm_warp_shuffle", -1, 1.0, 0, 3, 32)),
        BuildError,
        "a shuffle of width 3",
    ),
    "shuffle of vectors": (
        checked(
            lambda ib, tx: E.Shuffle(
                (call("float32x2", "tvm_warp_shuffle", -1, E.Broadcast(ONE, 2), 0, 32, 32),),
                (ZERO,),
            )
        ),
        BuildError,
        "a shuffle of vectors",
    ),
    "fragment without shape": (
        emitted(on_fragment(lambda buffer, tx: filled(tx)(buffer, tx))),
        BuildError,
        "without constant m, n, k",
    ),
    "number of a fragment": (
        emitted(on_fragment(filled(number=None))),
        BuildError,
        "differs between threads",
    ),
    "product of three": (
        emitted(on_fragment(lambda b, tx: call("handle", "tvm_mma_sync", b.data, 0, b.data, 0))),
        BuildError,
        "without four fragments",
    ),
    "fragment of unknown size": (
        emitted(on_fragment(filled(), None)),
        BuildError,
        "a size that is not constant",
    ),
    "fragment in half a warp": (
        checked(lambda ib, tx: on_fragment(filled())(ib, tx), threads=16),
        BuildError,
        "not made of whole warps",
    ),
    "void": (
        lambda: numpy_dtype("void"),
        BuildError,
        "void",
    ),
}

enter("printing CUDA", PRINTED)
enter("checked mode", CHECKED)
