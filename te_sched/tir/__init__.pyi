"""The public names of the IR, as in TVM: `tir.decl_buffer`, `tir.ir_builder`, `tir.Var`, ...

Made by `python -m scripts.stubs`. Names of types that are functions too, such as tir.For, are
Any: no type checker has such types.
"""

from te_sched.errors import ScheduleError as ScheduleError
from te_sched.ir import builder as _builder
from te_sched.ir.buffer import decl_buffer as decl_buffer
from te_sched.ir.calls import address_of as address_of
from te_sched.ir.calls import call_cpacked as call_cpacked
from te_sched.ir.calls import call_extern as call_extern
from te_sched.ir.calls import call_intrin as _call_intrin
from te_sched.ir.calls import call_intrin as call_intrin
from te_sched.ir.calls import call_llvm_intrin as call_llvm_intrin
from te_sched.ir.calls import call_llvm_pure_intrin as call_llvm_pure_intrin
from te_sched.ir.calls import call_packed as call_packed
from te_sched.ir.calls import call_pure_extern as call_pure_extern
from te_sched.ir.calls import call_tir as call_tir
from te_sched.ir.calls import isnullptr as isnullptr
from te_sched.ir.calls import tvm_access_ptr as tvm_access_ptr
from te_sched.ir.calls import type_annotation as type_annotation
from te_sched.ir.calls import vscale as vscale
from te_sched.ir.expr import Buffer as Buffer
from te_sched.ir.expr import Call as _Call
from te_sched.ir.expr import CommReducer as CommReducer
from te_sched.ir.expr import Expr as _Expr
from te_sched.ir.expr import PointerType as PointerType
from te_sched.ir.expr import Var as Var
from te_sched.ir.expr import Var as _Var
from te_sched.ir.intrinsics import abs as _abs
from te_sched.ir.intrinsics import abs as abs
from te_sched.ir.intrinsics import all as all
from te_sched.ir.intrinsics import any as any
from te_sched.ir.intrinsics import clz as clz
from te_sched.ir.intrinsics import if_then_else as if_then_else
from te_sched.ir.intrinsics import infinity as infinity
from te_sched.ir.intrinsics import isfinite as isfinite
from te_sched.ir.intrinsics import isinf as isinf
from te_sched.ir.intrinsics import isnan as isnan
from te_sched.ir.intrinsics import ldexp as ldexp
from te_sched.ir.intrinsics import likely as likely
from te_sched.ir.intrinsics import max_value as max_value
from te_sched.ir.intrinsics import min_value as min_value
from te_sched.ir.intrinsics import not_ as not_
from te_sched.ir.intrinsics import popcount as popcount
from te_sched.ir.intrinsics import q_multiply_shift as q_multiply_shift
from te_sched.ir.intrinsics import reinterpret as reinterpret
from te_sched.ir.intrinsics import ret as ret
from te_sched.ir.ops import add as add
from te_sched.ir.ops import bitwise_not as bitwise_not
from te_sched.ir.ops import ceildiv as ceildiv
from te_sched.ir.ops import const as const
from te_sched.ir.ops import convert as convert
from te_sched.ir.ops import div as div
from te_sched.ir.ops import floordiv as _floordiv
from te_sched.ir.ops import floordiv as floordiv
from te_sched.ir.ops import floormod as _floormod
from te_sched.ir.ops import floormod as floormod
from te_sched.ir.ops import multiply as multiply
from te_sched.ir.ops import subtract as subtract
from te_sched.ir.ops import truncdiv as truncdiv
from te_sched.ir.ops import truncmod as truncmod
from te_sched.ir.stmt import PrimFunc as PrimFunc
from te_sched.ir.stmt import Stmt as Stmt
from te_sched.te.reducer import comm_reducer as comm_reducer
from te_sched.tensorir.handles import BlockRV as BlockRV
from te_sched.tensorir.handles import LoopRV as LoopRV
from te_sched.tensorir.intrinsics import BlockIntrin as _BlockIntrin
from te_sched.tensorir.schedule import BlockSchedule as _BlockSchedule
from te_sched.tir import analysis as analysis
from te_sched.tir import schedule as schedule
from te_sched.tir import stmt_functor as stmt_functor
from te_sched.tir import transform as transform
from te_sched.tir._types import Add as Add
from te_sched.tir._types import Allocate as Allocate
from te_sched.tir._types import AllocateConst as AllocateConst
from te_sched.tir._types import And as And
from te_sched.tir._types import AssertStmt as AssertStmt
from te_sched.tir._types import AttrStmt as AttrStmt
from te_sched.tir._types import Block as Block
from te_sched.tir._types import BlockRealize as BlockRealize
from te_sched.tir._types import Broadcast as Broadcast
from te_sched.tir._types import BufferLoad as BufferLoad
from te_sched.tir._types import BufferRealize as BufferRealize
from te_sched.tir._types import BufferRegion as BufferRegion
from te_sched.tir._types import BufferStore as BufferStore
from te_sched.tir._types import Call as Call
from te_sched.tir._types import Cast as Cast
from te_sched.tir._types import DeclBuffer as DeclBuffer
from te_sched.tir._types import Div as Div
from te_sched.tir._types import EQ as EQ
from te_sched.tir._types import Evaluate as Evaluate
from te_sched.tir._types import FloatImm as FloatImm
from te_sched.tir._types import FloorDiv as FloorDiv
from te_sched.tir._types import FloorMod as FloorMod
from te_sched.tir._types import For as For
from te_sched.tir._types import GE as GE
from te_sched.tir._types import GT as GT
from te_sched.tir._types import IfThenElse as IfThenElse
from te_sched.tir._types import IndexMap as IndexMap
from te_sched.tir._types import IntImm as IntImm
from te_sched.tir._types import IterVar as IterVar
from te_sched.tir._types import LE as LE
from te_sched.tir._types import LT as LT
from te_sched.tir._types import Let as Let
from te_sched.tir._types import LetStmt as LetStmt
from te_sched.tir._types import MatchBufferRegion as MatchBufferRegion
from te_sched.tir._types import Max as Max
from te_sched.tir._types import Min as Min
from te_sched.tir._types import Mod as Mod
from te_sched.tir._types import Mul as Mul
from te_sched.tir._types import NE as NE
from te_sched.tir._types import Not as Not
from te_sched.tir._types import Or as Or
from te_sched.tir._types import Prefetch as Prefetch
from te_sched.tir._types import ProducerLoad as ProducerLoad
from te_sched.tir._types import ProducerRealize as ProducerRealize
from te_sched.tir._types import ProducerStore as ProducerStore
from te_sched.tir._types import Ramp as Ramp
from te_sched.tir._types import Range as Range
from te_sched.tir._types import Reduce as Reduce
from te_sched.tir._types import Select as Select
from te_sched.tir._types import SeqStmt as SeqStmt
from te_sched.tir._types import Shuffle as Shuffle
from te_sched.tir._types import StringImm as StringImm
from te_sched.tir._types import Sub as Sub
from te_sched.tir._types import While as While
from te_sched.tir.block_scope import BlockDependenceInfo as BlockDependenceInfo
from te_sched.tir.kinds import CallEffectKind as CallEffectKind
from te_sched.tir.kinds import ForKind as ForKind
from typing import Any as _Any

ExprRV = _Var
PrimExpr = _Expr
Schedule = _BlockSchedule
SizeVar = _Var
def TVMBackendAllocWorkspace(device_type: _Any, device_id: _Any, nbytes: _Any, dtype_code_hint: _Any, dtype_bits_hint: _Any) -> _Call:
    """Memory for temporary values."""
def TVMBackendFreeWorkspace(device_type: _Any, device_id: _Any, ptr: _Any) -> _Call:
    """Free memory of temporary values."""
TensorIntrin = _BlockIntrin
def acos(x: _Any) -> _Expr:
    """The inverse cosine."""
def acosh(x: _Any) -> _Expr:
    """The inverse hyperbolic cosine."""
def anylist_getitem(list_handle: _Any, index: _Any) -> _Call:
    """An element of a list."""
def anylist_resetitem(list_handle: _Any, index: _Any) -> _Call:
    """Clear an element of a list."""
def anylist_setitem_call_cpacked(list_handle: _Any, index: _Any, func_name: _Any, *args: _Any) -> _Call:
    """Keep the value of a C call in a list."""
def anylist_setitem_call_packed(list_handle: _Any, index: _Any, func_name: _Any, *args: _Any) -> _Call:
    """Keep the value of a packed call in a list."""
def asin(x: _Any) -> _Expr:
    """The inverse sine."""
def asinh(x: _Any) -> _Expr:
    """The inverse hyperbolic sine."""
def assume(cond: _Any = None) -> _Call:
    """A condition that holds here."""
def atan(x: _Any) -> _Expr:
    """The inverse tangent."""
def atan2(x: _Any, y: _Any) -> _Expr:
    """The angle of the point (y, x); the first argument is y."""
def atanh(x: _Any) -> _Expr:
    """The inverse hyperbolic tangent."""
def bitwise_and(a: _Any, b: _Any) -> _Expr:
    """a & b, of integers or booleans."""
def bitwise_or(a: _Any, b: _Any) -> _Expr:
    """a | b, of integers or booleans."""
def bitwise_xor(a: _Any, b: _Any) -> _Expr:
    """a ^ b, of integers or booleans."""
call_pure_intrin = _call_intrin
def ceil(x: _Any) -> _Expr:
    """The smallest whole number that is not below x."""
def copysign(x: _Any, y: _Any) -> _Expr:
    """The size of x with the sign of y."""
def cos(x: _Any) -> _Expr:
    """The cosine."""
def cosh(x: _Any) -> _Expr:
    """The hyperbolic cosine."""
def create_barriers(barrier_count: _Any) -> _Call:
    """Barriers in shared memory."""
def dp4a(vec1: _Any, vec2: _Any, acc: _Any = 0) -> _Call:
    """The dot product of 4 pairs of int8, plus acc."""
def end_profile_intrinsic(id: _Any) -> _Call:
    """End to count events."""
def erf(x: _Any) -> _Expr:
    """The error function."""
def exp(x: _Any) -> _Expr:
    """e to the power of x."""
def exp10(x: _Any) -> _Expr:
    """10 to the power of x."""
def exp2(x: _Any) -> _Expr:
    """2 to the power of x."""
fabs = _abs
def floor(x: _Any) -> _Expr:
    """The largest whole number that is not above x."""
def fmod(x: _Any, y: _Any) -> _Expr:
    """The remainder of x / y, with the sign of x."""
def get_active_lane_mask(dtype: _Any, base: _Any, limit: _Any) -> _Call:
    """Which lanes are below a limit."""
def hypot(x: _Any, y: _Any) -> _Expr:
    """The square root of x*x + y*y."""
indexdiv = _floordiv
indexmod = _floormod
ir_builder = _builder
def log(x: _Any) -> _Expr:
    """The natural logarithm."""
def log10(x: _Any) -> _Expr:
    """The logarithm to the base 10."""
def log1p(x: _Any) -> _Expr:
    """The natural logarithm of 1 + x."""
def log2(x: _Any) -> _Expr:
    """The logarithm to the base 2."""
def lookup_param(param_name: _Any) -> _Call:
    """A parameter of a program, by its name."""
def make_filled_simdgroup_matrix(d: _Any, index: _Any, value: _Any, col: _Any = 8, row: _Any = 8) -> _Call:
    """Fill a matrix of a SIMD group."""
def max(expr: _Any, *positional: _Any, axis: _Any = None, where: _Any = None, init: _Any = None) -> _Any:
    """max(expr, axis, where=None, init=None)"""
def min(expr: _Any, *positional: _Any, axis: _Any = None, where: _Any = None, init: _Any = None) -> _Any:
    """min(expr, axis, where=None, init=None)"""
def mma_fill(dtype: _Any, local_size: _Any, local_ptr: _Any, offset: _Any) -> _Call:
    """Fill the part of a matrix of a thread."""
def mma_store(dtype: _Any, m: _Any, n: _Any, dst_ptr: _Any, src_ptr: _Any, src_offset: _Any, dst_stride: _Any) -> _Call:
    """Write the part of a matrix of a thread."""
def nearbyint(x: _Any) -> _Expr:
    """The nearest whole number, halves to the even one."""
def nextafter(x: _Any, y: _Any) -> _Expr:
    """The next number after x on the way to y."""
def pow(x: _Any, y: _Any) -> _Expr:
    """x to the power of y."""
def power(x: _Any, y: _Any) -> _Expr:
    """x to the power of y."""
def ptx_arrive_barrier(barrier_id: _Any) -> _Call:
    """PTX: arrive at a barrier."""
def ptx_arrive_barrier_expect_tx(barrier_id: _Any, byte_count: _Any) -> _Call:
    """PTX: arrive at a barrier that also awaits bytes."""
def ptx_commit_group() -> _Call:
    """PTX: the copies begun so far are one group."""
def ptx_cp_async(dtype: _Any, shared_ptr: _Any, shared_offset: _Any, global_ptr: _Any, global_offset: _Any, bytes: _Any) -> _Call:
    """PTX cp.async: begin to copy to shared memory."""
def ptx_cp_async_barrier(barrier_id: _Any) -> _Call:
    """PTX: a barrier that awaits copies."""
def ptx_cp_async_bulk(dtype: _Any, shared_ptr: _Any, shared_offset: _Any, global_ptr: _Any, global_offset: _Any, bytes: _Any, barrier_id: _Any) -> _Call:
    """PTX cp.async.bulk: begin to copy a block of bytes."""
def ptx_init_barrier_thread_count(barrier_id: _Any, thread_count: _Any) -> _Call:
    """PTX: the number of threads that a barrier awaits."""
def ptx_ldmatrix(dtype: _Any, trans: _Any, num: _Any, type: _Any, local_ptr: _Any, local_offset: _Any, smem_ptr: _Any, smem_offset: _Any) -> _Call:
    """PTX ldmatrix: read matrices of 8 by 8 from shared memory."""
def ptx_mma(dtype: _Any, shape: _Any, A_layout: _Any, B_layout: _Any, A_dtype: _Any, B_dtype: _Any, C_dtype: _Any, multiplicand_a: _Any, a_index: _Any, multiplicand_b: _Any, b_index: _Any, accumulator: _Any, c_index: _Any, saturate: _Any, operator: _Any = None) -> _Call:
    """PTX mma: c += a * b, of matrices in registers."""
def ptx_mma_sp(dtype: _Any, shape: _Any, A_layout: _Any, B_layout: _Any, A_dtype: _Any, B_dtype: _Any, C_dtype: _Any, multiplicand_a: _Any, a_index: _Any, multiplicand_b: _Any, b_index: _Any, accumulator: _Any, c_index: _Any, metadata: _Any, meta_index: _Any, sparse_selector: _Any, saturate: _Any) -> _Call:
    """PTX mma.sp: c += a * b, where half of a is zero."""
def ptx_wait_barrier(barrier_id: _Any) -> _Call:
    """PTX: wait at a barrier."""
def ptx_wait_group(num: _Any) -> _Call:
    """PTX: wait until at most num groups are under way."""
def q_multiply_shift_per_axis(x: _Any, y: _Any, ls: _Any, rs: _Any, q: _Any, is_lshift_required: _Any, is_rshift_required: _Any) -> _Call:
    """x * y * 2**(rs - ls - q), rounded, in fixed-point arithmetic."""
def round(x: _Any) -> _Expr:
    """The nearest whole number, halves to the even one."""
def rsqrt(x: _Any) -> _Expr:
    """One divided by the square root."""
def shift_left(a: _Any, b: _Any) -> _Expr:
    """a << b, of integers."""
def shift_right(a: _Any, b: _Any) -> _Expr:
    """a >> b, of integers, with their sign."""
def sigmoid(x: _Any) -> _Expr:
    """1 / (1 + exp(-x))."""
def simdgroup_load(d: _Any, index: _Any, ptr: _Any, stride: _Any, col: _Any = 8, row: _Any = 8, transpose_matrix: _Any = False) -> _Call:
    """Read a matrix into the registers of a SIMD group."""
def simdgroup_multiply_accumulate(d: _Any, index_d: _Any, a: _Any, index_a: _Any, b: _Any, index_b: _Any, c: _Any, index_c: _Any) -> _Call:
    """d = a * b + c, of matrices of a SIMD group."""
def simdgroup_store(d: _Any, index: _Any, ptr: _Any, stride: _Any, col: _Any = 8, row: _Any = 8, transpose_matrix: _Any = False) -> _Call:
    """Write a matrix from the registers of a SIMD group."""
def sin(x: _Any) -> _Expr:
    """The sine."""
def sinh(x: _Any) -> _Expr:
    """The hyperbolic sine."""
def sqrt(x: _Any) -> _Expr:
    """The square root."""
def start_profile_intrinsic(id: _Any) -> _Call:
    """Begin to count events."""
def sum(expr: _Any, *positional: _Any, axis: _Any = None, where: _Any = None, init: _Any = None) -> _Any:
    """sum(expr, axis, where=None, init=None)"""
def tan(x: _Any) -> _Expr:
    """The tangent."""
def tanh(x: _Any) -> _Expr:
    """The hyperbolic tangent."""
def trunc(x: _Any) -> _Expr:
    """x without its fraction."""
def tvm_bmma_sync(fragment_d: _Any, index_d: _Any, fragment_a: _Any, index_a: _Any, fragment_b: _Any, index_b: _Any, fragment_c: _Any, index_c: _Any) -> _Call:
    """d = a * b + c, of matrices of bits."""
def tvm_check_return(expected: _Any, return_unexpected: _Any, nested_call: _Any) -> _Call:
    """A call whose value is checked."""
def tvm_fill_fragment(fragment: _Any, m: _Any, n: _Any, k: _Any, index: _Any, value: _Any) -> _Call:
    """Fill a matrix in registers."""
def tvm_load_matrix_sync(fragment: _Any, m: _Any, n: _Any, k: _Any, index: _Any, buffer_ptr: _Any, stride: _Any, layout: _Any) -> _Call:
    """Read a matrix into registers."""
def tvm_mma_sync(fragment_d: _Any, index_d: _Any, fragment_a: _Any, index_a: _Any, fragment_b: _Any, index_b: _Any, fragment_c: _Any, index_c: _Any) -> _Call:
    """d = a * b + c, of matrices in registers."""
def tvm_stack_alloca(dtype_str: _Any, num: _Any) -> _Call:
    """Memory on the stack."""
def tvm_stack_make_array(data: _Any, shape: _Any, strides: _Any, ndim: _Any, arr_dtype: _Any, elem_offset: _Any) -> _Call:
    """An array on the stack."""
def tvm_stack_make_shape(*args: _Any) -> _Call:
    """A shape on the stack."""
def tvm_storage_sync(storage_scope: _Any) -> _Call:
    """Wait for the threads that share a scope."""
def tvm_store_matrix_sync(fragment: _Any, m: _Any, n: _Any, k: _Any, index: _Any, buffer_ptr: _Any, stride: _Any, layout: _Any) -> _Call:
    """Write a matrix from registers."""
def tvm_struct_get(arr: _Any, index: _Any, field: _Any, dtype: _Any) -> _Call:
    """A field of a structure."""
def tvm_struct_set(arr: _Any, index: _Any, field: _Any, value: _Any) -> _Call:
    """Set a field of a structure."""
def tvm_thread_allreduce(*freduce_args: _Any) -> _Call:
    """A reduction over threads."""
def tvm_thread_invariant(cond: _Any) -> _Call:
    """A value that all threads of a block share."""
def tvm_throw_last_error() -> _Call:
    """Raise the last error."""
def tvm_tuple(*value: _Any) -> _Call:
    """Several values, as the argument of an attribute."""
def tvm_warp_activemask() -> _Call:
    """The threads of a warp that are active."""
def tvm_warp_shuffle(mask: _Any, value: _Any, warp_id: _Any, width: _Any, warp_size: _Any) -> _Call:
    """The value of another thread."""
def tvm_warp_shuffle_down(mask: _Any, value: _Any, offset: _Any, width: _Any, warp_size: _Any) -> _Call:
    """The value of a later thread."""
def tvm_warp_shuffle_up(mask: _Any, value: _Any, offset: _Any, width: _Any, warp_size: _Any) -> _Call:
    """The value of an earlier thread."""
def undef() -> _Call:
    """A value that may be anything."""
def vectorcombine(dtype: _Any, vec1: _Any, vec2: _Any) -> _Call:
    """Two vectors, one after the other."""
def vectorhigh(dtype: _Any, vec: _Any) -> _Call:
    """The second half of a vector."""
def vectorlow(dtype: _Any, vec: _Any) -> _Call:
    """The first half of a vector."""
