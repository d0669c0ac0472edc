"""The public names of the IR, as in TVM: `tir.decl_buffer`, `tir.ir_builder`, `tir.Var`, ...

A face: it only gives names. The node classes are those of `tir.constructors`.
"""

import sys
import typing

from te_sched import lazy_loading, public_names
from te_sched import signatures as _signatures
from te_sched.errors import ScheduleError as ScheduleError
from te_sched.ir import builder as _builder
from te_sched.ir.buffer import decl_buffer as decl_buffer
from te_sched.ir.calls import address_of as address_of
from te_sched.ir.calls import call_cpacked as call_cpacked
from te_sched.ir.calls import call_extern as call_extern
from te_sched.ir.calls import call_intrin as call_intrin
from te_sched.ir.calls import call_llvm_intrin as call_llvm_intrin
from te_sched.ir.calls import call_llvm_pure_intrin as call_llvm_pure_intrin
from te_sched.ir.calls import call_packed as call_packed
from te_sched.ir.calls import call_pure_extern as call_pure_extern
from te_sched.ir.calls import call_pure_intrin as call_pure_intrin
from te_sched.ir.calls import call_tir as call_tir
from te_sched.ir.calls import isnullptr as isnullptr
from te_sched.ir.calls import tvm_access_ptr as tvm_access_ptr
from te_sched.ir.calls import type_annotation as type_annotation
from te_sched.ir.calls import vscale as vscale
from te_sched.ir.expr import Buffer as Buffer
from te_sched.ir.expr import CommReducer as CommReducer
from te_sched.ir.expr import Expr as _Expr
from te_sched.ir.expr import PointerType as PointerType
from te_sched.ir.intrinsics import abs as abs
from te_sched.ir.intrinsics import acos as acos
from te_sched.ir.intrinsics import acosh as acosh
from te_sched.ir.intrinsics import all as all
from te_sched.ir.intrinsics import any as any
from te_sched.ir.intrinsics import asin as asin
from te_sched.ir.intrinsics import asinh as asinh
from te_sched.ir.intrinsics import atan as atan
from te_sched.ir.intrinsics import atan2 as atan2
from te_sched.ir.intrinsics import atanh as atanh
from te_sched.ir.intrinsics import ceil as ceil
from te_sched.ir.intrinsics import clz as clz
from te_sched.ir.intrinsics import copysign as copysign
from te_sched.ir.intrinsics import cos as cos
from te_sched.ir.intrinsics import cosh as cosh
from te_sched.ir.intrinsics import erf as erf
from te_sched.ir.intrinsics import exp as exp
from te_sched.ir.intrinsics import exp2 as exp2
from te_sched.ir.intrinsics import exp10 as exp10
from te_sched.ir.intrinsics import fabs as fabs
from te_sched.ir.intrinsics import floor as floor
from te_sched.ir.intrinsics import fmod as fmod
from te_sched.ir.intrinsics import hypot as hypot
from te_sched.ir.intrinsics import if_then_else as if_then_else
from te_sched.ir.intrinsics import infinity as infinity
from te_sched.ir.intrinsics import isfinite as isfinite
from te_sched.ir.intrinsics import isinf as isinf
from te_sched.ir.intrinsics import isnan as isnan
from te_sched.ir.intrinsics import ldexp as ldexp
from te_sched.ir.intrinsics import likely as likely
from te_sched.ir.intrinsics import log as log
from te_sched.ir.intrinsics import log1p as log1p
from te_sched.ir.intrinsics import log2 as log2
from te_sched.ir.intrinsics import log10 as log10
from te_sched.ir.intrinsics import max_value as max_value
from te_sched.ir.intrinsics import min_value as min_value
from te_sched.ir.intrinsics import nearbyint as nearbyint
from te_sched.ir.intrinsics import nextafter as nextafter
from te_sched.ir.intrinsics import not_ as not_
from te_sched.ir.intrinsics import popcount as popcount
from te_sched.ir.intrinsics import pow as pow
from te_sched.ir.intrinsics import power as power
from te_sched.ir.intrinsics import q_multiply_shift as q_multiply_shift
from te_sched.ir.intrinsics import reinterpret as reinterpret
from te_sched.ir.intrinsics import ret as ret
from te_sched.ir.intrinsics import round as round
from te_sched.ir.intrinsics import rsqrt as rsqrt
from te_sched.ir.intrinsics import sigmoid as sigmoid
from te_sched.ir.intrinsics import sin as sin
from te_sched.ir.intrinsics import sinh as sinh
from te_sched.ir.intrinsics import sqrt as sqrt
from te_sched.ir.intrinsics import tan as tan
from te_sched.ir.intrinsics import tanh as tanh
from te_sched.ir.intrinsics import trunc as trunc
from te_sched.ir.ops import add as add
from te_sched.ir.ops import bitwise_and as bitwise_and
from te_sched.ir.ops import bitwise_not as bitwise_not
from te_sched.ir.ops import bitwise_or as bitwise_or
from te_sched.ir.ops import bitwise_xor as bitwise_xor
from te_sched.ir.ops import ceildiv as ceildiv
from te_sched.ir.ops import const as const
from te_sched.ir.ops import convert as convert
from te_sched.ir.ops import div as div
from te_sched.ir.ops import floordiv as floordiv
from te_sched.ir.ops import floormod as floormod
from te_sched.ir.ops import multiply as multiply
from te_sched.ir.ops import shift_left as shift_left
from te_sched.ir.ops import shift_right as shift_right
from te_sched.ir.ops import subtract as subtract
from te_sched.ir.ops import truncdiv as truncdiv
from te_sched.ir.ops import truncmod as truncmod
from te_sched.ir.stmt import Stmt as Stmt
from te_sched.te.reducer import comm_reducer as comm_reducer
from te_sched.te.reducer import max as max
from te_sched.te.reducer import min as min
from te_sched.te.reducer import sum as sum
from te_sched.tir import intrinsics as _more
from te_sched.tir.blocks import AllocateConst as AllocateConst
from te_sched.tir.blocks import Block as Block
from te_sched.tir.blocks import BlockRealize as BlockRealize
from te_sched.tir.blocks import BufferRealize as BufferRealize
from te_sched.tir.blocks import BufferRegion_ as _BufferRegion
from te_sched.tir.blocks import DeclBuffer as DeclBuffer
from te_sched.tir.blocks import MatchBufferRegion as MatchBufferRegion
from te_sched.tir.blocks import Prefetch as Prefetch
from te_sched.tir.blocks import PrimFunc as PrimFunc
from te_sched.tir.blocks import ProducerRealize as ProducerRealize
from te_sched.tir.constructors import EQ as EQ
from te_sched.tir.constructors import GE as GE
from te_sched.tir.constructors import GT as GT
from te_sched.tir.constructors import LE as LE
from te_sched.tir.constructors import LT as LT
from te_sched.tir.constructors import NE as NE
from te_sched.tir.constructors import Add as Add
from te_sched.tir.constructors import Allocate as Allocate
from te_sched.tir.constructors import And as And
from te_sched.tir.constructors import AssertStmt as AssertStmt
from te_sched.tir.constructors import AttrStmt as AttrStmt
from te_sched.tir.constructors import Broadcast as Broadcast
from te_sched.tir.constructors import BufferLoad as BufferLoad
from te_sched.tir.constructors import BufferStore as BufferStore
from te_sched.tir.constructors import Call as Call
from te_sched.tir.constructors import Cast as Cast
from te_sched.tir.constructors import Div as Div
from te_sched.tir.constructors import Evaluate as Evaluate
from te_sched.tir.constructors import FloatImm as FloatImm
from te_sched.tir.constructors import FloorDiv as FloorDiv
from te_sched.tir.constructors import FloorMod as FloorMod
from te_sched.tir.constructors import For as For
from te_sched.tir.constructors import IfThenElse as IfThenElse
from te_sched.tir.constructors import IntImm as IntImm
from te_sched.tir.constructors import IterVar_ as _IterVar
from te_sched.tir.constructors import Let as Let
from te_sched.tir.constructors import LetStmt as LetStmt
from te_sched.tir.constructors import Max as Max
from te_sched.tir.constructors import Min as Min
from te_sched.tir.constructors import Mod as Mod
from te_sched.tir.constructors import Mul as Mul
from te_sched.tir.constructors import Not as Not
from te_sched.tir.constructors import Or as Or
from te_sched.tir.constructors import ProducerLoad as ProducerLoad
from te_sched.tir.constructors import ProducerStore as ProducerStore
from te_sched.tir.constructors import Ramp as Ramp
from te_sched.tir.constructors import Reduce as Reduce
from te_sched.tir.constructors import Select as Select
from te_sched.tir.constructors import SeqStmt as SeqStmt
from te_sched.tir.constructors import Shuffle as Shuffle
from te_sched.tir.constructors import SizeVar as SizeVar
from te_sched.tir.constructors import StringImm as StringImm
from te_sched.tir.constructors import Sub as Sub
from te_sched.tir.constructors import Var as Var
from te_sched.tir.constructors import While as While
from te_sched.tir.index_map import IndexMap as IndexMap
from te_sched.tir.kinds import CallEffectKind as CallEffectKind
from te_sched.tir.kinds import ForKind as ForKind
from te_sched.tir.ranges import Range as Range

if typing.TYPE_CHECKING:
    from te_sched.tensorir.intrinsics import BlockIntrin
    from te_sched.tir import analysis as analysis
    from te_sched.tir import schedule as schedule
    from te_sched.tir import stmt_functor as stmt_functor
    from te_sched.tir import transform as transform
    from te_sched.tir.block_scope import BlockDependenceInfo as BlockDependenceInfo
    from te_sched.tir.schedule import BlockRV as BlockRV
    from te_sched.tir.schedule import ExprRV as ExprRV
    from te_sched.tir.schedule import LoopRV as LoopRV
    from te_sched.tir.schedule import Schedule as Schedule

    TensorIntrin = BlockIntrin

PrimExpr = _Expr
IterVar = _IterVar
BufferRegion = _BufferRegion
ir_builder = _builder
indexdiv = floordiv
indexmod = floormod
globals().update({name: getattr(_more, name) for name in _more.NAMES})
# What is loaded at its first use.
_MODULES = ("analysis", "schedule", "stmt_functor", "transform")
_OF_SCHEDULES = ("BlockRV", "ExprRV", "LoopRV", "Schedule")
_LATE = {
    **{name: f"te_sched.tir.{name}" for name in _MODULES},
    **{name: f"te_sched.tir.schedule:{name}" for name in _OF_SCHEDULES},
    "BlockDependenceInfo": "te_sched.tir.block_scope:BlockDependenceInfo",
    "TensorIntrin": "te_sched.tensorir.intrinsics:BlockIntrin",
}
lazy_loading.set_lazy_names(sys.modules[__name__], _LATE)
public_names.list_names(sys.modules[__name__], "ir_builder", *_LATE)
_signatures.bind_functions(sys.modules[__name__])
sys.modules["te_sched"]._tell_of_absent_names(sys.modules[__name__])
