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
        "index of buffer matrix must be an integer, got float32",
    ),
    "too many indices": (
        built(lambda ib: ib.buffer_ptr(matrix)[0, 0, 0]),
        DeclarationError,
        "buffer matrix has 2 dimensions but is indexed with 3",
    ),
    "loop over floats": (
        built(lambda ib: ib.for_range(0, te.const(1.5)).__enter__()),
        DeclarationError,
        "the bounds of a loop must be integers, got float32",
    ),
    "attribute of a number": (
        built(lambda ib: ib.scope_attr(3, "key", 1)),
        DeclarationError,
        "the node of an attribute cannot be 3",
    ),
    "a module of numbers": (
        lambda: IRModule({"a": 1}),
        DeclarationError,
        "function 'a' of a module must be a PrimFunc, got 1",
    ),
    "threads of a variable": (
        built(lambda ib: ib.scope_attr(te.var("x"), "thread_extent", 4)),
        DeclarationError,
        "the node of attribute thread_extent must be a thread axis,",
    ),
    "virtual threads of a name": (
        lambda: tir.AttrStmt("x", "virtual_thread", 4, tir.Evaluate(0)),
        DeclarationError,
        "the node of attribute virtual_thread must be a thread axis,",
    ),
    "buffer_ptr of a tensor": (
        built(lambda ib: ib.buffer_ptr(X)),
        DeclarationError,
        "buffer_ptr takes a buffer, got a Tensor",
    ),
    # calls
    "extern without a name": (
        lambda: tir.call_extern("int32", 3),
        DeclarationError,
        "the function of call_extern must be a string, got 3",
    ),
    "pure extern without a name": (
        lambda: tir.call_pure_extern("int32", 3),
        DeclarationError,
        "the function of call_pure_extern must be a string, got 3",
    ),
    "address of a number": (
        lambda: tir.address_of(3),
        DeclarationError,
        "cannot take the address of an int",
    ),
    # types
    "no type": (lambda: dtypes.parse("x"), DeclarationError, "unknown data type 'x'"),
    "no lanes": (lambda: dtypes.parse("int8x0"), DeclarationError, "unknown data type 'int8x0'"),
    "wide bool": (lambda: dtypes.parse("bool8"), DeclarationError, "unknown data type 'bool8'"),
    "odd width": (lambda: dtypes.parse("float3"), DeclarationError, "unknown data type 'float3'"),
    # mathematics
    "atan2 of integers": (
        lambda: te.atan2(N[0], N[1]),
        DeclarationError,
        "atan2 takes floating-point arguments, got int32 and int32",
    ),
    "ldexp of an integer": (
        lambda: te.ldexp(N[0], 1),
        DeclarationError,
        "the first argument of ldexp must be a float, got an int32",
    ),
    "popcount of a float": (
        lambda: te.popcount(X[0]),
        DeclarationError,
        "popcount takes an integer, got a float32",
    ),
    "infinity of integers": (
        lambda: te.infinity("int32"),
        DeclarationError,
        "data type int32 has no infinity",
    ),
    "reinterpret": (
        lambda: te.reinterpret("int64", X[0]),
        DeclarationError,
        "cannot reinterpret float32 as int64: their widths differ",
    ),
    "rule without tir": (
        lambda: register_intrin_lowering("exp", "llvm", f=lambda call: call),
        DeclarationError,
        r'write "tir\.exp"',
    ),
    "operator in a set": (lambda: 3 in X[0], OperandError, "cannot apply `in` to the TensorSlice"),
    # constants
    "constant text": (
        lambda: te.const("x", "int32"),
        DeclarationError,
        "a constant must be a number, got 'x'",
    ),
    "constant handle": (lambda: te.const(1, "handle"), DeclarationError, "of type handle"),
    "constant nan": (
        lambda: te.const(float("nan"), "int32"),
        DeclarationError,
        "int32 cannot represent the constant nan",
    ),
    "sum with a handle": (
        lambda: handle + 1,
        DeclarationError,
        "cannot compute with handle and int32",
    ),
    "cast of lanes": (
        lambda: ops.cast("int32x4", E.Ramp(E.IntImm(0), E.IntImm(1), 2)),
        DeclarationError,
        "cannot cast int32x2 to int32x4: their numbers of lanes differ",
    ),
    "cast of a handle": (
        lambda: handle.astype("int32"),
        DeclarationError,
        "cannot cast a handle to int32",
    ),
    "floordiv of floats": (
        lambda: X[0] // X[1],
        DeclarationError,
        "floordiv takes integers, got float32 and float32",
    ),
    "function of a module": (lambda: IRModule()["f"], DeclarationError, "none: it is empty"),
    # tir
    "too many fields": (
        lambda: tir.StringImm("a", "b", "c", "d"),
        DeclarationError,
        r"tir\.StringImm of 4 arguments",
    ),
    "and of numbers": (lambda: tir.And(N[0], N[1]), DeclarationError, "its operands are cond"),
    # te
    "void": (
        lambda: te.placeholder((8,), "void"),
        DeclarationError,
        "placeholder placeholder cannot have type void",
    ),
    "extern buffers": (
        lambda: te.extern((8,), [X], lambda i, o: 1, in_buffers=[matrix, matrix]),
        DeclarationError,
        "extern extern has 1 input but 2 in_buffers",
    ),
    "script of a class": (lambda: script(int), DeclarationError, "takes a Python function"),
    "script without text": (
        sourceless,
        DeclarationError,
        "cannot find the source of hybrid script made",
    ),
    "where a number": (
        lambda: te.sum(A[0, k], axis=k, where=A[0, k]),
        DeclarationError,
        r"`where` of te\.sum must be a bool, got float32",
    ),
    "initial values": (
        lambda: te.sum(A[0, k], axis=k, init=(1.0, 2.0)),
        DeclarationError,
        r"te\.sum reduces 1 value but has 2 initial values",
    ),
    "combiner of three": (
        lambda: te.comm_reducer(lambda x, y, z: x, lambda t: te.const(0, t))(A[0, k], axis=k),
        DeclarationError,
        "the combiner of reduce must take 2 arguments, takes 3",
    ),
    "combiner of nothing": (
        lambda: te.comm_reducer(3, lambda t: te.const(0, t)),  # type: ignore[arg-type]
        DeclarationError,
        "the combiner and the identity of comm_reducer must be",
    ),
    "sympy fraction": (in_sympy(lambda i: i / 3), DeclarationError, "sympy expression"),
    "sympy sine": (
        in_sympy(lambda i: sympy.sin(i)),
        DeclarationError,
        r"cannot convert the sympy expression sin\(_i\)",
    ),
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
        "unknown kind of loop 'fast'",
    ),
    "buffer outside of all scopes": (
        built(lambda ib: ib.realize("float32", (4,), "R", outside=5)),
        DeclarationError,
        "cannot place a buffer 5 scopes outwards of 1",
    ),
    "no effect": (
        lambda: register_op_attr("tir.exp", "TCallEffectKind", 77),
        DeclarationError,
        r"unknown call effect 77 for tir\.exp",
    ),
    "name of an attribute": (
        lambda: tir.PrimFunc([], tir.Evaluate(0), {}).with_attr({3: 4}),
        DeclarationError,
        "the name of an attribute must be a string, got 3",
    ),
    "rule twice": (
        lambda: [
            register_intrin_lowering("tir.never", "llvm", f=lambda call, n=n: call, level=7)
            for n in range(2)
        ],
        DeclarationError,
        r"tir\.never has a lowering rule of level 7 for llvm already",
    ),
    "operands of other lanes": (
        lambda: E.Ramp(E.IntImm(0), E.IntImm(1), 2) + E.Ramp(E.IntImm(0), E.IntImm(1), 4),
        DeclarationError,
        "their numbers of lanes differ",
    ),
    "defaults of an intrinsic": (
        lambda: te.decl_tensor_intrin(copy.op, lambda i, o: 1, default_buffer_params=3),  # type: ignore[arg-type]
        DeclarationError,
        "default_buffer_params of tensor intrinsic tensor_intrin must",
    ),
    "tag in a tag": (
        tag_in_a_tag,
        TagError,
        "cannot enter tag scope 'b' inside tag scope 'a'",
    ),
    "binds": (
        lambda: te.decl_tensor_intrin(copy.op, lambda i, o: 1, binds=3),  # type: ignore[arg-type]
        DeclarationError,
        "binds of tensor intrinsic tensor_intrin must be a mapping,",
    ),
}

enter("declaring by hand", CASES)
