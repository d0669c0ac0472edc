"""Refusals of expressions, buffers, builders and declarations."""

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
scaled = te.extern((8,), [copy], lambda ins, outs: tir.call_packed("f", *ins, *outs), name="scaled")
matrix = tir.decl_buffer((8, 8), name="matrix")
handle = te.var("h", "handle")


by = te.var("by", "float32")
copied = te.compute((8,), lambda i: X[i] + 1, name="copied")
add_one = te.decl_tensor_intrin(copied.op, lambda i, o: tir.call_packed("f", *i, *o), "add_one")
scaled_by = te.decl_tensor_intrin(
    te.compute((8,), lambda i: X[i] * by, name="c").op,
    lambda i, o, scalars: (tir.call_packed("f", o[0], *scalars),) * 3,
    "scaled_by",
    scalar_params=[by],
)


def built(use: Any) -> Any:
    return lambda: use(IRBuilder())


def product_of_rows() -> Any:
    def row(i: Any) -> Any:
        r = te.reduce_axis((0, N[i]), name="r")
        return te.prod(X[r], axis=r)

    return te.compute((8,), row, name="B")


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
    # derivatives
    "gradient of integers": (
        lambda: te.gradient(te.compute((8,), lambda i: N[i] + 1, name="B"), [N]),
        DeclarationError,
        "^cannot differentiate tensor B of dtype int32\n(.|\n)*give a tensor of a float dtype",
    ),
    "gradient by integers": (
        lambda: te.gradient(te.compute((8,), lambda i: X[N[i]], name="B"), [X, N]),
        DeclarationError,
        "^cannot differentiate with respect to tensor N of dtype int32\n",
    ),
    "gradient of te.extern": (
        lambda: te.gradient(te.compute((8,), lambda i: scaled[i] * 2, name="B"), [X], X),
        DeclarationError,
        "^cannot differentiate tensor scaled: it is not of te.compute\n",
    ),
    "gradient of a function without derivative": (
        lambda: te.gradient(te.compute((8,), lambda i: te.nextafter(X[i], 1.0)), [X], X),
        DeclarationError,
        "^cannot differentiate nextafter\n(.|\n)*no rule for it",
    ),
    "gradient with another head": (
        lambda: te.gradient(copy, [X], te.placeholder((4,), name="head")),
        DeclarationError,
        r"^head head has shape \[4\], expected one that ends with \[8\]\n",
    ),
    "gradient with a small head": (
        lambda: te.gradient(te.compute((8, 8), lambda i, j: X[i] * X[j]), [X], X),
        DeclarationError,
        r"^head X has shape \[8\], expected one that ends with \[8, 8\]\n",
    ),
    "gradient of an initial value": (
        lambda: te.gradient(
            te.compute((8,), lambda i: te.sum(A[i, k], axis=k, init=X[i]), name="B"), [X]
        ),
        DeclarationError,
        "^cannot differentiate the initial value of reduction B\n",
    ),
    "gradient of a product of unknown length": (
        lambda: te.gradient(product_of_rows(), [X]),
        DeclarationError,
        r"^cannot differentiate reduction B over axis r\n(.|\n)*extent N\[i\] depends on",
    ),
    "gradient of a number": (
        lambda: te.gradient(X[0], [X]),
        DeclarationError,
        "te.gradient|gradient",
    ),
    # builders
    "index of a float": (
        built(lambda ib: ib.buffer_ptr(matrix)[te.const(1.5), 0]),
        DeclarationError,
        "an index of buffer matrix has dtype float32, expected an integer",
    ),
    "too many indices": (
        built(lambda ib: ib.buffer_ptr(matrix)[0, 0, 0]),
        DeclarationError,
        "buffer matrix has 2 dimensions but 3 indices given",
    ),
    "loop over floats": (
        built(lambda ib: ib.for_range(0, te.const(1.5)).__enter__()),
        DeclarationError,
        "the bounds of a loop have dtype float32, expected an integer",
    ),
    "attribute of a number": (
        built(lambda ib: ib.scope_attr(3, "key", 1)),
        DeclarationError,
        "the node of an attribute is 3, expected an axis or a variable",
    ),
    "a module of numbers": (
        lambda: IRModule({"a": 1}),
        DeclarationError,
        "function 'a' of a module is an int, expected a function",
    ),
    "threads of a variable": (
        built(lambda ib: ib.scope_attr(te.var("x"), "thread_extent", 4)),
        DeclarationError,
        "the node of attribute thread_extent is a Var, expected a thread ",
    ),
    "virtual threads of a name": (
        lambda: tir.AttrStmt("x", "virtual_thread", 4, tir.Evaluate(0)),
        DeclarationError,
        "the node of attribute virtual_thread is a str, expected a thread",
    ),
    "buffer_ptr of a tensor": (
        built(lambda ib: ib.buffer_ptr(X)),
        DeclarationError,
        "buffer_ptr needs a buffer, got a Tensor",
    ),
    # calls
    "extern without a name": (
        lambda: tir.call_extern("int32", 3),
        DeclarationError,
        "the function of call_extern is 3, expected a name",
    ),
    "pure extern without a name": (
        lambda: tir.call_pure_extern("int32", 3),
        DeclarationError,
        "the function of call_pure_extern is 3, expected a name",
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
        "atan2 needs floats, got int32 and int32",
    ),
    "ldexp of an integer": (
        lambda: te.ldexp(N[0], 1),
        DeclarationError,
        "the first argument of ldexp has dtype int32, expected a float",
    ),
    "popcount of a float": (
        lambda: te.popcount(X[0]),
        DeclarationError,
        "popcount needs an integer, got float32",
    ),
    "infinity of integers": (
        lambda: te.infinity("int32"),
        DeclarationError,
        "dtype int32 has no infinity",
    ),
    "reinterpret": (
        lambda: te.reinterpret("int64", X[0]),
        DeclarationError,
        "cannot reinterpret float32 as int64",
    ),
    "rule without tir": (
        lambda: register_intrin_lowering("exp", "llvm", f=lambda call: call),
        DeclarationError,
        r'write "tir\.exp"',
    ),
    "operator in a set": (lambda: 3 in X[0], OperandError, r"`in` cannot be applied to X\[0\]"),
    # constants
    "constant text": (
        lambda: te.const("x", "int32"),
        DeclarationError,
        "a constant must be a number, got 'x'",
    ),
    "constant handle": (
        lambda: te.const(1, "handle"),
        DeclarationError,
        "dtype handle has no constants",
    ),
    "constant nan": (
        lambda: te.const(float("nan"), "int32"),
        DeclarationError,
        "the constant nan is not an integer, expected int32",
    ),
    "sum with a handle": (
        lambda: handle + 1,
        DeclarationError,
        "cannot compute with handle and int32",
    ),
    "cast of lanes": (
        lambda: ops.cast("int32x4", E.Ramp(E.IntImm(0), E.IntImm(1), 2)),
        DeclarationError,
        "cannot cast int32x2 to int32x4",
    ),
    "cast of a handle": (
        lambda: handle.astype("int32"),
        DeclarationError,
        "cannot cast a handle to int32",
    ),
    "floordiv of floats": (
        lambda: X[0] // X[1],
        DeclarationError,
        "floordiv needs integers, got float32 and float32",
    ),
    "function of a module": (
        lambda: IRModule()["f"],
        DeclarationError,
        "the module has no function 'f'",
    ),
    # tir
    "too many fields": (
        lambda: tir.StringImm("a", "b", "c", "d"),
        DeclarationError,
        r"tir\.StringImm takes 2 arguments, got 4",
    ),
    "and of numbers": (
        lambda: tir.And(N[0], N[1]),
        DeclarationError,
        r"tir\.And needs conditions, got int32",
    ),
    # te
    "void": (
        lambda: te.placeholder((8,), "void"),
        DeclarationError,
        "te.placeholder has dtype void, which has no values",
    ),
    "extern buffers": (
        lambda: te.extern((8,), [X], lambda i, o: 1, in_buffers=[matrix, matrix]),
        DeclarationError,
        "te.extern has 1 inputs but 2 in_buffers",
    ),
    "script of a class": (
        lambda: script(int),
        DeclarationError,
        r"te\.hybrid\.script needs a Python function, got <class 'int'>",
    ),
    "script without text": (
        sourceless,
        DeclarationError,
        "cannot read the source of hybrid script made",
    ),
    "where a number": (
        lambda: te.sum(A[0, k], axis=k, where=A[0, k]),
        DeclarationError,
        r"`where` of te\.sum has dtype float32, expected bool",
    ),
    "initial values": (
        lambda: te.sum(A[0, k], axis=k, init=(1.0, 2.0)),
        DeclarationError,
        r"te\.sum of 1 values has 2 initial values, expected 1",
    ),
    "combiner of three": (
        lambda: te.comm_reducer(lambda x, y, z: x, lambda t: te.const(0, t))(A[0, k], axis=k),
        DeclarationError,
        "takes 3 arguments",
    ),
    "combiner of nothing": (
        lambda: te.comm_reducer(3, lambda t: te.const(0, t)),  # type: ignore[arg-type]
        DeclarationError,
        r"the combiner and the identity of te\.comm_reducer must be functio",
    ),
    "sympy fraction": (in_sympy(lambda i: i / 3), DeclarationError, "sympy expression"),
    "sympy sine": (
        in_sympy(lambda i: sympy.sin(i)),
        DeclarationError,
        r"cannot convert the sympy expression sin\(_i\): no rule for sin",
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
        "cannot allocate 5 scopes outwards: there are 1",
    ),
    "no effect": (
        lambda: register_op_attr("tir.exp", "TCallEffectKind", 77),
        DeclarationError,
        r"unknown effect of tir\.exp: 77",
    ),
    "name of an attribute": (
        lambda: tir.PrimFunc([], tir.Evaluate(0), {}).with_attr({3: 4}),
        DeclarationError,
        "the name of an attribute is 3, expected a string",
    ),
    "rule twice": (
        lambda: [
            register_intrin_lowering("tir.never", "llvm", f=lambda call, n=n: call, level=7)
            for n in range(2)
        ],
        DeclarationError,
        r"a rule of level 7 for tir\.never on llvm exists already",
    ),
    "operands of other lanes": (
        lambda: E.Ramp(E.IntImm(0), E.IntImm(1), 2) + E.Ramp(E.IntImm(0), E.IntImm(1), 4),
        DeclarationError,
        "their numbers of lanes differ",
    ),
    "defaults of an intrinsic": (
        lambda: te.decl_tensor_intrin(copy.op, lambda i, o: 1, default_buffer_params=3),  # type: ignore[arg-type]
        DeclarationError,
        "default_buffer_params of tensor intrinsic tensor_intrin is 3, ex",
    ),
    "tag in a tag": (
        tag_in_a_tag,
        TagError,
        "tag scope 'b' is nested in tag scope 'a'",
    ),
    "binds": (
        lambda: te.decl_tensor_intrin(copy.op, lambda i, o: 1, binds=3),  # type: ignore[arg-type]
        DeclarationError,
        "binds of tensor intrinsic tensor_intrin is 3, expected a dict",
    ),
    "whole tensor with an element": (
        lambda: te.compute((8,), lambda i: X[i] + copy, name="B"),
        DeclarationError,
        "tensor copy with 1 dimension is used as a scalar expression",
    ),
    "step of a region": (
        lambda: A[0, 0:8:2],
        DeclarationError,
        "index 1 of tensor A is the slice 0:8:2, which is not a region of its 8 elements",
    ),
    "region beyond": (
        lambda: A[0, 0:9],
        DeclarationError,
        "index 1 of tensor A is the slice 0:9, which is not a region of its 8",
    ),
    "empty region": (lambda: A[0, 3:3], DeclarationError, "is the slice 3:3, which is not a reg"),
    "inputs of a call": (
        lambda: add_one(),
        DeclarationError,
        "tensor intrinsic add_one takes 1 tensor argument, got 0",
    ),
    "scalars of a call": (
        lambda: add_one(X, 2),
        DeclarationError,
        "tensor intrinsic add_one takes 0 scalar arguments, got 1",
    ),
    "scalar of another type": (
        lambda: scaled_by(X, te.const(1, "int8")),
        DeclarationError,
        r"argument T.int8\(1\) for by of tensor intrinsic scaled_by has dtype int8, expected",
    ),
    "scalar that reads": (
        lambda: scaled_by(X, X[0] + 1),
        DeclarationError,
        r"for by of tensor intrinsic scaled_by reads a tensor, expected an expr",
    ),
    "type of an argument": (
        lambda: add_one(N),
        DeclarationError,
        "argument N.* of tensor intrinsic add_one has dtype int32, expected float32",
    ),
    "region of another shape": (
        lambda: add_one(X[0:4]),
        DeclarationError,
        r"argument X\[0:4\] has a region of shape \(4\), but X of tensor intrinsic add_one has",
    ),
    "region of rows": (
        lambda: add_one(A[0:2, 0:8]),
        DeclarationError,
        r"argument A\[0:2, 0:8\] has a region of shape \(2, 8\)",
    ),
    "output of another shape": (
        lambda: te.compute((8, 4), lambda i: add_one(A[i]), name="B"),
        DeclarationError,
        r"compute B has a region of shape \(1, 4\), but copied of tensor intrinsic add_one",
    ),
    "reduction of a call": (
        lambda: add_one(X, reduce_axis=3),
        DeclarationError,
        "reduce_axis of tensor intrinsic add_one is 3, expected a reduction axis",
    ),
    "call without an update": (
        lambda: add_one(X, reduce_axis=k),
        DeclarationError,
        "tensor intrinsic add_one is called with reduce_axis but has no update",
    ),
    "axis of another call": (
        lambda: te.compute((8, 4), lambda i: add_one(A[k, 0:8]), name="B"),
        DeclarationError,
        "compute B uses reduction axis k without a reduction over it",
    ),
    "scalar in a reset": (
        lambda: scaled_by(X, k.var * 1.0, reduce_axis=[k]),
        DeclarationError,
        "for by of tensor intrinsic scaled_by depends on k, which has no value in the reset",
    ),
}

enter("declaring by hand", CASES)
