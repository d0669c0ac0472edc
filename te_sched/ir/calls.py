"""Calls of functions from elsewhere and of named intrinsics, and the effects of expressions."""

from __future__ import annotations

from typing import Any

from te_sched.errors import DeclarationError, Subject, kind_of, repr_of
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Buffer, BufferLoad, Call, Expr, IntImm, ProducerLoad, StringImm, Var
from te_sched.ir.intrinsic_table import Effect, call_effect
from te_sched.ir.visitor import walk
from te_sched.signatures import checked


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


def call_intrin(dtype: str, func_name: str, *args: Any) -> Call:
    """A call of the intrinsic "tir.<something>"."""
    if not isinstance(func_name, str) or not func_name.startswith("tir."):
        raise DeclarationError(
            f'the name of an intrinsic must begin with "tir.", got {repr_of(func_name)}',
            "",
            "use call_extern for a function, call_llvm_intrin for an intrinsic of LLVM",
        )
    return Call(_checked(dtype), func_name, _arguments(args))


call_pure_intrin = call_intrin


def call_extern(dtype: str | None, func_name: str, *args: Any) -> Call:
    """A call of a C function, which may do anything."""
    return _call_named(dtype, "tir.call_extern", func_name, args)


def call_pure_extern(dtype: str | None, func_name: str, *args: Any) -> Call:
    """A call of a C function that only gives a value."""
    return _call_named(dtype, "tir.call_pure_extern", func_name, args)


def _call_named(dtype: str | None, op: str, func_name: str, args: tuple[Any, ...]) -> Call:
    if not isinstance(func_name, str):
        raise DeclarationError(
            f"the function of {op.removeprefix('tir.')} must be a string, got {repr_of(func_name)}",
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
def call_llvm_intrin(dtype: str, name: str | int, *args: Any) -> Call:
    """A call of an intrinsic of LLVM, by name, which may do anything.

    TVM's first argument, the number of arguments that choose the intrinsic's types (an unsigned
    constant), is accepted and kept.
    """
    return Call(_checked(dtype), "tir.call_llvm_intrin", (_llvm_name(name), *_arguments(args)))


@checked
def call_llvm_pure_intrin(dtype: str, name: str | int, *args: Any) -> Call:
    """A call of an intrinsic of LLVM that only gives a value."""
    return Call(_checked(dtype), "tir.call_llvm_pure_intrin", (_llvm_name(name), *_arguments(args)))


def _llvm_name(name: str | int) -> Expr:
    return StringImm(name) if isinstance(name, str) else IntImm(int(name), "uint32")


@checked
def call_packed(func_name: str, *args: Any) -> Call:
    """A call of a registered Python function; buffers arrive there as arrays."""
    return Call("int32", "tir.tvm_call_packed", (StringImm(func_name), *_arguments(args, True)))


@checked
def call_cpacked(func_name: str, *args: Any) -> Call:
    """A call of a registered C function of the packed convention."""
    return Call("int32", "tir.tvm_call_cpacked", (StringImm(func_name), *_arguments(args, True)))


def _arguments(args: tuple[Any, ...], are_packed: bool = False) -> tuple[Expr, ...]:
    return tuple([_argument(value, are_packed) for value in args])


def _argument(value: Any, is_packed: bool) -> Expr:
    if not isinstance(value, Buffer):
        return ops.convert(value)
    if not is_packed:
        raise DeclarationError(
            f"cannot pass buffer {value.name} to a C function",
            "a C function takes a pointer",
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


def type_annotation(dtype: str) -> Call:
    """A data type as an argument."""
    return Call(_checked(dtype), "tir.type_annotation", ())


def tvm_access_ptr(ptype: Any, data: Var, offset: Any, extent: Any, rw_mask: Any) -> Call:
    """The address of element `offset` of `data`, to read (1) or write (2) `extent` elements."""
    annotation = type_annotation(ptype) if isinstance(ptype, str) else ptype
    arguments = _arguments((annotation, data, offset, extent, rw_mask))
    return Call("handle", "tir.tvm_access_ptr", arguments)


def address_of(load: Any) -> Call:
    """The address of an element of a buffer (of the first one, for a buffer)."""
    if isinstance(load, Buffer):
        load = BufferLoad(load, tuple([ops.const(0, extent.dtype) for extent in load.shape]))
    if not isinstance(load, BufferLoad):
        raise DeclarationError(
            f"cannot take the address of {kind_of(load)}",
            "only elements of buffers have an address",
            "give an element: buffer[i, j]",
        )
    return Call("handle", "tir.address_of", (load,))


def isnullptr(pointer: Any) -> Call:
    """Whether a pointer points nowhere."""
    return Call("bool", "tir.isnullptr", (ops.convert(pointer),))


def vscale() -> Call:
    """How many times the vectors of a processor are as long as the shortest scalable ones.

    Programs with it can be lowered and printed. No target of te_sched has such vectors, and `build`
    says so.
    """
    return Call("int32", "tir.vscale", ())


def _checked(dtype: Any) -> str:
    return dtypes.spelled(dtype)
