"""Refusals of invalid and hostile input."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

import te_sched
from te_sched import nd, te, tir
from te_sched.errors import (
    BuildError,
    CallError,
    DeclarationError,
    LoweringError,
    OperandError,
    ParameterError,
)
from tests.refusals.table import Case, enter, enter_primitives

A = te.placeholder((8, 8), name="A")
B = te.placeholder((8,), name="B")
K = te.reduce_axis((0, 8), name="k")
C = te.compute((8,), lambda i: B[i] + 1, name="C")


def element(body: Callable[..., Any]) -> Callable[[], Any]:
    return lambda: te.compute((8,), body, name="D")


def reduction(combine: Any, identity: Any, value: Any = None) -> Callable[[], Any]:
    def declare() -> Any:
        reducer = te.comm_reducer(combine, identity)
        source = (lambda i: A[i, K]) if value is None else value
        return te.compute((8,), lambda i: reducer(source(i), axis=K))

    return declare


DECLARATIONS: dict[str, Case] = {
    "shape bytes": (
        lambda: te.placeholder(b"ab"),
        DeclarationError,
        "the shape of te.placeholder is b'ab', expected a tuple ",
    ),  # type: ignore[arg-type]
    "shape axis": (
        lambda: te.placeholder((K,)),
        DeclarationError,
        "an extent of te.placeholder is",
    ),
    "dtype class": (
        lambda: te.placeholder((4,), dtype=float),
        DeclarationError,
        "unknown data type",
    ),  # type: ignore[arg-type]
    "dtype int": (lambda: te.const(1, 1), DeclarationError, "unknown data type 1"),  # type: ignore[arg-type]
    "dtype no lanes": (
        lambda: te.placeholder((4,), "float32x0"),
        DeclarationError,
        "unknown data type",
    ),
    "tag": (
        lambda: te.compute((8,), lambda i: B[i], tag=3),
        DeclarationError,
        "the tag of te.compute is 3, expected a string",
    ),  # type: ignore[arg-type]
    "attrs": (
        lambda: te.compute((8,), lambda i: B[i], attrs=3),
        DeclarationError,
        "attrs of te.compute is 3, expected a dict with string keys",
    ),  # type: ignore[arg-type]
    "varargs_names": (
        lambda: te.compute((8,), lambda *i: B[i], varargs_names=3),  # type: ignore[arg-type]
        DeclarationError,
        "varargs_names of te.compute is 3, expected a list of string",
    ),
    "keyword-only": (element(lambda i, *, q: B[i]), DeclarationError, "keyword argument q"),
    "power": (element(lambda i: i**2), OperandError, r"use te\.power"),
    "reflected power": (element(lambda i: 2**i), OperandError, r"use te\.power"),
    "abs": (element(lambda i: abs(B[i])), OperandError, r"use te\.abs"),
    "round": (element(lambda i: round(B[i])), OperandError, r"use te\.round"),
    "int": (element(int), OperandError, "cast it"),
    "float": (element(lambda i: float(B[i])), OperandError, "cast it"),
    "max": (element(max), OperandError, "cannot iterate over var i"),
    "len": (element(lambda i: len(B)), OperandError, "tensor.shape"),
    "iterate tensor": (
        element(lambda i: list(B)),
        OperandError,
        "cannot iterate over tensor B",
    ),
    "array of tensor": (
        lambda: np.asarray([B, B]),
        OperandError,
        r"numpy cannot make an array of tensor B(.|\n)*call it with arrays",
    ),
    "nd.array of tensor": (
        lambda: nd.array(B),
        OperandError,
        "numpy cannot make an array of tensor B",
    ),
    "iterate slice": (element(lambda i: list(A[i])), OperandError, "cannot iterate over"),
    "iterate buffer": (
        lambda: list(tir.decl_buffer((4,))),
        OperandError,
        "cannot iterate over buffer buffer",
    ),
    "range of ints": (lambda: te.thread_axis((0, 4), ["threadIdx.x"]), DeclarationError, "the tag"),  # type: ignore[arg-type]
    "thread array": (
        lambda: te.thread_axis(None, np.array([2, 3])),
        DeclarationError,
        r"the tag of a thread axis is array\(\[2, 3\]\), expected a string",
    ),  # type: ignore[arg-type]
    "thread name": (
        lambda: te.thread_axis((0, 4), "threadIdx.x", name=3),
        DeclarationError,
        "the name of thread_axis is 3, expected a string",
    ),  # type: ignore[arg-type]
    "output": (lambda: C.op.output(1), DeclarationError, "it has 1 outputs"),
    "reducer arity": (
        reduction(
            lambda x, y: (x[0] + y[0], x[1] + y[1]),
            lambda t, u: (te.const(0, t), te.const(0, u)),
        ),
        DeclarationError,
        "the combiner of reducer reduce fails on one: variable x cannot be indexed\n",
    ),
    "reducer init": (
        lambda: te.sum(A[0, K], K, init="x"),
        DeclarationError,
        "the initial value of reducer sum has dtype handle, expected floa",
    ),
    "extern function": (
        lambda: te.extern((8,), [A], None),
        DeclarationError,
        "the function of te.extern is None, which cannot be called",
    ),  # type: ignore[arg-type]
    "extern arity": (
        lambda: te.extern((8,), [A], lambda i: 1),
        ParameterError,
        "the function of .* takes 1 argument, expected 2",
    ),
    "extern dtype": (
        lambda: te.extern((8,), [A], lambda i, o: 1, dtype=3),  # type: ignore[arg-type]
        DeclarationError,
        "unknown data type 3",
    ),
    "extern buffers": (
        lambda: te.extern((8,), [A], lambda i, o: 1, out_buffers=3),  # type: ignore[arg-type]
        DeclarationError,
        "out_buffers of te.extern is 3, expected buffers",
    ),
    "scan of nothing": (lambda: te.scan([], [], []), DeclarationError, "same length"),
    "scan inputs": (
        lambda: te.scan(C, C, B, inputs=3),
        DeclarationError,
        "a state of scan scan is 3, expected a tensor of at least one dim",
    ),  # type: ignore[arg-type]
    "intrinsic arity": (
        lambda: te.decl_tensor_intrin(C.op, lambda i: 1),
        ParameterError,
        "the function of .* takes 1 argument, expected 2",
    ),
    "intrinsic binds": (
        lambda: te.decl_tensor_intrin(C.op, lambda i, o: 1, binds={C: 3}),  # type: ignore[dict-item]
        DeclarationError,
        "expected a buffer",
    ),
    "intrinsic scalars": (
        lambda: te.decl_tensor_intrin(C.op, lambda i, o: 1, scalar_params=[3]),  # type: ignore[list-item]
        DeclarationError,
        r"scalar_params of tensor intrinsic tensor_intrin is \[3\], expected",
    ),
    "intrinsic defaults": (
        lambda: te.decl_tensor_intrin(C.op, lambda i, o: 1, default_buffer_params={"x": 3}),
        DeclarationError,
        "keyword arguments of decl_buffer",
    ),
    "buffer strides": (
        lambda: tir.decl_buffer((4,), strides=3),
        DeclarationError,
        "strides of decl_buffer is 3",
    ),  # type: ignore[arg-type]
    "buffer data": (
        lambda: tir.decl_buffer((4,), data=3),
        DeclarationError,
        "the data of buffer buffer is 3, expected a pointer variable",
    ),  # type: ignore[arg-type]
    "buffer factor": (
        lambda: tir.decl_buffer((4,), offset_factor="x"),
        DeclarationError,
        "expected an int",
    ),  # type: ignore[arg-type]
    "buffer name": (
        lambda: tir.decl_buffer((4,), "float32", 3),
        DeclarationError,
        "expected a str",
    ),  # type: ignore[arg-type]
    "buffer separators": (
        lambda: tir.decl_buffer((4,), axis_separators=[9]),
        DeclarationError,
        r"axis_separators of buffer buffer is \[9\], expected positions betw",
    ),
}


def lowered(**options: Any) -> Callable[[], Any]:
    return lambda: te_sched.lower(te.create_schedule(C.op), [B, C], **options)


def built(args: Any, target: Any = None, **options: Any) -> Callable[[], Any]:
    return lambda: te_sched.build(te.create_schedule(C.op), args, target, **options)


def huge() -> Any:
    big = te.placeholder((2**16, 2**16), "int8", name="big")
    copy = te.compute((2**16, 2**16), lambda i, j: big[i, j], name="copy")
    return te_sched.build(te.create_schedule(copy.op), [big, copy])


def padded(factor: int) -> Callable[[], Any]:
    def action() -> Any:
        total = te.compute((8,), lambda i: C[i] * 2, name="E")
        s = te.create_schedule(total.op)
        s[C].storage_align(C.op.axis[0], factor, 0)
        return te_sched.build(s, [B, total])

    return action


def threads_from_elsewhere() -> Any:
    """Threads with errors whose location is in this file, through the standard library."""
    source = te.placeholder((16,), name="source")
    first = te.compute((16,), lambda i: source[i] + 1, name="first")
    last = te.compute((16,), lambda i: first[i] * 2, name="last")
    s = te.create_schedule(last.op)
    s[first].bind(first.op.axis[0], te.thread_axis((0, 16), "threadIdx.x"))
    s[last].bind(last.op.axis[0], te.thread_axis("blockIdx.x"))
    s[first].compute_at(s[last], last.op.axis[0])
    return te_sched.lower(s, [source, last])


OTHER = te.compute((8,), lambda i: B[i] * 2, name="OTHER")
WRONG = tir.decl_buffer((8,), "int32")

LOWERING: dict[str, Case] = {
    "args tensor": (built(B), LoweringError, "args must be a list"),
    "args int": (built(3), LoweringError, "args must be a list"),
    "args mapping": (built({B: C}), LoweringError, "args must be a list"),
    "variable twice": (built([B, C, K.var, K.var]), LoweringError, "given twice"),
    "foreign tensor": (built([B, C, OTHER]), BuildError, "is not computed by the schedule"),
    "binds": (lowered(binds=3), LoweringError, "binds must be a mapping"),
    "binds key": (lowered(binds={"A": 3}), LoweringError, "key of binds must be a tensor"),
    "binds value": (lowered(binds={B: 3}), DeclarationError, "expected a buffer"),
    "binds dtype": (
        lowered(binds={B: WRONG}),
        DeclarationError,
        "buffer buffer of lower for tensor B has dtype int32, expected fl",
    ),
    "binds shape": (
        lowered(binds={B: tir.decl_buffer((4,))}),
        DeclarationError,
        "buffer buffer of lower for tensor B has another shape than the t",
    ),
    "name": (lowered(name=3), LoweringError, "name of lower is 3"),
    "no name": (lowered(name=""), LoweringError, "name of a function must be"),
    "target": (built([B, C], ""), BuildError, "is not a target kind"),
    "target quote": (built([B, C], "llvm 'x"), BuildError, "close all quotes"),
    "mcpu missing": (built([B, C], "llvm -mcpu"), BuildError, "unknown processor"),
    "mattr": (built([B, C], "llvm -mattr=avx2"), BuildError, r"write \+avx2 or -avx2"),
    "mattr unknown": (built([B, C], "llvm -mattr=+foo"), BuildError, "unknown feature foo"),
    "more elements than int32": (huge, BuildError, "4294967296 elements"),
    "padding that wraps to 0": (padded(2**30), BuildError, "8589934592 elements"),
    "padding that wraps below 0": (padded(2**31 - 1), BuildError, "elements"),
    "threads from elsewhere": (
        threads_from_elsewhere,
        LoweringError,
        "is bound to threadIdx.x but starts at",
    ),
}


def program() -> SimpleNamespace:
    return SimpleNamespace(s=te.create_schedule(C.op))


PRIMITIVES: list[tuple[Callable[[], Any], Callable[[Any], Any], str]] = [
    (
        program,
        lambda p: p.s[C].split(C.op.axis[0], float("nan")),
        "factor of axis i must be an integer",
    ),
    (program, lambda p: p.s[C].set_scope(C.op.axis[0]), "unknown storage scope axis i"),
    (program, lambda p: p.s.trace.replay(3), "expects a schedule, got an int"),
    (program, lambda p: p.s[C].storage_align(C.op.axis[0], 2**70, 0), "factor must be from"),
]


def evaluator(**options: Any) -> Callable[[], Any]:
    return lambda: built([B, C])().time_evaluator("main", te_sched.cpu(), **options)


RUNNING: dict[str, Case] = {
    "device": (
        lambda: nd.empty((4,), device=3),
        CallError,
        "^3 is not a device",
    ),  # type: ignore[arg-type]
    "shape": (lambda: nd.empty("x"), CallError, "the shape of an array is "),
    "float extent": (lambda: nd.empty((1.5,)), CallError, "the shape of an array is "),
    "no shape": (lambda: nd.empty(None), CallError, "the shape of an array is "),
    "copyto": (
        lambda: nd.array([1]).copyto(3),
        CallError,
        "cannot copy an array to an int, expected an array or a device",
    ),  # type: ignore[arg-type]
    "register name": (
        lambda: te_sched.register_func(3),
        CallError,
        "the name of a function is 3, expected a string",
    ),
    "register value": (
        lambda: te_sched.register_func("f", 3),
        CallError,
        "cannot register 3 as 'f': it is not a function",
    ),  # type: ignore[arg-type]
    "evaluator": (evaluator(number="x"), CallError, "expected at least 1"),
    "path": (lambda: te_sched.runtime.load_module(3), CallError, "it is not a path"),  # type: ignore[arg-type]
    "export": (lambda: built([B, C])().export_library(3), CallError, "it is not a path"),
}

enter("declarations", DECLARATIONS)
enter("lowering and building", LOWERING)
enter_primitives("primitives", PRIMITIVES)
enter("arrays and modules", RUNNING)
