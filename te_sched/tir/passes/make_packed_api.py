"""Give functions the parameters of TVM's packed functions, and check what is passed.

    def main(A: T.Buffer((16,)), n: T.int32):
->
    def main(args, arg_type_ids, num_args, out_ret_value, out_ret_tcode, resource_handle):

The arguments are elements of `args`, a number or pointer of 8 bytes each, their types the codes in
`arg_type_ids`. A buffer is passed as a DLTensor. (TVM's name: MakePackedAPI.) te_sched calls what
it compiles in its own way (`codegen.signature`). Must not know targets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import reduce
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import LoweringError
from te_sched.ir import dtypes, ops
from te_sched.ir.blocks import DeclBuffer
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.calls import callee_of, isnullptr
from te_sched.ir.expr import (
    EQ,
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
    AssertStmt,
    AttrStmt,
    BufferStore,
    Evaluate,
    IfThenElse,
    LetStmt,
    PrimFunc,
    SeqStmt,
    Stmt,
)
from te_sched.ir.visitor import Mapper, replace, substitute
from te_sched.lowering.statements import NOTHING, sequence

PACKED_CONVENTION = 1  # the attribute "calling_conv"
NULL = Call("handle", "tir.reinterpret", (IntImm(0, "uint64"),))
_CPU = 1  # DLPack's number
_RESOURCE = "device_api_context"  # a parameter of this name is the handle of resources


class Field(IntEnum):
    """The fields of a DLTensor, and of an argument of a packed function."""

    ADDRESS = 0
    DATA = 1
    SHAPE = 2
    STRIDES = 3
    NDIM = 4
    TYPE_CODE = 5
    TYPE_BITS = 6
    TYPE_LANES = 7
    BYTE_OFFSET = 8
    DEVICE_ID = 9
    DEVICE_TYPE = 10
    VALUE = 12


class Kind(IntEnum):
    """The codes of types of arguments."""

    INT = 0
    FLOAT = 2
    HANDLE = 3
    NULL = 4
    ARRAY = 7
    STRING = 11
    NDARRAY = 13
    BOOL = 15


TYPE_CODES = {"int": 0, "uint": 1, "bool": 1, "float": 2, "bfloat": 4}
_POINTERS = (Kind.HANDLE, Kind.NDARRAY, Kind.ARRAY, Kind.NULL)
HostOf = Callable[[PrimFunc], "tuple[Any, int] | None"]
_Wrap = Callable[[Stmt], Stmt]


def make_packed_api(functions: Mapping[str, PrimFunc], host_of: HostOf) -> dict[str, PrimFunc]:
    """The functions, of which those that callers see are packed.

    `host_of` returns the target of the host and the type of the device of a function, or None if
    the function does not run on a host.
    """
    hosts = {
        name: host
        for name, func in functions.items()
        if "global_symbol" in func.attrs
        and "calling_conv" not in func.attrs
        and (host := host_of(func)) is not None
    }
    calls = _SymbolCalls({name: str(functions[name].attrs["global_symbol"]) for name in hosts})
    new_functions = {
        name: func.with_body(calls.visit(func.body)) for name, func in functions.items()
    }
    for name, host in hosts.items():
        new_functions[name] = _packed(new_functions[name], *host)
    return new_functions


class _SymbolCalls(Mapper):
    """Calls functions that are packed by their symbols."""

    def __init__(self, symbols: Mapping[str, str]) -> None:
        self.symbols = symbols

    def visit_Call(self, node: Call) -> Expr:
        call: Call = self.generic(node)
        symbol = self.symbols.get(callee_of(call) or "")
        if symbol is None:
            return call
        return Call(call.dtype, "tir.tvm_call_cpacked", (StringImm(symbol), *call.args[1:], NULL))


def _packed(func: PrimFunc, host: Any, device: int) -> PrimFunc:
    name = str(func.attrs["global_symbol"])
    args, codes = Var("args", "handle"), Var("arg_type_ids", "handle", PointerType("int32", ""))
    count, resource = Var("num_args"), Var("resource_handle", "handle")
    value = Var("out_ret_value", "handle", PointerType("void", ""))
    kind = Var("out_ret_tcode", "handle", PointerType("int32", ""))
    params = [param for param in func.params if param.name != _RESOURCE]
    wraps = [*_unpacked(name, params, args, codes, count)]
    binder = Binder(name, device, params)
    for param in params:
        if param in func.buffer_map:
            binder.bind(param, func.buffer_map[param])
    wraps += [*binder.values, *binder.devices(), *binder.checks]
    wraps += [_declared(buffer) for buffer in func.buffer_map.values()]
    body = _Returns(name, value, kind).visit(func.body)
    body = substitute(body, {param: resource for param in func.params if param.name == _RESOURCE})
    body = AttrStmt(IntImm(0), "compute_scope", StringImm(f"{name}_compute_"), body)
    done = Evaluate(Call("int32", "tir.ret", (IntImm(0),)))
    body = reduce(
        lambda inner, wrap: wrap(inner), reversed(wraps), sequence([*binder.prepared(), body, done])
    )
    return replace(
        func.with_attr({"calling_conv": PACKED_CONVENTION, "target": host}),
        params=(args, codes, count, value, kind, resource),
        body=body,
        buffer_map={},
        ret_type="int32",
    )


def struct_get(struct: Expr, index: int, field: Field, dtype: str) -> Call:
    """A field of an element of an array of structures."""
    return Call(dtype, "tir.tvm_struct_get", (struct, IntImm(index), IntImm(int(field))))


def _let(var: Var, value: Expr) -> _Wrap:
    return lambda body: LetStmt(var, value, body)


def _assert(condition: Expr, message: str) -> _Wrap:
    return lambda body: AssertStmt(condition, StringImm(message), body)


def _declared(buffer: Buffer) -> _Wrap:
    return lambda body: DeclBuffer(buffer, body)


def _attribute(key: str, node: Any, value: Expr) -> _Wrap:
    return lambda body: AttrStmt(node, key, value, body)


def _is_given(pointer: Expr) -> Expr:
    return ops.logical_not(isnullptr(pointer))


def _unpacked(name: str, params: Sequence[Var], args: Var, codes: Var, count: Var) -> list[_Wrap]:
    """The checks of the number and types of arguments, and the values of parameters."""
    number = len(params)
    first = [_assert(EQ(count, IntImm(number)), f"{name}: num_args should be {number}")]
    if params:
        first += [
            _assert(_is_given(args), f"{name}: TVMValue* arg pointer was NULL"),
            _assert(_is_given(codes), f"{name}: int* type_codes was NULL"),
        ]
    kinds = decl_buffer((number,), "int32", codes.name, codes)
    first.append(_declared(kinds))
    values: list[_Wrap] = []
    for index, param in enumerate(params):
        code = Var(f"{param.name}_code")
        legal, what, dtype = _passed_as(param.dtype)
        first.append(_let(code, BufferLoad(kinds, (IntImm(index),))))
        holds = _folded(ops.logical_or, [EQ(code, IntImm(int(type_code))) for type_code in legal])
        first.append(_assert(holds, f"{name}: Expect arg[{index}] to be {what}"))
        value = ops.cast(param.dtype, struct_get(args, index, Field.VALUE, dtype))
        values.append(_let(param, value))
    return first + values


def _passed_as(dtype: str) -> tuple[Sequence[Kind], str, str]:
    """The codes of arguments for a parameter, what they are, and the type of their values."""
    if dtypes.is_bool(dtype):
        return (Kind.BOOL, Kind.INT), "boolean", "int64"
    if dtypes.is_integral(dtype):
        return (Kind.INT, Kind.BOOL), "int", "int64"
    if dtypes.is_float(dtype):
        return (Kind.FLOAT,), "float", "float64"
    return _POINTERS, "pointer", "handle"


class Binder:
    """Binds the variables of buffers to fields of DLTensors, and checks the other fields.

    `values` define variables, `checks` compare with them.
    """

    def __init__(
        self, name: str, device: int, params: Sequence[Var], settings: Lowering = AS_TVM
    ) -> None:
        self.name, self.device = name, device
        self.defined = set(params)
        self.analyzer = Analyzer(settings)
        self.device_id: Var | None = None
        self.values: list[_Wrap] = []
        self.checks: list[_Wrap] = []

    def devices(self) -> list[_Wrap]:
        """The attributes of the device that has the buffers."""
        if self.device_id is None:
            return []
        kind = IntImm(self.device)
        node = StringImm("default")
        return [
            _attribute("device_id", node, self.device_id),
            _attribute("device_type", node, kind),
        ]

    def prepared(self) -> list[Stmt]:
        """The statement that selects the device."""
        if self.device_id is None or self.device == _CPU:
            return []
        args = (StringImm("__tvm_set_device"), IntImm(self.device), self.device_id)
        return [Evaluate(Call("int32", "tir.tvm_call_packed", args))]

    def bind(self, array: Var, buffer: Buffer) -> None:
        """Bind the variables of a buffer to the fields of its array."""
        label, ndim = f"{self.name}.{array.name}", len(buffer.shape)
        self.values += [
            _assert(_is_given(array), f"{label} is expected to have non-NULL DLTensor* pointer"),
            _assert(
                EQ(IntImm(ndim), struct_get(array, 0, Field.NDIM, "int32")),
                f"{label}.ndim is expected to equal {ndim}",
            ),
        ]
        self._check_dtype(array, buffer.dtype, label)
        shape = self._numbers(array, Field.SHAPE, f"{label}.shape", ndim)
        for index, wanted in enumerate(buffer.shape):
            value = ops.cast(wanted.dtype, BufferLoad(shape, (IntImm(index),)))
            self._set(wanted, value, f"{label}.shape[{index}]")
        self._strides(array, buffer, shape, label)
        self._offset(array, buffer, label)
        self._place(array, label)
        self._set(buffer.data, struct_get(array, 0, Field.DATA, "handle"), f"{label}.data")
        align = IntImm(buffer.data_alignment)
        self.values.append(_attribute("storage_alignment", buffer.data, align))
        size = _folded(ops.mul, [IntImm(1), *buffer.shape])
        is_empty = ops.equal(size, IntImm(0, size.dtype))
        holds = ops.logical_or(is_empty, _is_given(buffer.data))
        self.checks.append(_assert(holds, f"{label} is expected to have non-NULL data pointer"))

    def _set(self, wanted: Expr, value: Expr, label: str) -> None:
        """Define a variable, or check a value."""
        if isinstance(wanted, Var) and wanted not in self.defined:
            self.defined.add(wanted)
            self.values.append(_let(wanted, value))
            return
        self._check(EQ(wanted, value), label)

    def _check(self, holds: Expr, label: str) -> None:
        message = f"Argument {label} has an unsatisfied constraint: {holds}"
        self.checks.append(_assert(self.analyzer.simplify(holds), message))

    def _check_dtype(self, array: Var, dtype: str, label: str) -> None:
        parts = dtypes.parse(dtype)
        fields = (
            (Field.TYPE_CODE, "uint8", TYPE_CODES.get(parts.code, int(Kind.HANDLE))),
            (Field.TYPE_BITS, "uint8", parts.bits),
            (Field.TYPE_LANES, "uint16", parts.lanes),
        )
        holds = _folded(
            ops.logical_and,
            [EQ(struct_get(array, 0, field, of), IntImm(n, of)) for field, of, n in fields],
        )
        self.checks.append(_assert(holds, f"{label}.dtype is expected to be {dtype}"))

    def _numbers(self, array: Var, field: Field, label: str, count: int) -> Buffer:
        """An array of int64 that a field points to."""
        data = Var(label, "handle", PointerType("int64", ""))
        self.values.append(_let(data, struct_get(array, 0, field, "handle")))
        numbers = decl_buffer((count,), "int64", label, data)
        self.values.append(_declared(numbers))
        return numbers

    def _strides(self, array: Var, buffer: Buffer, shape: Buffer, label: str) -> None:
        ndim = len(buffer.strides)
        strides = self._numbers(array, Field.STRIDES, f"{label}.strides", ndim)
        if not ndim:
            self._check_compact(buffer, strides, label)
            return
        is_auto = buffer.buffer_type == "auto_broadcast"
        compact: Expr = IntImm(1, buffer.strides[-1].dtype)
        for index in reversed(range(ndim)):
            wanted = buffer.strides[index]
            stride = ops.cast(wanted.dtype, BufferLoad(strides, (IntImm(index),)))
            value = _if(isnullptr(strides.data), ops.cast(wanted.dtype, compact), stride)
            extent = buffer.shape[index]
            if is_auto:
                is_unit = ops.equal(extent, IntImm(1, extent.dtype))
                if not isinstance(is_unit, IntImm):
                    value = _if(is_unit, IntImm(0, wanted.dtype), value)
            else:
                extent = ops.cast(wanted.dtype, BufferLoad(shape, (IntImm(index),)))
            self._set(wanted, value, f"{label}.strides[{index}]")
            compact = ops.mul(compact, ops.cast(compact.dtype, extent))

    def _check_compact(self, buffer: Buffer, strides: Buffer, label: str) -> None:
        """Check that the strides, if there are any, are those of a compact array."""
        if not buffer.shape:
            return
        compact: Expr = IntImm(1, buffer.shape[-1].dtype)
        holds: Expr = ops.TRUE
        for index, extent in reversed([*enumerate(buffer.shape)]):
            if not ops.is_const(extent, 1):
                stride = ops.cast(extent.dtype, BufferLoad(strides, (IntImm(index),)))
                holds = ops.logical_and(holds, EQ(compact, stride))
            compact = ops.mul(compact, extent)
        message = StringImm(f"{label}.strides: expected to be compact array")
        check = IfThenElse(_is_given(strides.data), AssertStmt(holds, message, NOTHING))
        self.checks.append(lambda body: sequence([check, body]))

    def _offset(self, array: Var, buffer: Buffer, label: str) -> None:
        value: Expr = struct_get(array, 0, Field.BYTE_OFFSET, "uint64")
        size = dtypes.storage_bytes(buffer.dtype)
        offset = buffer.elem_offset
        if isinstance(offset, IntImm):
            begin = IntImm(offset.value * size, "uint64")
            self._check(EQ(begin, value), f"{label}.byte_offset")
            return
        if size > 1:
            value = ops.truncdiv(value, IntImm(size, "uint64"))
        self._set(offset, ops.cast(offset.dtype, value), f"{label}.elem_offset")
        if buffer.offset_factor > 1:
            factor = IntImm(buffer.offset_factor, offset.dtype)
            rest = EQ(ops.truncmod(offset, factor), IntImm(0, offset.dtype))
            self._check(rest, f"{label}.elem_offset")

    def _place(self, array: Var, label: str) -> None:
        """The device of all buffers is that of the first."""
        kind = EQ(IntImm(self.device), struct_get(array, 0, Field.DEVICE_TYPE, "int32"))
        self._check(kind, f"{label}.device_type")
        if self.device_id is None:
            self.device_id = Var("dev_id")
        number = struct_get(array, 0, Field.DEVICE_ID, "int32")
        self._set(self.device_id, number, f"{label}.device_id")


def _folded(operation: Callable[[Any, Any], Expr], operands: Sequence[Expr]) -> Expr:
    return reduce(operation, operands)


def _if(condition: Expr, yes: Expr, no: Expr) -> Call:
    return Call(yes.dtype, "tir.if_then_else", (condition, yes, no))


class _Returns(Mapper):
    """Stores returned values where the caller reads them."""

    def __init__(self, name: str, value: Var, kind: Var) -> None:
        self.name, self.value = name, value
        self.kind = decl_buffer((1,), "int32", kind.name, kind, strides=[1])
        self.values: dict[str, Buffer] = {}

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        call = node.value
        if not isinstance(call, Call) or call.op != "tir.ret":
            return node
        (value,) = call.args
        _, _, dtype = _passed_as(value.dtype)
        if dtype == "handle":
            raise LoweringError(
                f"cannot return a value of dtype {value.dtype} from packed function {self.name}",
                "it returns a number",
                "store the value in a buffer that the caller passes",
            )
        kind = Kind.FLOAT if dtype == "float64" else Kind.INT
        if dtype not in self.values:
            name = self.value.name
            self.values[dtype] = decl_buffer((1,), dtype, name, self.value, strides=[1])
        zero = (IntImm(0),)
        return SeqStmt(
            (
                BufferStore(self.values[dtype], Cast(dtype, value), zero),
                BufferStore(self.kind, IntImm(int(kind)), zero),
                Evaluate(Call("int32", "tir.ret", (IntImm(0),))),
            )
        )
