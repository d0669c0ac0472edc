"""Calls of external functions and of named intrinsics, and the effects of expressions."""

from __future__ import annotations

from collections.abc import Sequence

from te_sched.errors import DeclarationError, Subject, kind_of, repr_of
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import (
    Buffer,
    BufferLoad,
    Call,
    Expr,
    ExprLike,
    IntImm,
    Node,
    ProducerLoad,
    StringImm,
    Var,
)
from te_sched.ir.intrinsic_table import Effect, call_effect
from te_sched.ir.visitor import walk
from te_sched.signatures import checked

CALL_FUNCTION = "tir.call_function"  # whose first argument names a function of the module
Argument = ExprLike | Buffer  # of a call; functions of C take no buffers


def effect_of(expr: Expr) -> Effect:
    """The strongest effect of evaluating an expression."""
    strongest = Effect.PURE
    for node in walk(expr):
        kind = type(node)
        if kind is Call:
            strongest = max(strongest, call_effect(node.op))
        elif kind is BufferLoad or kind is ProducerLoad:
            strongest = max(strongest, Effect.READ_STATE)
    return strongest


def changes_memory(e: Expr) -> bool:
    """Whether evaluating an expression may write to any memory."""
    return effect_of(e) > Effect.READ_STATE and any(
        type(part) is Call and part.op != "tir.assume" and call_effect(part.op) > Effect.READ_STATE
        for part in walk(e)
    )


def callee_of(node: object) -> str | None:
    """The name of the function of the same module that a node calls; None for other nodes."""
    if type(node) is not Call or node.op != CALL_FUNCTION or type(node.args[0]) is not StringImm:
        return None
    return node.args[0].value


def called_functions(statement: Node) -> set[str]:
    """The names of the functions of the same module that a statement calls."""
    calls = [node for node in walk(statement) if type(node) is Call]
    return {name for call in calls if (name := callee_of(call)) is not None}


def call_intrin(dtype: str, func_name: str, *args: Argument) -> Call:
    """Call an intrinsic by name, such as "tir.exp".

    >>> from te_sched import te
    >>> call_intrin("float32", "tir.exp", te.var("x", "float32"))
    T.exp(x)
    """
    if not isinstance(func_name, str) or not func_name.startswith("tir."):
        raise DeclarationError(
            f"unknown intrinsic {repr_of(func_name)}",
            'names of intrinsics begin with "tir.", such as "tir.exp"',
            "use call_extern for a function, call_llvm_intrin for an intrinsic of LLVM",
        )
    return Call(_checked(dtype), func_name, _arguments(args))


call_pure_intrin = call_intrin


def call_extern(dtype: str | None, func_name: str, *args: Argument) -> Call:
    """Call a C function that may have side effects.

    >>> from te_sched import te
    >>> call_extern("int32", "f", te.var("i"), 1)
    T.call_extern("int32", "f", i, 1)
    """
    return _call_named(dtype, "tir.call_extern", func_name, args)


def call_pure_extern(dtype: str | None, func_name: str, *args: Argument) -> Call:
    """Call a C function without side effects.

    >>> call_pure_extern("float32", "sinf", 0.5)
    T.call_pure_extern("float32", "sinf", T.float32(0.5))
    """
    return _call_named(dtype, "tir.call_pure_extern", func_name, args)


def _call_named(dtype: str | None, op: str, func_name: str, args: Sequence[Argument]) -> Call:
    if not isinstance(func_name, str):
        raise DeclarationError(
            f"the function of {op.removeprefix('tir.')} is {repr_of(func_name)}, expected a name",
            "",
            'write call_extern("int32", "name", arguments...)',
        )
    is_void = dtype is None or (isinstance(dtype, str) and not dtype)
    return Call(
        _checked("void" if is_void else dtype),
        op,
        (StringImm(func_name), *_arguments(args)),
    )


@checked
def call_llvm_intrin(dtype: str, name: str | int, *args: Argument) -> Call:
    """Call an LLVM intrinsic that may have side effects.

    TVM's first argument (an unsigned constant: the number of arguments that determine the
    intrinsic's types) is accepted and kept.

    >>> call_llvm_intrin("float32", "llvm.fabs.f32", 0.5)
    T.call_llvm_intrin("float32", "llvm.fabs.f32", T.float32(0.5))
    """
    return Call(_checked(dtype), "tir.call_llvm_intrin", (_llvm_name(name), *_arguments(args)))


@checked
def call_llvm_pure_intrin(dtype: str, name: str | int, *args: Argument) -> Call:
    """Call an LLVM intrinsic without side effects.

    >>> call_llvm_pure_intrin("float32", "llvm.fabs.f32", 0.5)
    T.call_llvm_pure_intrin("float32", "llvm.fabs.f32", T.float32(0.5))
    """
    return Call(_checked(dtype), "tir.call_llvm_pure_intrin", (_llvm_name(name), *_arguments(args)))


def _llvm_name(name: str | int) -> Expr:
    return StringImm(name) if isinstance(name, str) else IntImm(int(name), "uint32")


@checked
def call_packed(func_name: str, *args: Argument) -> Call:
    """Call a registered Python function, which receives buffers as arrays.

    >>> call_packed("my_function", 1, "text")
    T.call_packed("my_function", 1, "text")
    """
    return Call("int32", "tir.tvm_call_packed", (StringImm(func_name), *_arguments(args, True)))


@checked
def call_cpacked(func_name: str, *args: Argument) -> Call:
    """Call a registered C function with the packed calling convention.

    >>> call_cpacked("my_function", 1)
    T.call_cpacked("my_function", 1)
    """
    return Call("int32", "tir.tvm_call_cpacked", (StringImm(func_name), *_arguments(args, True)))


def _arguments(args: Sequence[Argument], are_packed: bool = False) -> tuple[Expr, ...]:
    return tuple([_argument(value, are_packed) for value in args])


def _argument(value: Argument, is_packed: bool) -> Expr:
    if not isinstance(value, Buffer):
        return ops.convert(value)
    if not is_packed:
        raise DeclarationError(
            f"buffer {value.name} cannot be an argument of a C function",
            "it takes a pointer",
            f'give {value.name}.access_ptr("r"), or {value.name}.data for its beginning',
            Subject("buffer", value.name),
        )
    return buffer_as_array(value)


def buffer_as_array(buffer: Buffer) -> Call:
    """The descriptor of a buffer that packed functions receive."""
    shape = Call("handle", "tir.tvm_stack_make_shape", buffer.shape)
    strides: Expr = IntImm(0)
    if buffer.strides:
        strides = Call("handle", "tir.tvm_stack_make_shape", buffer.strides)
    arguments = (
        buffer.data,
        shape,
        strides,
        IntImm(len(buffer.shape)),
        ops.const(0, buffer.dtype),
        buffer.elem_offset,
    )
    return Call("handle", "tir.tvm_stack_make_array", arguments)


def call_tir(global_var: object, *args: Argument) -> Call:
    """Call another function of the module, which gives nothing.

    Parameters
    ----------
    global_var : the name of the function; in TVMScript the function itself: `Module.f`.

    >>> call_tir("f", te.var("n"), 2)
    f(n, 2)
    """
    if isinstance(global_var, ModuleFunction):
        return global_var(*args)
    if not isinstance(global_var, str):
        raise DeclarationError(
            f"the function of call_tir is {repr_of(global_var)}, expected its name",
            "",
            'write call_tir("name", arguments...)',
        )
    return ModuleFunction(str(global_var))(*args)


class ModuleFunction:
    """A function of a module that is being written, which may be called; `dtype` is its value's.

    >>> ModuleFunction("f")(te.var("n"))
    f(n)
    """

    def __init__(self, name: str, dtype: str = "void") -> None:
        self.name, self.dtype = name, dtype

    def __call__(self, *args: Argument) -> Call:
        return Call(self.dtype, CALL_FUNCTION, (StringImm(self.name), *_arguments(args, True)))


def type_annotation(dtype: str) -> Call:
    """A data type as an argument of a call.

    >>> type_annotation("float32")
    T.type_annotation("float32")
    """
    return Call(_checked(dtype), "tir.type_annotation", ())


def tvm_access_ptr(
    ptype: ExprLike, data: Var, offset: ExprLike, extent: ExprLike, rw_mask: ExprLike
) -> Call:
    """The address of element `offset` of `data`, for reading (1) or writing (2) `extent` elements.

    >>> from te_sched import tir
    >>> A = tir.decl_buffer((8,), name="A")
    >>> tvm_access_ptr("float32", A.data, 2, 4, 1)
    T.tvm_access_ptr(T.type_annotation("float32"), A, 2, 4, 1)
    """
    annotation = type_annotation(ptype) if isinstance(ptype, str) else ptype
    arguments = _arguments((annotation, data, offset, extent, rw_mask))
    return Call("handle", "tir.tvm_access_ptr", arguments)


def address_of(load: object) -> Call:
    """The address of an element, or of the first element of a buffer.

    >>> from te_sched import tir
    >>> address_of(tir.decl_buffer((8,), name="A")[2])
    T.address_of(A[2])
    """
    if isinstance(load, Buffer):
        load = BufferLoad(load, tuple([ops.const(0, extent.dtype) for extent in load.shape]))
    if not isinstance(load, BufferLoad):
        raise DeclarationError(
            f"cannot take the address of {kind_of(load)}",
            "only elements of buffers have an address",
            "give an element: buffer[i, j]",
        )
    return Call("handle", "tir.address_of", (load,))


def isnullptr(pointer: ExprLike) -> Call:
    """Whether a pointer is null.

    >>> from te_sched import tir
    >>> isnullptr(tir.decl_buffer((8,), name="A").data)
    T.isnullptr(A)
    """
    return Call("bool", "tir.isnullptr", (ops.convert(pointer),))


def vscale() -> Call:
    """The length of scalable vectors as a multiple of the minimum length.

    Programs with it can be lowered and printed, but not built: no target has such vectors.

    >>> vscale()
    T.vscale()
    """
    return Call("int32", "tir.vscale", ())


def _checked(dtype: object) -> str:
    return dtypes.spelled(dtype)
