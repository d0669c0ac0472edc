"""The IR: expressions, statements, buffers, functions, two printers and a verifier.

Importing it adds the operators of expressions and the text of nodes.
"""

import sys
from typing import TYPE_CHECKING

from te_sched.ir import operators, ops, printer, specialize  # noqa: F401  (for their effects)
from te_sched.ir.expr import Expr as PrimExpr
from te_sched.ir.expr import Node, PointerType, PrimType, TupleType
from te_sched.ir.op import Op, register_intrin_lowering, register_op_attr
from te_sched.ir.stmt import GlobalVar, IRModule
from te_sched.ir.struct_info import DummyGlobalInfo, VDevice
from te_sched.ir.structural import (
    assert_structural_equal,
    get_first_structural_mismatch,
    structural_equal,
)
from te_sched.ir.structural_hash import structural_hash
from te_sched.lazy_loading import set_lazy_names

if TYPE_CHECKING:
    from te_sched.ir.peer_json import load_tvm_json, save_tvm_json
    from te_sched.ir.serialization import load_json, make_node, save_json

__all__ = [
    "DummyGlobalInfo",
    "GlobalVar",
    "IRModule",
    "Node",
    "Op",
    "PointerType",
    "PrimExpr",
    "PrimType",
    "TupleType",
    "VDevice",
    "assert_structural_equal",
    "get_first_structural_mismatch",
    "load_json",
    "load_tvm_json",
    "make_node",
    "register_intrin_lowering",
    "register_op_attr",
    "save_json",
    "save_tvm_json",
    "structural_equal",
    "structural_hash",
]

# What is loaded at its first use.
_LATE = {
    "load_json": "te_sched.ir.serialization:load_json",
    "load_tvm_json": "te_sched.ir.peer_json:load_tvm_json",
    "make_node": "te_sched.ir.serialization:make_node",
    "save_json": "te_sched.ir.serialization:save_json",
    "save_tvm_json": "te_sched.ir.peer_json:save_tvm_json",
}
set_lazy_names(sys.modules[__name__], _LATE)
