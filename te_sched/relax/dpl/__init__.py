"""The pattern language of graphs: what an expression looks like, and what takes its place."""

import sys

from te_sched import public_names, signatures
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import GraphTypeError as _GraphTypeError
from te_sched.relax.dpl.context import PatternContext as PatternContext
from te_sched.relax.dpl.pattern import AndPattern as AndPattern
from te_sched.relax.dpl.pattern import AttrPattern as AttrPattern
from te_sched.relax.dpl.pattern import CallPattern as CallPattern
from te_sched.relax.dpl.pattern import ConstantPattern as ConstantPattern
from te_sched.relax.dpl.pattern import DataflowVarPattern as DataflowVarPattern
from te_sched.relax.dpl.pattern import DataTypePattern as DataTypePattern
from te_sched.relax.dpl.pattern import DFConstraint as DFConstraint
from te_sched.relax.dpl.pattern import DFPattern as DFPattern
from te_sched.relax.dpl.pattern import ExprPattern as ExprPattern
from te_sched.relax.dpl.pattern import ExternFuncPattern as ExternFuncPattern
from te_sched.relax.dpl.pattern import FunctionPattern as FunctionPattern
from te_sched.relax.dpl.pattern import GlobalVarPattern as GlobalVarPattern
from te_sched.relax.dpl.pattern import NotPattern as NotPattern
from te_sched.relax.dpl.pattern import OrPattern as OrPattern
from te_sched.relax.dpl.pattern import PatternSeq as PatternSeq
from te_sched.relax.dpl.pattern import PrimArrPattern as PrimArrPattern
from te_sched.relax.dpl.pattern import SameShapeConstraint as SameShapeConstraint
from te_sched.relax.dpl.pattern import ShapePattern as ShapePattern
from te_sched.relax.dpl.pattern import StructInfoPattern as StructInfoPattern
from te_sched.relax.dpl.pattern import TupleGetItemPattern as TupleGetItemPattern
from te_sched.relax.dpl.pattern import TuplePattern as TuplePattern
from te_sched.relax.dpl.pattern import TypePattern as TypePattern
from te_sched.relax.dpl.pattern import UnorderedTuplePattern as UnorderedTuplePattern
from te_sched.relax.dpl.pattern import VarPattern as VarPattern
from te_sched.relax.dpl.pattern import WildcardPattern as WildcardPattern
from te_sched.relax.dpl.pattern import has_attr as has_attr
from te_sched.relax.dpl.pattern import has_dtype as has_dtype
from te_sched.relax.dpl.pattern import is_call_dps_packed as is_call_dps_packed
from te_sched.relax.dpl.pattern import is_call_packed as is_call_packed
from te_sched.relax.dpl.pattern import is_call_tir as is_call_tir
from te_sched.relax.dpl.pattern import is_const as is_const
from te_sched.relax.dpl.pattern import is_dfv as is_dfv
from te_sched.relax.dpl.pattern import is_expr as is_expr
from te_sched.relax.dpl.pattern import is_gv as is_gv
from te_sched.relax.dpl.pattern import is_op as is_op
from te_sched.relax.dpl.pattern import is_shape as is_shape
from te_sched.relax.dpl.pattern import is_tuple as is_tuple
from te_sched.relax.dpl.pattern import is_tuple_get_item as is_tuple_get_item
from te_sched.relax.dpl.pattern import is_var as is_var
from te_sched.relax.dpl.pattern import (
    make_fused_bias_activation_pattern as make_fused_bias_activation_pattern,
)
from te_sched.relax.dpl.pattern import reject as reject
from te_sched.relax.dpl.pattern import wildcard as wildcard
from te_sched.relax.dpl.rewrite import PatternMatchingRewriter as PatternMatchingRewriter
from te_sched.relax.dpl.rewrite import rewrite_bindings as rewrite_bindings
from te_sched.relax.dpl.rewrite import rewrite_call as rewrite_call

public_names.list_names(sys.modules[__name__])
signatures.check_arguments(sys.modules[__name__], error=_GraphTypeError)
_tell_of_absent_names(__name__)
