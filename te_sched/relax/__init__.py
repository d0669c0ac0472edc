"""Graphs of functions (Relax), with TVM's names: expressions, the builder, operators, passes, and
the virtual machine that runs them.
"""

import sys
import typing

from te_sched import lazy_loading, public_names, signatures
from te_sched.errors import GraphTypeError as _GraphTypeError
from te_sched.ir import graph as _graph
from te_sched.ir.expr import TupleType as TupleType
from te_sched.ir.graph import Binding as Binding
from te_sched.ir.graph import BindingBlock as BindingBlock
from te_sched.ir.graph import Constant as Constant
from te_sched.ir.graph import DataflowBlock as DataflowBlock
from te_sched.ir.graph import DataflowVar as DataflowVar
from te_sched.ir.graph import DataTypeImm as DataTypeImm
from te_sched.ir.graph import ExternFunc as ExternFunc
from te_sched.ir.graph import If as If
from te_sched.ir.graph import MatchCast as MatchCast
from te_sched.ir.graph import PrimValue as PrimValue
from te_sched.ir.graph import SeqExpr as SeqExpr
from te_sched.ir.graph import Tuple as Tuple
from te_sched.ir.graph import TupleGetItem as TupleGetItem
from te_sched.ir.graph import VarBinding as VarBinding
from te_sched.ir.graph_types import DynTensorType as DynTensorType
from te_sched.ir.graph_types import FuncType as FuncType
from te_sched.ir.graph_types import ObjectType as ObjectType
from te_sched.ir.graph_types import PackedFuncType as PackedFuncType
from te_sched.ir.graph_types import ShapeType as ShapeType
from te_sched.ir.stmt import GlobalVar as GlobalVar
from te_sched.ir.struct_info import FuncStructInfo as FuncStructInfo
from te_sched.ir.struct_info import ObjectStructInfo as ObjectStructInfo
from te_sched.ir.struct_info import PrimStructInfo as PrimStructInfo
from te_sched.ir.struct_info import ShapeExpr as ShapeExpr
from te_sched.ir.struct_info import ShapeStructInfo as ShapeStructInfo
from te_sched.ir.struct_info import StructInfo as StructInfo
from te_sched.ir.struct_info import TensorStructInfo as TensorStructInfo
from te_sched.ir.struct_info import TupleStructInfo as TupleStructInfo
from te_sched.relax import binding as binding
from te_sched.relax import copying as copying
from te_sched.relax import expr_functor as expr_functor
from te_sched.relax import expr_operators as expr_operators
from te_sched.relax import op as op
from te_sched.relax.block_builder import BlockBuilder as BlockBuilder
from te_sched.relax.constant import const as const
from te_sched.relax.expr_functor import ExprFunctor as ExprFunctor
from te_sched.relax.expr_functor import PyExprMutator as PyExprMutator
from te_sched.relax.expr_functor import PyExprVisitor as PyExprVisitor
from te_sched.relax.op import call_dps_packed as call_dps_packed
from te_sched.relax.op import call_pure_packed as call_pure_packed
from te_sched.relax.op import call_tir as call_tir
from te_sched.relax.op import call_tir_inplace as call_tir_inplace
from te_sched.relax.op import call_tir_with_grad as call_tir_with_grad
from te_sched.relax.struct_info import get_shape_of as get_shape_of
from te_sched.relax.utils import args_converter as args_converter
from te_sched.relax.utils import convert_to_expr as convert_to_expr
from te_sched.runtime import registry as _registry

if typing.TYPE_CHECKING:
    from te_sched.relax import analysis as analysis
    from te_sched.relax import backend as backend
    from te_sched.relax import dpl as dpl
    from te_sched.relax import frontend as frontend
    from te_sched.relax import transform as transform
    from te_sched.relax.binding_rewrite import DataflowBlockRewrite as DataflowBlockRewrite
    from te_sched.relax.pipeline import get_pipeline as get_pipeline
    from te_sched.relax.pipeline import register_pipeline as register_pipeline
    from te_sched.relax.vm.build import build as build
    from te_sched.relax.vm.exec_builder import ExecBuilder as ExecBuilder
    from te_sched.relax.vm.executable import Executable as Executable
    from te_sched.relax.vm.machine import VirtualMachine as VirtualMachine
    from te_sched.relax.vm.profiling import VMInstrumentReturnKind as VMInstrumentReturnKind

Call = _graph.GraphCall
Expr = _graph.GraphExpr
Function = _graph.GraphFunction
StringImm = _graph.GraphString
Var = _graph.GraphVar
extern = ExternFunc

# What is loaded at its first use.
_LATE = {
    "DataflowBlockRewrite": "te_sched.relax.binding_rewrite:DataflowBlockRewrite",
    "ExecBuilder": "te_sched.relax.vm.exec_builder:ExecBuilder",
    "Executable": "te_sched.relax.vm.executable:Executable",
    "VMInstrumentReturnKind": "te_sched.relax.vm.profiling:VMInstrumentReturnKind",
    "VirtualMachine": "te_sched.relax.vm.machine:VirtualMachine",
    "analysis": "te_sched.relax.analysis",
    "backend": "te_sched.relax.backend",
    "build": "te_sched.relax.vm.build:build",
    "dpl": "te_sched.relax.dpl",
    "frontend": "te_sched.relax.frontend",
    "get_pipeline": "te_sched.relax.pipeline:get_pipeline",
    "register_pipeline": "te_sched.relax.pipeline:register_pipeline",
    "transform": "te_sched.relax.transform",
}
_registry.bring_late(
    {
        **dict.fromkeys(("vm.builtin.", "runtime.TVM"), "te_sched.relax.vm.builtins"),
        **dict.fromkeys(
            ("vm.builtin.kv_state_", "vm.builtin.attention_kv_", "vm.builtin.paged_attention_"),
            "te_sched.relax.vm.paged_builtins",
        ),
        **dict.fromkeys(("relax.run.", "relax.inspect."), "te_sched.relax.vm.run_functions"),
    }
)


def _checked(value: typing.Any) -> typing.Any:
    return signatures.checked_value(value, _GraphTypeError, "relax.")


lazy_loading.set_lazy_names(sys.modules[__name__], _LATE, _checked)
_PARTS = (
    "binding_rewrite",
    "block_builder",
    "expr_functor",
    "struct_info",
    "utils",
    "vm",
    "testing",
)
public_names.list_names(sys.modules[__name__], "op", late=(*_LATE, *_PARTS))
signatures.check_arguments(sys.modules[__name__], error=_GraphTypeError)

sys.modules["te_sched"]._tell_of_absent_names(sys.modules[__name__])
