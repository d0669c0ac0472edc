"""The names of graphs (Relax), as far as te_sched has them: what is known of their values.

A face: the classes are those of `ir.struct_info`.
"""

import sys

from te_sched import signatures
from te_sched.ir.struct_info import FuncStructInfo as FuncStructInfo
from te_sched.ir.struct_info import ObjectStructInfo as ObjectStructInfo
from te_sched.ir.struct_info import PrimStructInfo as PrimStructInfo
from te_sched.ir.struct_info import ShapeExpr as ShapeExpr
from te_sched.ir.struct_info import ShapeStructInfo as ShapeStructInfo
from te_sched.ir.struct_info import StructInfo as StructInfo
from te_sched.ir.struct_info import TensorStructInfo as TensorStructInfo
from te_sched.ir.struct_info import TupleStructInfo as TupleStructInfo

signatures.list_names(sys.modules[__name__])
