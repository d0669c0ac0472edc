"""The names of TVMScript for functions of loops and blocks: `from te_sched.script import tir as T`.

Made by `python -m scripts.stubs`. Names of types that are functions too, such as T.int32, are
Any: no type checker has such types.
"""

from builtins import float as _float
from builtins import int as _int
from builtins import object as _object
from builtins import str as _str
from collections.abc import Callable as _Callable
from collections.abc import Mapping as _Mapping
from collections.abc import Sequence as _Sequence
from te_sched.codegen.target import Target as _Target
from te_sched.ir.expr import Add as _Add
from te_sched.ir.expr import And as _And
from te_sched.ir.expr import Buffer as _Buffer
from te_sched.ir.expr import BufferLoad as _BufferLoad
from te_sched.ir.expr import CommReducer as CommReducer
from te_sched.ir.expr import CommReducer as _CommReducer
from te_sched.ir.expr import Div as _Div
from te_sched.ir.expr import EQ as _EQ
from te_sched.ir.expr import Expr as _Expr
from te_sched.ir.expr import FloatImm as _FloatImm
from te_sched.ir.expr import FloorDiv as _FloorDiv
from te_sched.ir.expr import FloorMod as _FloorMod
from te_sched.ir.expr import GE as _GE
from te_sched.ir.expr import GT as _GT
from te_sched.ir.expr import IntImm as _IntImm
from te_sched.ir.expr import IterVar as _IterVar
from te_sched.ir.expr import LE as _LE
from te_sched.ir.expr import LT as _LT
from te_sched.ir.expr import Max as _Max
from te_sched.ir.expr import Min as _Min
from te_sched.ir.expr import Mod as _Mod
from te_sched.ir.expr import Mul as _Mul
from te_sched.ir.expr import NE as _NE
from te_sched.ir.expr import Or as _Or
from te_sched.ir.expr import ProducerLoad as _ProducerLoad
from te_sched.ir.expr import Range as _Range
from te_sched.ir.expr import Reduce as _Reduce
from te_sched.ir.expr import Select as _Select
from te_sched.ir.expr import Shuffle as _Shuffle
from te_sched.ir.expr import StringImm as _StringImm
from te_sched.ir.expr import Sub as _Sub
from te_sched.ir.expr import Var as _Var
from te_sched.script._types import Buffer as Buffer
from te_sched.script._types import Ptr as Ptr
from te_sched.script._types import bfloat16 as bfloat16
from te_sched.script._types import bool as bool
from te_sched.script._types import boolean as boolean
from te_sched.script._types import buffer as buffer
from te_sched.script._types import e4m3_float8 as e4m3_float8
from te_sched.script._types import e4m3_float8x128 as e4m3_float8x128
from te_sched.script._types import e4m3_float8x16 as e4m3_float8x16
from te_sched.script._types import e4m3_float8x2 as e4m3_float8x2
from te_sched.script._types import e4m3_float8x32 as e4m3_float8x32
from te_sched.script._types import e4m3_float8x4 as e4m3_float8x4
from te_sched.script._types import e4m3_float8x64 as e4m3_float8x64
from te_sched.script._types import e4m3_float8x8 as e4m3_float8x8
from te_sched.script._types import e5m2_float8 as e5m2_float8
from te_sched.script._types import e5m2_float8x128 as e5m2_float8x128
from te_sched.script._types import e5m2_float8x16 as e5m2_float8x16
from te_sched.script._types import e5m2_float8x2 as e5m2_float8x2
from te_sched.script._types import e5m2_float8x32 as e5m2_float8x32
from te_sched.script._types import e5m2_float8x4 as e5m2_float8x4
from te_sched.script._types import e5m2_float8x64 as e5m2_float8x64
from te_sched.script._types import e5m2_float8x8 as e5m2_float8x8
from te_sched.script._types import float16 as float16
from te_sched.script._types import float16x128 as float16x128
from te_sched.script._types import float16x16 as float16x16
from te_sched.script._types import float16x2 as float16x2
from te_sched.script._types import float16x32 as float16x32
from te_sched.script._types import float16x4 as float16x4
from te_sched.script._types import float16x64 as float16x64
from te_sched.script._types import float16x8 as float16x8
from te_sched.script._types import float32 as float32
from te_sched.script._types import float32x128 as float32x128
from te_sched.script._types import float32x16 as float32x16
from te_sched.script._types import float32x2 as float32x2
from te_sched.script._types import float32x32 as float32x32
from te_sched.script._types import float32x4 as float32x4
from te_sched.script._types import float32x64 as float32x64
from te_sched.script._types import float32x8 as float32x8
from te_sched.script._types import float64 as float64
from te_sched.script._types import float64x128 as float64x128
from te_sched.script._types import float64x16 as float64x16
from te_sched.script._types import float64x2 as float64x2
from te_sched.script._types import float64x32 as float64x32
from te_sched.script._types import float64x4 as float64x4
from te_sched.script._types import float64x64 as float64x64
from te_sched.script._types import float64x8 as float64x8
from te_sched.script._types import handle as handle
from te_sched.script._types import int1 as int1
from te_sched.script._types import int16 as int16
from te_sched.script._types import int16x128 as int16x128
from te_sched.script._types import int16x16 as int16x16
from te_sched.script._types import int16x2 as int16x2
from te_sched.script._types import int16x32 as int16x32
from te_sched.script._types import int16x4 as int16x4
from te_sched.script._types import int16x64 as int16x64
from te_sched.script._types import int16x8 as int16x8
from te_sched.script._types import int1x128 as int1x128
from te_sched.script._types import int1x16 as int1x16
from te_sched.script._types import int1x2 as int1x2
from te_sched.script._types import int1x32 as int1x32
from te_sched.script._types import int1x4 as int1x4
from te_sched.script._types import int1x64 as int1x64
from te_sched.script._types import int1x8 as int1x8
from te_sched.script._types import int2 as int2
from te_sched.script._types import int2x128 as int2x128
from te_sched.script._types import int2x16 as int2x16
from te_sched.script._types import int2x2 as int2x2
from te_sched.script._types import int2x32 as int2x32
from te_sched.script._types import int2x4 as int2x4
from te_sched.script._types import int2x64 as int2x64
from te_sched.script._types import int2x8 as int2x8
from te_sched.script._types import int32 as int32
from te_sched.script._types import int32x128 as int32x128
from te_sched.script._types import int32x16 as int32x16
from te_sched.script._types import int32x2 as int32x2
from te_sched.script._types import int32x32 as int32x32
from te_sched.script._types import int32x4 as int32x4
from te_sched.script._types import int32x64 as int32x64
from te_sched.script._types import int32x8 as int32x8
from te_sched.script._types import int4 as int4
from te_sched.script._types import int4x128 as int4x128
from te_sched.script._types import int4x16 as int4x16
from te_sched.script._types import int4x2 as int4x2
from te_sched.script._types import int4x32 as int4x32
from te_sched.script._types import int4x4 as int4x4
from te_sched.script._types import int4x64 as int4x64
from te_sched.script._types import int4x8 as int4x8
from te_sched.script._types import int64 as int64
from te_sched.script._types import int64x128 as int64x128
from te_sched.script._types import int64x16 as int64x16
from te_sched.script._types import int64x2 as int64x2
from te_sched.script._types import int64x32 as int64x32
from te_sched.script._types import int64x4 as int64x4
from te_sched.script._types import int64x64 as int64x64
from te_sched.script._types import int64x8 as int64x8
from te_sched.script._types import int8 as int8
from te_sched.script._types import int8x128 as int8x128
from te_sched.script._types import int8x16 as int8x16
from te_sched.script._types import int8x2 as int8x2
from te_sched.script._types import int8x32 as int8x32
from te_sched.script._types import int8x4 as int8x4
from te_sched.script._types import int8x64 as int8x64
from te_sched.script._types import int8x8 as int8x8
from te_sched.script._types import ptr as ptr
from te_sched.script._types import uint16 as uint16
from te_sched.script._types import uint16x128 as uint16x128
from te_sched.script._types import uint16x16 as uint16x16
from te_sched.script._types import uint16x2 as uint16x2
from te_sched.script._types import uint16x32 as uint16x32
from te_sched.script._types import uint16x4 as uint16x4
from te_sched.script._types import uint16x64 as uint16x64
from te_sched.script._types import uint16x8 as uint16x8
from te_sched.script._types import uint2 as uint2
from te_sched.script._types import uint2x128 as uint2x128
from te_sched.script._types import uint2x16 as uint2x16
from te_sched.script._types import uint2x2 as uint2x2
from te_sched.script._types import uint2x32 as uint2x32
from te_sched.script._types import uint2x4 as uint2x4
from te_sched.script._types import uint2x64 as uint2x64
from te_sched.script._types import uint2x8 as uint2x8
from te_sched.script._types import uint32 as uint32
from te_sched.script._types import uint32x128 as uint32x128
from te_sched.script._types import uint32x16 as uint32x16
from te_sched.script._types import uint32x2 as uint32x2
from te_sched.script._types import uint32x32 as uint32x32
from te_sched.script._types import uint32x4 as uint32x4
from te_sched.script._types import uint32x64 as uint32x64
from te_sched.script._types import uint32x8 as uint32x8
from te_sched.script._types import uint4 as uint4
from te_sched.script._types import uint4x128 as uint4x128
from te_sched.script._types import uint4x16 as uint4x16
from te_sched.script._types import uint4x2 as uint4x2
from te_sched.script._types import uint4x32 as uint4x32
from te_sched.script._types import uint4x4 as uint4x4
from te_sched.script._types import uint4x64 as uint4x64
from te_sched.script._types import uint4x8 as uint4x8
from te_sched.script._types import uint64 as uint64
from te_sched.script._types import uint64x128 as uint64x128
from te_sched.script._types import uint64x16 as uint64x16
from te_sched.script._types import uint64x2 as uint64x2
from te_sched.script._types import uint64x32 as uint64x32
from te_sched.script._types import uint64x4 as uint64x4
from te_sched.script._types import uint64x64 as uint64x64
from te_sched.script._types import uint64x8 as uint64x8
from te_sched.script._types import uint8 as uint8
from te_sched.script._types import uint8x128 as uint8x128
from te_sched.script._types import uint8x16 as uint8x16
from te_sched.script._types import uint8x2 as uint8x2
from te_sched.script._types import uint8x32 as uint8x32
from te_sched.script._types import uint8x4 as uint8x4
from te_sched.script._types import uint8x64 as uint8x64
from te_sched.script._types import uint8x8 as uint8x8
from te_sched.script._types import void as void
from te_sched.script.decorators import prim_func as prim_func
from te_sched.script.frames import BlockFrame as _BlockFrame
from te_sched.script.frames import CaseFrame as _CaseFrame
from te_sched.script.frames import ForFrame as _ForFrame
from te_sched.script.frames import IfFrame as _IfFrame
from te_sched.script.frames import InitFrame as _InitFrame
from te_sched.script.frames import Wrapper as _Wrapper
from te_sched.script.parser import macro as macro
from te_sched.script.words import meta_var as meta_var
from te_sched.tir.kinds import CallEffectKind as CallEffectKind
from typing import Any as _Any

def Add(a: _Any, b: _Any, span: _object = None) -> _Add:
    """a + b"""
def And(a: _Any, b: _Any, span: _object = None) -> _And:
    """a and b, of bools; b is evaluated only if a is true."""
def Assert(condition: _Any, message: _Any = "") -> _Wrapper:
    """Stop the program with a message unless a condition holds."""
def Broadcast(value: _Any, lanes: _Any) -> _Expr:
    """The vector of several copies of a value."""
def BufferLoad(buffer: _Any, indices: _Any, predicate: _Any = None, *, span: _Any = None) -> _BufferLoad:
    """An element of a buffer; a vector of elements if the last index is a vector."""
def Call(dtype: _Any, op: _Any, args: _Any, *, span: _Any = None) -> _Expr:
    """Call of an intrinsic such as "tir.exp", "tir.if_then_else", "tir.call_extern" (see"""
def Cast(dtype: _Any, value: _Any) -> _Expr:
    """A conversion, even where none is needed."""
def Div(a: _Any, b: _Any, span: _object = None) -> _Div:
    """Division; integers round towards zero."""
def EQ(a: _Any, b: _Any, span: _object = None) -> _EQ:
    """a == b"""
def Else() -> _CaseFrame:
    """What is done where the condition does not hold."""
def FloatImm(dtype: _str, value: _float, span: _object = None) -> _FloatImm:
    """A floating-point constant, rounded to its dtype when built through `const`."""
def FloorDiv(a: _Any, b: _Any, span: _object = None) -> _FloorDiv:
    """Division rounded towards minus infinity."""
def FloorMod(a: _Any, b: _Any, span: _object = None) -> _FloorMod:
    """Remainder of `FloorDiv`: the sign of b."""
def GE(a: _Any, b: _Any, span: _object = None) -> _GE:
    """a >= b"""
def GT(a: _Any, b: _Any, span: _object = None) -> _GT:
    """a > b"""
def If(condition: _Any) -> _IfFrame:
    """A condition, with `T.Then()` and `T.Else()` inside."""
def IntImm(dtype: _str, value: _int, span: _object = None) -> _IntImm:
    """An integer or bool constant (bool: 0 or 1)."""
def IterVar(dom: _Any, var: _Any, iter_type: _int | _str, thread_tag: _str = "", span: _object = None) -> _IterVar:
    """An axis: a variable with a domain, a kind and, for threads, a tag such as "threadIdx.x"."""
def LE(a: _Any, b: _Any, span: _object = None) -> _LE:
    """a <= b"""
def LT(a: _Any, b: _Any, span: _object = None) -> _LT:
    """a < b"""
def Let(expr: _Any, where: _Mapping[_Any, _Any]) -> _Expr:
    """An expression in which variables stand for values."""
def LetStmt(value: _Any, type_annotation: _Any = None, *, var: _Any = None) -> _Any:
    """A variable with a value."""
def Max(a: _Any, b: _Any, span: _object = None) -> _Max:
    """The larger of a and b."""
def Min(a: _Any, b: _Any, span: _object = None) -> _Min:
    """The smaller of a and b."""
def Mod(a: _Any, b: _Any, span: _object = None) -> _Mod:
    """Remainder of `Div`: the sign of a."""
def Mul(a: _Any, b: _Any, span: _object = None) -> _Mul:
    """a * b"""
def NE(a: _Any, b: _Any, span: _object = None) -> _NE:
    """a != b"""
def Not(a: _Any) -> _Expr:
    """not a"""
def Or(a: _Any, b: _Any, span: _object = None) -> _Or:
    """a or b, of bools; b is evaluated only if a is false."""
def ProducerLoad(producer: _Any, indices: _Any, *, span: _Any = None) -> _ProducerLoad:
    """An element of a tensor without a buffer."""
def Ramp(base: _Any, stride: _Any, lanes: _Any) -> _Expr:
    """The vector base, base + stride, ..."""
def Range(begin: _Any, end: _Any = None) -> _Range:
    """The integers from begin to end - 1."""
def Reduce(combiner: _CommReducer, src: _Sequence[_Any], rdom: _Sequence[_IterVar], condition: _Any, value_index: _int, init: _Sequence[_Any] | None = None, span: _object = None) -> _Reduce:
    """Component `value_index` of the reduction of `source` over the values of `axis` for which"""
def Select(condition: _Any, true_value: _Any, false_value: _Any, span: _object = None) -> _Select:
    """true_value if condition holds, otherwise false_value; both may be evaluated."""
def Shuffle(vectors: _Any, indices: _Any, *, span: _Any = None) -> _Shuffle:
    """Lanes `indices` of the concatenation of `vectors`."""
def SizeVar(name: _str, dtype: _str = "int32", span: _object = None) -> _Var:
    """A variable, identified by the object, not by its name. `is_size` implies a value >= 0."""
def StringImm(value: _Any, dtype: _Any = "handle", *, span: _Any = None) -> _StringImm:
    """A string constant: an argument of an intrinsic or the value of an attribute."""
def Sub(a: _Any, b: _Any, span: _object = None) -> _Sub:
    """a - b"""
def TVMBackendAllocWorkspace(device_type: _Any, device_id: _Any, nbytes: _Any, dtype_code_hint: _Any, dtype_bits_hint: _Any) -> _Expr:
    """Memory for temporary values."""
def TVMBackendFreeWorkspace(device_type: _Any, device_id: _Any, ptr: _Any) -> _Expr:
    """Free memory of temporary values."""
def Then() -> _CaseFrame:
    """What is done where the condition holds."""
def Var(name: _str, dtype: _Any = "int32", span: _object = None) -> _Var:
    """A variable, identified by the object, not by its name. `is_size` implies a value >= 0."""
def While(condition: _Any) -> _Wrapper:
    """A loop that runs as long as a condition holds."""
def abs(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The absolute value of x."""
def acos(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The inverse cosine."""
def acosh(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The inverse hyperbolic cosine."""
def address_of(load: _object, *, dtype: _Any = None) -> _Expr:
    """The address of an element, or of the first element of a buffer."""
def alloc_buffer(shape: _Any, dtype: _Any = "float32", data: _Any = None, strides: _Any = None, elem_offset: _Any = None, scope: _str = "global", align: _int = -1, offset_factor: _int = 0, buffer_type: _str = "default", axis_separators: _Any = None) -> _Buffer:
    """A buffer that exists in the block, or in all of the function."""
def allocate(extents: _Any, dtype: _Any, scope: _str = "global", condition: _Any = None, annotations: _Any = None) -> _Any:
    """Memory; the value is the pointer to it."""
def allocate_const(data: _Any, dtype: _Any, extents: _Any, annotations: _Any = None) -> _Any:
    """Constant memory with these elements."""
def anylist_getitem(list_handle: _Any, index: _Any) -> _Expr:
    """An element of a list."""
def anylist_resetitem(list_handle: _Any, index: _Any) -> _Expr:
    """Clear an element of a list."""
def anylist_setitem_call_cpacked(list_handle: _Any, index: _Any, func_name: _Any, *args: _Any) -> _Expr:
    """Keep the value of a C call in a list."""
def anylist_setitem_call_packed(list_handle: _Any, index: _Any, func_name: _Any, *args: _Any) -> _Expr:
    """Keep the value of a packed call in a list."""
def arg(name: _str, obj: _Any) -> _Any:
    """Add a parameter: a variable, or a buffer."""
def asin(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The inverse sine."""
def asinh(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The inverse hyperbolic sine."""
def assume(cond: _Any = None) -> _Expr:
    """A condition that holds here."""
def atan(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The inverse tangent."""
def atan2(x: _Any, y: _Any, *, dtype: _Any = None) -> _Expr:
    """The angle of the point (y, x); the first argument is y."""
def atanh(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The inverse hyperbolic tangent."""
def attr(node: _Any, attr_key: _str, value: _Any) -> _Wrapper:
    """A fact about a node."""
class _Axis:
    """`T.axis`: the iterators of a block."""

    @staticmethod
    def R(dom: _Any, binding: _Any, dtype: _str = "int32") -> _Var:
        """An iterator of a reduction."""
    @staticmethod
    def S(dom: _Any, binding: _Any, dtype: _str = "int32") -> _Var:
        """An iterator whose values are computed in any order."""
    @staticmethod
    def opaque(dom: _Any, binding: _Any, dtype: _str = "int32") -> _Var:
        """An iterator of which nothing is known."""
    @staticmethod
    def reduce(dom: _Any, binding: _Any, dtype: _str = "int32") -> _Var:
        """An iterator of a reduction."""
    @staticmethod
    def remap(kinds: _str, bindings: _Sequence[_Any], dtype: _str = "int32") -> _Any:
        """Iterators over the domains of loops: "S" for spatial and "R" for reduction."""
    @staticmethod
    def scan(dom: _Any, binding: _Any, dtype: _str = "int32") -> _Var:
        """An iterator whose values come in their order."""
    @staticmethod
    def spatial(dom: _Any, binding: _Any, dtype: _str = "int32") -> _Var:
        """An iterator whose values are computed in any order."""

axis: _Axis
def bind(iter_var: _Any, value: _Any) -> None:
    """Give an iterator its value, in the older spelling of blocks."""
def bitwise_and(a: _Any, b: _Any, *, dtype: _Any = None) -> _Expr:
    """a & b, of integers or booleans."""
def bitwise_not(a: _Any, *, dtype: _Any = None) -> _Expr:
    """~a"""
def bitwise_or(a: _Any, b: _Any, *, dtype: _Any = None) -> _Expr:
    """a | b, of integers or booleans."""
def bitwise_xor(a: _Any, b: _Any, *, dtype: _Any = None) -> _Expr:
    """a ^ b, of integers or booleans."""
def block(name: _Any = "", no_realize: _Any = False) -> _BlockFrame:
    """A block. The older spelling gives its axes: `with T.block([8, 8], "C") as [vi, vj]:`."""
def block_attr(attrs: _Mapping[_str, _Any]) -> None:
    """Give the block annotations."""
def broadcast(value: _Any, lanes: _Any) -> _Expr:
    """The vector of several copies of a value."""
def buffer_decl(shape: _Any, dtype: _Any = "float32", **others: _Any) -> _Buffer:
    """The older name of T.Buffer."""
def buffer_store(buffer: _Any, value: _Any, indices: _Any, predicate: _Any = None) -> None:
    """Store a value in an element, or in several."""
def call_cpacked(*args: _Any, dtype: _Any = None) -> _Expr:
    """A call of a registered function (tvm_call_cpacked), by its name."""
def call_cpacked_lowered(*args: _Any, dtype: _Any = None) -> _Expr:
    """A call of a registered function (tvm_call_cpacked_lowered), by its name."""
def call_extern(*args: _Any, dtype: _Any = None, **named: _Any) -> _Expr:
    """Call a C function that may have side effects."""
def call_intrin(dtype: _Any, op: _str, *args: _Any) -> _Expr:
    """The call of an intrinsic by its name."""
def call_llvm_intrin(*args: _Any, dtype: _Any = None, **named: _Any) -> _Expr:
    """Call an LLVM intrinsic that may have side effects."""
def call_llvm_pure_intrin(*args: _Any, dtype: _Any = None, **named: _Any) -> _Expr:
    """Call an LLVM intrinsic without side effects."""
def call_packed(*args: _Any, dtype: _Any = None) -> _Expr:
    """A call of a registered function (tvm_call_packed), by its name."""
def call_packed_lowered(*args: _Any, dtype: _Any = None) -> _Expr:
    """A call of a registered function (tvm_call_packed_lowered), by its name."""
def call_pure_extern(*args: _Any, dtype: _Any = None, **named: _Any) -> _Expr:
    """Call a C function without side effects."""
def call_tir(global_var: _object, *args: _Any) -> _Expr:
    """Call another function of the module, which gives nothing."""
def cast(value: _Any, dtype: _Any) -> _Expr:
    """A value converted to a dtype."""
def ceil(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The smallest whole number that is not below x."""
def ceildiv(a: _Any, b: _Any, *, dtype: _Any = None) -> _Expr:
    """a / b of integers, rounded towards infinity"""
def clz(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The number of leading zero bits of x, as an int32."""
def comm_reducer(combiner: _Callable[..., _Any], identity: _Sequence[_Any]) -> _Any:
    """A commutative reduction."""
def copysign(x: _Any, y: _Any, *, dtype: _Any = None) -> _Expr:
    """The size of x with the sign of y."""
def cos(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The cosine."""
def cosh(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The hyperbolic cosine."""
def create_barriers(barrier_count: _Any) -> _Expr:
    """Barriers in shared memory."""
def decl_buffer(shape: _Any, dtype: _Any = "float32", data: _Any = None, strides: _Any = None, elem_offset: _Any = None, scope: _str = "global", align: _int = 0, offset_factor: _int = 0, buffer_type: _str = "", axis_separators: _Any = None) -> _Any:
    """A buffer: a view of the memory of `data`, or of memory that it allocates."""
def dp4a(*args: _Any, dtype: _Any = None, **named: _Any) -> _Expr:
    """The dot product of 4 pairs of int8, plus acc."""
def end_profile_intrinsic(id: _Any) -> _Expr:
    """End to count events."""
def env_thread(thread_tag: _str, dtype: _str = "int32") -> _Var:
    """The variable of a thread axis that is launched later, perhaps several times."""
def erf(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The error function."""
def evaluate(value: _Any) -> None:
    """Evaluate an expression for its effect."""
def exp(x: _Any, *, dtype: _Any = None) -> _Expr:
    """e to the power of x."""
def exp10(x: _Any, *, dtype: _Any = None) -> _Expr:
    """10 to the power of x."""
def exp2(x: _Any, *, dtype: _Any = None) -> _Expr:
    """2 to the power of x."""
def fabs(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The absolute value of x."""
def floor(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The largest whole number that is not above x."""
def floordiv(a: _Any, b: _Any, *, dtype: _Any = None) -> _Expr:
    """a / b of integers, rounded towards minus infinity"""
def floormod(a: _Any, b: _Any, *, dtype: _Any = None) -> _Expr:
    """The remainder of floordiv, with the sign of b"""
def fmod(x: _Any, y: _Any, *, dtype: _Any = None) -> _Expr:
    """The remainder of x / y, with the sign of x."""
def func_attr(attrs: _Mapping[_str, _Any]) -> None:
    """Give the function attributes."""
def func_name(name: _str) -> None:
    """Name the function."""
def func_ret(ret_type: _Any) -> None:
    """Give the function a type of result."""
def get_active_lane_mask(dtype: _Any, base: _Any, limit: _Any) -> _Expr:
    """Which lanes are below a limit."""
def grid(*extents: _Any) -> _ForFrame:
    """A nest of loops."""
def hypot(x: _Any, y: _Any, *, dtype: _Any = None) -> _Expr:
    """The square root of x*x + y*y."""
def if_then_else(cond: _Any, t: _Any, f: _Any, *, dtype: _Any = None) -> _Expr:
    """t if cond holds, otherwise f; only that value is evaluated, so cond can guard a load."""
def index_map(mapping: _Callable[..., _Any], *, inverse_index_map: _Any = None) -> _Any:
    """A map of indices."""
def infinity(dtype: _Any) -> _Expr:
    """The largest number of a floating-point type, which is infinite."""
def init() -> _InitFrame:
    """What the block does before its body in the first iteration of a reduction."""
def isfinite(x: _Any, *, dtype: _Any = None) -> _Expr:
    """Whether x is neither infinite nor NaN."""
def isinf(x: _Any, *, dtype: _Any = None) -> _Expr:
    """Whether x is infinite."""
def isnan(x: _Any, *, dtype: _Any = None) -> _Expr:
    """Whether x is NaN."""
def isnullptr(pointer: _Any, *, dtype: _Any = None) -> _Expr:
    """Whether a pointer is null."""
def iter_var(var: _Any, dom: _Any, iter_type: _str, thread_tag: _str = "") -> _IterVar:
    """An axis."""
def large_uint_imm(low: _Any, high: _Any) -> _Expr:
    """A number of uint64 that int64 does not hold, as its halves of 32 bits."""
def launch_kernel(*args: _Any, dtype: _Any = None) -> _Expr:
    """A call of a registered function (launch_kernel), by its name."""
def launch_thread(thread: _Any, extent: _Any) -> _Any:
    """An axis of threads of this extent."""
def ldexp(x: _Any, exponent: _Any, *, dtype: _Any = None) -> _Expr:
    """x * 2**exponent, of a float and an integer."""
def let(var: _Any, value: _Any, body: _Any = None) -> _Any:
    """The older spelling: a statement without body, an expression with one."""
def likely(cond: _Any, *, dtype: _Any = None) -> _Expr:
    """The condition, marked as almost always true."""
def llvm_lookup_intrinsic_id(name: _str) -> _str:
    """The intrinsic of LLVM of this name, as an argument of T.call_llvm_intrin."""
def log(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The natural logarithm."""
def log10(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The logarithm to the base 10."""
def log1p(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The natural logarithm of 1 + x."""
def log2(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The logarithm to the base 2."""
def lookup_param(param_name: _Any) -> _Expr:
    """A parameter of a program, by its name."""
def make_filled_simdgroup_matrix(d: _Any, index: _Any, value: _Any, col: _Any = 8, row: _Any = 8) -> _Expr:
    """Fill a matrix of a SIMD group."""
def match_buffer(param: _Any, shape: _Any = None, dtype: _Any = "float32", data: _Any = None, strides: _Any = None, elem_offset: _Any = None, scope: _str = "global", align: _int = -1, offset_factor: _int = 0, buffer_type: _str = "default", axis_separators: _Any = None) -> _Buffer:
    """The buffer of a parameter, or a view of a region of a buffer in a block."""
def max(a: _Any, b: _Any) -> _Expr:
    """The larger of two values."""
def max_value(dtype: _Any) -> _Expr:
    """The largest value of a dtype."""
def min(a: _Any, b: _Any) -> _Expr:
    """The smaller of two values."""
def min_value(dtype: _Any) -> _Expr:
    """The smallest value of a dtype."""
def mma_fill(dtype: _Any, local_size: _Any, local_ptr: _Any, offset: _Any) -> _Expr:
    """Fill the part of a matrix of a thread."""
def mma_store(dtype: _Any, m: _Any, n: _Any, dst_ptr: _Any, src_ptr: _Any, src_offset: _Any, dst_stride: _Any) -> _Expr:
    """Write the part of a matrix of a thread."""
def nearbyint(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The nearest whole number, halves to the even one."""
def nextafter(x: _Any, y: _Any, *, dtype: _Any = None) -> _Expr:
    """The next number after x on the way to y."""
def opaque_axis(begin: _Any, end: _Any) -> _IterVar:
    """An axis of which nothing is known, in the older spelling of blocks."""
def parallel(start: _Any, stop: _Any = None, *, annotations: _Any = None) -> _ForFrame:
    """A loop whose iterations run in parallel."""
def popcount(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The number of 1 bits of x."""
def pow(x: _Any, y: _Any, *, dtype: _Any = None) -> _Expr:
    """x to the power of y."""
def prefetch(buffer: _Any, bounds: _Any, *kinds: _Any) -> _Expr | None:
    """Prefetch a region of a buffer, as a statement; with an address, whether it is written, its"""
def ptx_arrive_barrier(barrier_id: _Any) -> _Expr:
    """PTX: arrive at a barrier."""
def ptx_arrive_barrier_expect_tx(barrier_id: _Any, byte_count: _Any) -> _Expr:
    """PTX: arrive at a barrier that also awaits bytes."""
def ptx_commit_group() -> _Expr:
    """PTX: the copies begun so far are one group."""
def ptx_cp_async(dtype: _Any, shared_ptr: _Any, shared_offset: _Any, global_ptr: _Any, global_offset: _Any, bytes: _Any) -> _Expr:
    """PTX cp.async: begin to copy to shared memory."""
def ptx_cp_async_barrier(barrier_id: _Any) -> _Expr:
    """PTX: a barrier that awaits copies."""
def ptx_cp_async_bulk(dtype: _Any, shared_ptr: _Any, shared_offset: _Any, global_ptr: _Any, global_offset: _Any, bytes: _Any, barrier_id: _Any) -> _Expr:
    """PTX cp.async.bulk: begin to copy a block of bytes."""
def ptx_init_barrier_thread_count(barrier_id: _Any, thread_count: _Any) -> _Expr:
    """PTX: the number of threads that a barrier awaits."""
def ptx_ldmatrix(dtype: _Any, trans: _Any, num: _Any, type: _Any, local_ptr: _Any, local_offset: _Any, smem_ptr: _Any, smem_offset: _Any) -> _Expr:
    """PTX ldmatrix: read matrices of 8 by 8 from shared memory."""
def ptx_mma(dtype: _Any, shape: _Any, A_layout: _Any, B_layout: _Any, A_dtype: _Any, B_dtype: _Any, C_dtype: _Any, multiplicand_a: _Any, a_index: _Any, multiplicand_b: _Any, b_index: _Any, accumulator: _Any, c_index: _Any, saturate: _Any, operator: _Any = None) -> _Expr:
    """PTX mma: c += a * b, of matrices in registers."""
def ptx_mma_sp(dtype: _Any, shape: _Any, A_layout: _Any, B_layout: _Any, A_dtype: _Any, B_dtype: _Any, C_dtype: _Any, multiplicand_a: _Any, a_index: _Any, multiplicand_b: _Any, b_index: _Any, accumulator: _Any, c_index: _Any, metadata: _Any, meta_index: _Any, sparse_selector: _Any, saturate: _Any) -> _Expr:
    """PTX mma.sp: c += a * b, where half of a is zero."""
def ptx_wait_barrier(barrier_id: _Any) -> _Expr:
    """PTX: wait at a barrier."""
def ptx_wait_group(num: _Any) -> _Expr:
    """PTX: wait until at most num groups are under way."""
def q_multiply_shift(x: _Any, y: _Any, q: _Any, s: _Any, *, dtype: _Any = None) -> _Expr:
    """round(x * y * 2**-s) of fixed-point int32 numbers with q fractional bits."""
def q_multiply_shift_per_axis(x: _Any, y: _Any, ls: _Any, rs: _Any, q: _Any, is_lshift_required: _Any, is_rshift_required: _Any) -> _Expr:
    """x * y * 2**(rs - ls - q), rounded, in fixed-point arithmetic."""
def ramp(base: _Any, stride: _Any, lanes: _Any) -> _Expr:
    """The vector base, base + stride, ..."""
def reads(*regions: _Any) -> None:
    """The regions that the block reads."""
def realize(region: _Any, storage_scope: _str | None = None, condition: _Any = True) -> _Wrapper:
    """A region of a buffer that exists in the body, in memory of this scope if one is given."""
def reduce(combiner: _Any, source: _Any, init: _Any, axis: _Any, condition: _Any, value_index: _Any) -> _Expr:
    """A reduction of tensor expressions."""
def reduce_axis(begin: _Any, end: _Any) -> _IterVar:
    """The axis of a reduction, in the older spelling of blocks."""
def reinterpret(*args: _Any, dtype: _Any = None) -> _Expr:
    """The same bits as a value of another dtype."""
def ret(value: _Any, *, dtype: _Any = None) -> _Expr:
    """A call that returns a value from the function."""
def round(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The nearest whole number, halves to the even one."""
def rsqrt(x: _Any, *, dtype: _Any = None) -> _Expr:
    """One divided by the square root."""
def scan_axis(begin: _Any, end: _Any) -> _IterVar:
    """An axis whose values come in their order, in the older spelling of blocks."""
def serial(start: _Any, stop: _Any = None, *, annotations: _Any = None, step: _Any = None) -> _ForFrame:
    """A loop."""
def shift_left(a: _Any, b: _Any, *, dtype: _Any = None) -> _Expr:
    """a << b, of integers."""
def shift_right(a: _Any, b: _Any, *, dtype: _Any = None) -> _Expr:
    """a >> b, of integers, with their sign."""
def sigmoid(x: _Any, *, dtype: _Any = None) -> _Expr:
    """1 / (1 + exp(-x))."""
def simdgroup_load(d: _Any, index: _Any, ptr: _Any, stride: _Any, col: _Any = 8, row: _Any = 8, transpose_matrix: _Any = False) -> _Expr:
    """Read a matrix into the registers of a SIMD group."""
def simdgroup_multiply_accumulate(d: _Any, index_d: _Any, a: _Any, index_a: _Any, b: _Any, index_b: _Any, c: _Any, index_c: _Any) -> _Expr:
    """d = a * b + c, of matrices of a SIMD group."""
def simdgroup_store(d: _Any, index: _Any, ptr: _Any, stride: _Any, col: _Any = 8, row: _Any = 8, transpose_matrix: _Any = False) -> _Expr:
    """Write a matrix from the registers of a SIMD group."""
def sin(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The sine."""
def sinh(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The hyperbolic sine."""
def sqrt(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The square root."""
def start_profile_intrinsic(id: _Any) -> _Expr:
    """Begin to count events."""
def tan(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The tangent."""
def tanh(x: _Any, *, dtype: _Any = None) -> _Expr:
    """The hyperbolic tangent."""
def target(config: _Any, host: _Any = None) -> _Target:
    """A target, in attributes."""
def thread_binding(start: _Any, stop: _Any = None, thread: _str | None = None, *, annotations: _Any = None) -> _ForFrame:
    """A loop that is an axis of threads, such as "threadIdx.x"."""
def trunc(x: _Any, *, dtype: _Any = None) -> _Expr:
    """x without its fraction."""
def truncdiv(a: _Any, b: _Any) -> _Expr:
    """a / b rounded to zero."""
def truncmod(a: _Any, b: _Any, *, dtype: _Any = None) -> _Expr:
    """The remainder of truncdiv, with the sign of a"""
def tvm_access_ptr(ptype: _Any, data: _Any, offset: _Any, extent: _Any, rw_mask: _Any, *, dtype: _Any = None) -> _Expr:
    """A pointer to elements of memory that are read (1) or written (2)."""
def tvm_bmma_sync(fragment_d: _Any, index_d: _Any, fragment_a: _Any, index_a: _Any, fragment_b: _Any, index_b: _Any, fragment_c: _Any, index_c: _Any) -> _Expr:
    """d = a * b + c, of matrices of bits."""
def tvm_call_cpacked(*args: _Any, dtype: _Any = None) -> _Expr:
    """A call of a registered function (tvm_call_cpacked), by its name."""
def tvm_call_cpacked_lowered(*args: _Any, dtype: _Any = None) -> _Expr:
    """A call of a registered function (tvm_call_cpacked_lowered), by its name."""
def tvm_call_packed(*args: _Any, dtype: _Any = None) -> _Expr:
    """A call of a registered function (tvm_call_packed), by its name."""
def tvm_call_packed_lowered(*args: _Any, dtype: _Any = None) -> _Expr:
    """A call of a registered function (tvm_call_packed_lowered), by its name."""
def tvm_check_return(expected: _Any, return_unexpected: _Any, nested_call: _Any) -> _Expr:
    """A call whose value is checked."""
def tvm_fill_fragment(fragment: _Any, m: _Any, n: _Any, k: _Any, index: _Any, value: _Any) -> _Expr:
    """Fill a matrix in registers."""
def tvm_load_matrix_sync(fragment: _Any, m: _Any, n: _Any, k: _Any, index: _Any, buffer_ptr: _Any, stride: _Any, layout: _Any) -> _Expr:
    """Read a matrix into registers."""
def tvm_mma_sync(fragment_d: _Any, index_d: _Any, fragment_a: _Any, index_a: _Any, fragment_b: _Any, index_b: _Any, fragment_c: _Any, index_c: _Any) -> _Expr:
    """d = a * b + c, of matrices in registers."""
def tvm_stack_alloca(dtype_str: _Any, num: _Any) -> _Expr:
    """Memory on the stack."""
def tvm_stack_make_array(data: _Any, shape: _Any, strides: _Any, ndim: _Any, arr_dtype: _Any, elem_offset: _Any) -> _Expr:
    """An array on the stack."""
def tvm_stack_make_shape(*args: _Any) -> _Expr:
    """A shape on the stack."""
def tvm_storage_sync(storage_scope: _Any) -> _Expr:
    """Wait for the threads that share a scope."""
def tvm_store_matrix_sync(fragment: _Any, m: _Any, n: _Any, k: _Any, index: _Any, buffer_ptr: _Any, stride: _Any, layout: _Any) -> _Expr:
    """Write a matrix from registers."""
def tvm_struct_get(arr: _Any, index: _Any, field: _Any, dtype: _Any) -> _Expr:
    """A field of a structure."""
def tvm_struct_set(arr: _Any, index: _Any, field: _Any, value: _Any) -> _Expr:
    """Set a field of a structure."""
def tvm_thread_allreduce(*freduce_args: _Any) -> _Expr:
    """A reduction over threads."""
def tvm_thread_invariant(cond: _Any) -> _Expr:
    """A value that all threads of a block share."""
def tvm_throw_last_error(dtype: _Any = "int32") -> _Expr:
    """Raise the last error, as lowered calls do."""
def tvm_tuple(*value: _Any) -> _Expr:
    """Several values, as the argument of an attribute."""
def tvm_warp_activemask() -> _Expr:
    """The threads of a warp that are active."""
def tvm_warp_shuffle(mask: _Any, value: _Any, warp_id: _Any, width: _Any, warp_size: _Any) -> _Expr:
    """The value of another thread."""
def tvm_warp_shuffle_down(mask: _Any, value: _Any, offset: _Any, width: _Any, warp_size: _Any) -> _Expr:
    """The value of a later thread."""
def tvm_warp_shuffle_up(mask: _Any, value: _Any, offset: _Any, width: _Any, warp_size: _Any) -> _Expr:
    """The value of an earlier thread."""
def type_annotation(*args: _Any, dtype: _Any = None, **named: _Any) -> _Expr:
    """A data type as an argument of a call."""
def undef() -> _Expr:
    """A value that may be anything."""
def unroll(start: _Any, stop: _Any = None, *, annotations: _Any = None) -> _ForFrame:
    """A loop whose body is repeated."""
def var(dtype: _Any = "int32", name: _str = "") -> _Var:
    """A new variable (the older spelling of `T.int32()`)."""
def vectorcombine(dtype: _Any, vec1: _Any, vec2: _Any) -> _Expr:
    """Two vectors, one after the other."""
def vectorhigh(dtype: _Any, vec: _Any) -> _Expr:
    """The second half of a vector."""
def vectorized(start: _Any, stop: _Any = None, *, annotations: _Any = None) -> _ForFrame:
    """A loop that becomes vector instructions."""
def vectorlow(dtype: _Any, vec: _Any) -> _Expr:
    """The first half of a vector."""
def vscale(*, dtype: _Any = None) -> _Expr:
    """The length of scalable vectors as a multiple of the minimum length."""
def where(predicate: _Any) -> None:
    """The condition under which the block is executed."""
def writes(*regions: _Any) -> None:
    """The regions that the block writes."""
