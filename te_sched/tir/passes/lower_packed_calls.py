"""Lower packed calls to stores of their arguments on the stack, and memory of devices to calls.

    call_packed("f", n)        ->     tvm_struct_set(stack_value, 0, 12, Cast("int64", n))
                                      stack_tcode[0] = 0
                                      call_packed_lowered("f", stack_value, stack_tcode, 0, 1)

(TVM's name: LowerTVMBuiltin.) te_sched compiles packed calls in its own way (`codegen.llvm.calls`).
Must not know targets.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from te_sched.errors import LoweringError
from te_sched.ir import dtypes, ops
from te_sched.ir.blocks import DeclBuffer
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.calls import isnullptr
from te_sched.ir.expr import (
    NE,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    Expr,
    IntImm,
    PointerType,
    StringImm,
    Var,
)
from te_sched.ir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    PrimFunc,
    SeqStmt,
    Stmt,
)
from te_sched.ir.visitor import PART_FIELDS, AccessMapper, Mapper, replace
from te_sched.lowering.statements import HEADS, sequence
from te_sched.tir.passes.make_packed_api import NULL, TYPE_CODES, Field, Kind, struct_get

_CPU = 1
_STACK_BYTES = 1024  # smaller memory of a processor is on the stack
_CALLS = {
    "tir.tvm_call_packed": "tir.tvm_call_packed_lowered",
    "tir.tvm_call_cpacked": "tir.tvm_call_cpacked_lowered",
}


def lower_packed_calls(func: PrimFunc, device: int | None) -> PrimFunc:
    """The function without packed calls and without memory of devices.

    `device` is the type of the device of memory outside of the attributes "device_type".
    """
    return func.with_body(_PackedCalls(device).scope(func.body))


@dataclass(slots=True)
class _Sizes:
    """Numbers of elements on the stack."""

    arguments: int = 0
    arrays: int = 0
    numbers: int = 0

    def grow(self, other: _Sizes) -> None:
        """Become at least as large as other sizes."""
        for field in dataclasses.fields(self):
            most = max(getattr(self, field.name), getattr(other, field.name))
            setattr(self, field.name, most)


class _Stack:
    """The memory on the stack of a scope: `used` by the call at hand, and `most` of it."""

    def __init__(self) -> None:
        self.used, self.most = _Sizes(), _Sizes()
        self.codes = Var("stack_tcode", "handle", PointerType("int32", ""))
        self.values = Var("stack_value", "handle")
        self.arrays = Var("stack_array", "handle")
        self.numbers = Var("stack_shape", "handle", PointerType("int64", ""))
        self.code_of = decl_buffer((1,), "int32", self.codes.name, self.codes)
        self.number_of = decl_buffer((1,), "int64", self.numbers.name, self.numbers)

    def sized(self) -> tuple[Buffer, Buffer]:
        """The buffers of the codes and numbers, in their sizes."""
        extent, start = IntImm(self.most.arguments, "uint64"), IntImm(0, "uint64")
        codes = replace(self.code_of, shape=(extent,), elem_offset=start)
        return codes, replace(self.number_of, shape=(IntImm(self.most.numbers, "int64"),))


class _PackedCalls(Mapper):
    """Rebuilds statements; `before` are those that the current one needs before it."""

    def __init__(self, device: int | None) -> None:
        self.device: Expr | None = None if device is None else IntImm(device)
        self.number: Expr | None = None
        self.stack = _Stack()
        self.before: list[Stmt] = []

    def scope(self, body: Stmt) -> Stmt:
        """A body with its own memory on the stack."""
        outside, self.stack = self.stack, _Stack()
        body = self.visit(body)
        stack, self.stack = self.stack, outside
        most = stack.most
        codes, numbers = stack.sized()
        body = _Resized({stack.code_of: codes, stack.number_of: numbers}).visit(body)
        if most.numbers:
            body = _on_stack(stack.numbers, "shape", most.numbers, DeclBuffer(numbers, body))
        if most.arrays:
            body = _on_stack(stack.arrays, "array", most.arrays, body)
        if most.arguments:
            body = _on_stack(stack.values, "arg_value", most.arguments, body)
            body = _on_stack(stack.codes, "arg_tcode", most.arguments, DeclBuffer(codes, body))
        return body

    def statement(self, node: Any, inside: Callable[[Any], Stmt] | None = None) -> Stmt:
        """A statement after those that its expressions need; `inside` maps its parts."""
        outside, self.before = self.before, []
        changes: dict[str, Any] = {}
        for name in HEADS[type(node)]:
            if (old := getattr(node, name)) is None:
                continue
            changes[name] = tuple(map(self.visit, old)) if type(old) is tuple else self.visit(old)
        before, self.before = self.before, outside
        for name in PART_FIELDS[type(node)]:
            if (part := getattr(node, name)) is not None:
                changes[name] = (inside or self.visit)(part)
        return sequence([*before, replace(node, **changes)])

    visit_LetStmt = visit_While = visit_AssertStmt = visit_IfThenElse = statement
    visit_Evaluate = visit_BufferStore = statement

    def visit_SeqStmt(self, node: SeqStmt) -> Stmt:
        return sequence(map(self.visit, node.seq))

    def visit_For(self, node: For) -> Stmt:
        return self.statement(node, self.scope if node.kind == "parallel" else self.visit)

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key not in ("device_id", "device_type"):
            return self.statement(node)
        outside = self.number, self.device
        if node.key == "device_id":
            self.number = node.value
        else:
            self.device = node.value
        body: Stmt = self.visit(node.body)
        self.number, self.device = outside
        return body

    # -- calls -------------------------------------------------------------------------------------

    def visit_Call(self, node: Call) -> Expr:
        if node.op in _CALLS:
            return self._packed(node)
        if node.op == "tir.tvm_stack_make_shape":
            return self._shape(node)
        if node.op == "tir.tvm_stack_make_array":
            return self._array(node)
        return self.generic(node)

    def _packed(self, node: Call) -> Expr:
        name, *rest = node.args
        resource = [rest.pop()] if node.op == "tir.tvm_call_cpacked" else []
        used = self.stack.used
        saved, begin = dataclasses.replace(used), used.arguments
        used.arguments += len(rest) + 1
        self.stack.most.grow(used)
        values = [self.visit(arg) for arg in rest]
        resource = [self.visit(arg) for arg in resource]
        for slot, (old, value) in enumerate(zip(rest, values, strict=True), begin):
            self._pass(slot, value, is_array=_is_array(old))
        self.stack.used = saved
        ends = (IntImm(begin), IntImm(begin + len(rest)))
        args = (name, self.stack.values, self.stack.codes, *ends, *resource)
        return Call(node.dtype, _CALLS[node.op], args)

    def _pass(self, slot: int, value: Expr, is_array: bool) -> None:
        """Store an argument and the code of its type."""
        if dtypes.is_integral(value.dtype) or dtypes.is_bool(value.dtype):
            value, kind = _cast("int64", value), Kind.INT
        elif dtypes.is_float(value.dtype):
            value, kind = _cast("float64", value), Kind.FLOAT
        elif isinstance(value, StringImm):
            kind = Kind.STRING
        else:
            kind = Kind.ARRAY if is_array else Kind.HANDLE
        self.before.append(_struct_set(self.stack.values, slot, Field.VALUE, value))
        stored = self._code(slot, kind)
        if kind == Kind.HANDLE:
            stored = IfThenElse(isnullptr(value), self._code(slot, Kind.NULL), stored)
        self.before.append(stored)

    def _code(self, slot: int, kind: Kind) -> Stmt:
        return BufferStore(self.stack.code_of, IntImm(int(kind)), (IntImm(slot),))

    def _shape(self, node: Call) -> Expr:
        sizes = [self.visit(arg) for arg in node.args]
        begin = self.stack.used.numbers
        self.stack.used.numbers += len(sizes)
        self.stack.most.grow(self.stack.used)
        for slot, size in enumerate(sizes, begin):
            value = ops.cast("int64", size)
            self.before.append(BufferStore(self.stack.number_of, value, (IntImm(slot),)))
        numbers = self.stack.numbers
        first = decl_buffer((begin + 1,), "int64", numbers.name, numbers)
        return Call("handle", "tir.address_of", (BufferLoad(first, (IntImm(begin),)),))

    def _array(self, node: Call) -> Expr:
        data, shape, strides, ndim, element, offset = [self.visit(arg) for arg in node.args]
        index = self.stack.used.arrays
        self.stack.used.arrays += 1
        self.stack.most.grow(self.stack.used)
        kind = dtypes.parse(element.dtype)
        size = IntImm(dtypes.storage_bytes(element.dtype), offset.dtype)
        values = {
            Field.DATA: data,
            Field.SHAPE: shape,
            Field.STRIDES: NULL if ops.is_const(strides, 0) else strides,
            Field.NDIM: ndim,
            Field.TYPE_CODE: IntImm(TYPE_CODES.get(kind.code, int(Kind.HANDLE)), "uint8"),
            Field.TYPE_BITS: IntImm(kind.bits, "uint8"),
            Field.TYPE_LANES: IntImm(kind.lanes, "uint16"),
            Field.BYTE_OFFSET: ops.cast("uint64", ops.mul(offset, size)),
            Field.DEVICE_ID: self._known(self.number, "number"),
            Field.DEVICE_TYPE: self._known(self.device, "type"),
        }
        for field, value in values.items():
            self.before.append(_struct_set(self.stack.arrays, index, field, value))
        return struct_get(self.stack.arrays, index, Field.ADDRESS, "handle")

    def _known(self, value: Expr | None, what: str) -> Expr:
        if value is None:
            key = "device_id" if what == "number" else "device_type"
            raise LoweringError(
                f"the {what} of the device is not known",
                "an array or memory belongs to a device",
                f'put the attribute around it: T.attr("default", "{key}", ...)',
            )
        return value

    # -- memory ------------------------------------------------------------------------------------

    def visit_Allocate(self, node: Allocate) -> Stmt:
        device = self._known(self.device, "type")
        is_of_processor = ops.is_const(device, _CPU)
        size = reduce(ops.mul, [*node.extents, IntImm(dtypes.storage_bytes(node.dtype))])
        if is_of_processor and isinstance(size, IntImm) and size.value < _STACK_BYTES:
            return self.statement(node)
        device_args = (device, self._known(self.number, "number"))
        kind = dtypes.parse(node.dtype)
        hints = (IntImm(TYPE_CODES.get(kind.code, int(Kind.HANDLE))), IntImm(kind.bits))
        args = (*device_args, ops.cast("uint64", size), *hints)
        memory, pointer = Call("handle", "tir.TVMBackendAllocWorkspace", args), node.buffer_var
        failed = Evaluate(Call("int32", "tir.tvm_throw_last_error", ()))
        freed = Call("int32", "tir.TVMBackendFreeWorkspace", (*device_args, pointer))
        free = IfThenElse(NE(freed, IntImm(0)), failed)
        body = _followed(self.visit(node.body), pointer, free)
        body = sequence([IfThenElse(isnullptr(pointer), failed), body])
        return LetStmt(pointer, memory, AttrStmt(pointer, "storage_alignment", IntImm(64), body))


class _Resized(AccessMapper):
    """Gives buffers their sizes."""

    def __init__(self, sized: dict[Buffer, Buffer]) -> None:
        self.sized = sized

    def renewed(self, node: Any) -> Any:
        buffer = self.sized.get(node) if isinstance(node, Buffer) else None
        return self.generic(node) if buffer is None else buffer


def _followed(body: Stmt, pointer: Var, free: Stmt) -> Stmt:
    """A body and then the release of its memory, within the declarations of that memory."""
    if isinstance(body, DeclBuffer) and body.buffer.data is pointer:
        return replace(body, body=_followed(body.body, pointer, free))
    return sequence([body, free])


def _is_array(value: Expr) -> bool:
    return isinstance(value, Call) and value.op == "tir.tvm_stack_make_array"


def _cast(dtype: str, value: Expr) -> Expr:
    return value if value.dtype == dtype else Cast(dtype, value)


def _struct_set(struct: Var, index: int, field: Field, value: Expr) -> Stmt:
    args = (struct, IntImm(index), IntImm(int(field)), value)
    return Evaluate(Call("int32", "tir.tvm_struct_set", args))


def _on_stack(pointer: Var, what: str, count: int, body: Stmt) -> Stmt:
    args = (StringImm(what), IntImm(count))
    return LetStmt(pointer, Call("handle", "tir.tvm_stack_alloca", args), body)
