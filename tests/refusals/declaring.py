"""What expressions, buffers, builders and declarations refuse."""

from __future__ import annotations

from typing import Any

import sympy

from te_sched import te, tir
from te_sched.errors import DeclarationError, OperandError, TagError
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir.builder import IRBuilder
from te_sched.ir.op import register_intrin_lowering, register_op_attr
from te_sched.ir.stmt import IRModule
from te_sched.te.hybrid import script
from te_sched.te.tag import TagScope
from tests.refusals.table import Case, enter

X = te.placeholder((8,), name="X")
N = te.placeholder((8,), "int32", name="N")
A = te.placeholder((8, 8), name="A")
k = te.reduce_axis((0, 8), name="k")
copy = te.compute((8,), lambda i: X[i], name="copy")
matrix = tir.decl_buffer((8, 8), name="matrix")
handle = te.var("h", "handle")


def built(use: Any) -> Any:
    return lambda: use(IRBuilder())


def tag_in_a_tag() -> None:
    with TagScope("a"), TagScope("b"):
        pass


def sourceless() -> Any:
    scope: dict[str, Any] = {}
    exec("def made(a):\n    return a", scope)
    script(scope["made"])(X)


def in_sympy(value: Any) -> Any:
    return lambda: te.compute((8,), lambda i: X[value(sympy.sympify(i))], name="C")


CASES: dict[str, Case] = {
    # builders
    "index of a float": (
        built(lambda ib: ib.buffer_ptr(matrix)[te.const(1.5), 0]),
        DeclarationError,
        "an index of matrix is a float32",
    ),
    "too many indices": (
        built(lambda ib: ib.buffer_ptr(matrix)[0, 0, 0]),
        DeclarationError,
        "matrix with 3 indices",
    ),
    "loop over floats": (
        built(lambda ib: ib.for_range(0, te.const(1.5)).__enter__()),
        DeclarationError,
        "the bounds of a loop are integers",
    ),
    "attribute of a number": (
        built(lambda ib: ib.scope_attr(3, "key", 1)),
        DeclarationError,
        "an attribute of 3",
    ),
    "a module of numbers": (
        lambda: IRModule({"a": 1}),
        DeclarationError,
        "a module with 1 as 'a'",
    ),
    "threads of a variable": (
        built(lambda ib: ib.scope_attr(te.var("x"), "thread_extent", 4)),
        DeclarationError,
        "an attribute thread_extent of x",
    ),
    "virtual threads of a name": (
        lambda: tir.AttrStmt("x", "virtual_thread", 4, tir.Evaluate(0)),
        DeclarationError,
        "an attribute virtual_thread of 'x'",
    ),
    "buffer_ptr of a tensor": (
        built(lambda ib: ib.buffer_ptr(X)),
        DeclarationError,
        "buffer_ptr of Tensor",
    ),
    # calls
    "extern without a name": (
        lambda: tir.call_extern("int32", 3),
        DeclarationError,
        "call_extern of 3",
    ),
    "pure extern without a name": (
        lambda: tir.call_pure_extern("int32", 3),
        DeclarationError,
        "call_pure_extern of 3",
    ),
    "address of a number": (lambda: tir.address_of(3), DeclarationError, "address_of an int"),
    # types
    "no type": (lambda: dtypes.parse("x"), DeclarationError, "unknown data type 'x'"),
    "no lanes": (lambda: dtypes.parse("int8x0"), DeclarationError, "unknown data type 'int8x0'"),
    "wide bool": (lambda: dtypes.parse("bool8"), DeclarationError, "unknown data type 'bool8'"),
    "odd width": (lambda: dtypes.parse("float3"), DeclarationError, "unknown data type 'float3'"),
    # mathematics
    "atan2 of integers": (lambda: te.atan2(N[0], N[1]), DeclarationError, "atan2 of int32"),
    "ldexp of an integer": (lambda: te.ldexp(N[0], 1), DeclarationError, "ldexp of an int32"),
    "popcount of a float": (lambda: te.popcount(X[0]), DeclarationError, "popcount of a float32"),
    "infinity of integers": (lambda: te.infinity("int32"), DeclarationError, "the infinity of"),
    "reinterpret": (
        lambda: te.reinterpret("int64", X[0]),
        DeclarationError,
        "reinterpret of float32 as int64",
    ),
    "rule without tir": (
        lambda: register_intrin_lowering("exp", "llvm", f=lambda call: call),
        DeclarationError,
        r'write "tir\.exp"',
    ),
    "operator in a set": (lambda: 3 in X[0], OperandError, "`in` on"),
    # constants
    "constant text": (lambda: te.const("x", "int32"), DeclarationError, "a constant 'x'"),
    "constant handle": (lambda: te.const(1, "handle"), DeclarationError, "of type handle"),
    "constant nan": (
        lambda: te.const(float("nan"), "int32"),
        DeclarationError,
        "the constant nan of type int32",
    ),
    "sum with a handle": (lambda: handle + 1, DeclarationError, "an operation on handle"),
    "cast of lanes": (
        lambda: ops.cast("int32x4", E.Ramp(E.IntImm(0), E.IntImm(1), 2)),
        DeclarationError,
        "the numbers of lanes differ",
    ),
    "cast of a handle": (lambda: handle.astype("int32"), DeclarationError, "a cast of a handle"),
    "floordiv of floats": (lambda: X[0] // X[1], DeclarationError, "a division of integers"),
    "function of a module": (lambda: IRModule()["f"], DeclarationError, "none: it is empty"),
    # tir
    "too many fields": (
        lambda: tir.StringImm("a", "b", "c", "d"),
        DeclarationError,
        r"tir\.StringImm takes 2 arguments, got 4",
    ),
    "and of numbers": (
        lambda: tir.And(N[0], N[1]),
        DeclarationError,
        "operands of tir.And must be cond",
    ),
    # te
    "void": (lambda: te.placeholder((8,), "void"), DeclarationError, "of type void"),
    "extern buffers": (
        lambda: te.extern((8,), [X], lambda i, o: 1, in_buffers=[matrix, matrix]),
        DeclarationError,
        "of 1 inputs with 2 in_buffers",
    ),
    "script of a class": (lambda: script(int), DeclarationError, "takes a Python function"),
    "script without text": (sourceless, DeclarationError, "its text is not in a file"),
    "where a number": (
        lambda: te.sum(A[0, k], axis=k, where=A[0, k]),
        DeclarationError,
        "sum where a float32",
    ),
    "initial values": (
        lambda: te.sum(A[0, k], axis=k, init=(1.0, 2.0)),
        DeclarationError,
        "of 1 values with 2 initial values",
    ),
    "combiner of three": (
        lambda: te.comm_reducer(lambda x, y, z: x, lambda t: te.const(0, t))(A[0, k], axis=k),
        DeclarationError,
        "takes 3 arguments",
    ),
    "combiner of nothing": (
        lambda: te.comm_reducer(3, lambda t: te.const(0, t)),  # type: ignore[arg-type]
        DeclarationError,
        "are functions",
    ),
    "sympy fraction": (in_sympy(lambda i: i / 3), DeclarationError, "sympy expression"),
    "sympy sine": (in_sympy(lambda i: sympy.sin(i)), DeclarationError, "no form for sin"),
    "sympy power": (in_sympy(lambda i: 2**i), DeclarationError, "sympy expression"),
    "sympy root": (in_sympy(lambda i: sympy.sqrt(i)), DeclarationError, "sympy expression"),
    "sympy number": (
        in_sympy(lambda i: i + sympy.Rational(1, 2)),
        DeclarationError,
        "sympy expression",
    ),
    "sympy float": (
        in_sympy(lambda i: sympy.Piecewise((sympy.Float(0.5), i > 1), (i, True))),
        DeclarationError,
        "sympy expression",
    ),
    "loop of no kind": (
        built(lambda ib: ib.for_range(0, 1, kind="fast").__enter__()),
        DeclarationError,
        "a loop of the kind 'fast'",
    ),
    "buffer outside of all scopes": (
        built(lambda ib: ib.realize("float32", (4,), "R", outside=5)),
        DeclarationError,
        "a buffer 5 scopes from here",
    ),
    "no effect": (
        lambda: register_op_attr("tir.exp", "TCallEffectKind", 77),
        DeclarationError,
        "the effect 77 of tir.exp",
    ),
    "name of an attribute": (
        lambda: tir.PrimFunc([], tir.Evaluate(0), {}).with_attr({3: 4}),
        DeclarationError,
        "an attribute called 3",
    ),
    "rule twice": (
        lambda: [
            register_intrin_lowering("tir.never", "llvm", f=lambda call, n=n: call, level=7)
            for n in range(2)
        ],
        DeclarationError,
        "there is one of level 7",
    ),
    "operands of other lanes": (
        lambda: E.Ramp(E.IntImm(0), E.IntImm(1), 2) + E.Ramp(E.IntImm(0), E.IntImm(1), 4),
        DeclarationError,
        "their numbers of lanes differ",
    ),
    "defaults of an intrinsic": (
        lambda: te.decl_tensor_intrin(copy.op, lambda i, o: 1, default_buffer_params=3),  # type: ignore[arg-type]
        DeclarationError,
        "with default_buffer_params=3",
    ),
    "tag in a tag": (
        tag_in_a_tag,
        TagError,
        "inside the tag scope 'a'",
    ),
    "binds": (
        lambda: te.decl_tensor_intrin(copy.op, lambda i, o: 1, binds=3),  # type: ignore[arg-type]
        DeclarationError,
        "it is no mapping",
    ),
}

enter("declaring by hand", CASES)
