"""Models written in Python as modules, with TVM's names; `export_tvm` makes graphs of them.

class Net(nn.Module):
    def __init__(self):
        self.linear = nn.Linear(4, 8)

    def forward(self, x: nn.Tensor):
        return nn.op.relu(self.linear(x))

mod, params = Net().export_tvm({"forward": {"x": nn.spec.Tensor([1, 4], "float32")}})
"""

import sys

from te_sched import public_names, signatures
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import GraphTypeError as _GraphTypeError
from te_sched.relax.frontend.nn import compiled_module as compiled_module
from te_sched.relax.frontend.nn import core as core
from te_sched.relax.frontend.nn import llm as llm
from te_sched.relax.frontend.nn import modules as modules
from te_sched.relax.frontend.nn import op as op
from te_sched.relax.frontend.nn import spec as spec
from te_sched.relax.frontend.nn.core import Effect as Effect
from te_sched.relax.frontend.nn.core import Module as Module
from te_sched.relax.frontend.nn.core import ModuleList as ModuleList
from te_sched.relax.frontend.nn.core import Object as Object
from te_sched.relax.frontend.nn.core import Parameter as Parameter
from te_sched.relax.frontend.nn.core import Tensor as Tensor
from te_sched.relax.frontend.nn.core import get_default_dtype as get_default_dtype
from te_sched.relax.frontend.nn.core import set_default_dtype as set_default_dtype
from te_sched.relax.frontend.nn.core import wrap_nested as wrap_nested
from te_sched.relax.frontend.nn.exporter import Exporter as Exporter
from te_sched.relax.frontend.nn.exporter import add_extern as add_extern
from te_sched.relax.frontend.nn.modules import GELU as GELU
from te_sched.relax.frontend.nn.modules import Conv1D as Conv1D
from te_sched.relax.frontend.nn.modules import Conv2D as Conv2D
from te_sched.relax.frontend.nn.modules import Conv3D as Conv3D
from te_sched.relax.frontend.nn.modules import ConvTranspose1D as ConvTranspose1D
from te_sched.relax.frontend.nn.modules import Embedding as Embedding
from te_sched.relax.frontend.nn.modules import GroupNorm as GroupNorm
from te_sched.relax.frontend.nn.modules import Identity as Identity
from te_sched.relax.frontend.nn.modules import IOEffect as IOEffect
from te_sched.relax.frontend.nn.modules import KVCache as KVCache
from te_sched.relax.frontend.nn.modules import LayerNorm as LayerNorm
from te_sched.relax.frontend.nn.modules import Linear as Linear
from te_sched.relax.frontend.nn.modules import ReLU as ReLU
from te_sched.relax.frontend.nn.modules import RMSNorm as RMSNorm
from te_sched.relax.frontend.nn.modules import SiLU as SiLU
from te_sched.relax.frontend.nn.op import add as add
from te_sched.relax.frontend.nn.op import argsort as argsort
from te_sched.relax.frontend.nn.op import astype as astype
from te_sched.relax.frontend.nn.op import broadcast_to as broadcast_to
from te_sched.relax.frontend.nn.op import chunk as chunk
from te_sched.relax.frontend.nn.op import concat as concat
from te_sched.relax.frontend.nn.op import conv1d as conv1d
from te_sched.relax.frontend.nn.op import conv1d_transpose as conv1d_transpose
from te_sched.relax.frontend.nn.op import conv2d as conv2d
from te_sched.relax.frontend.nn.op import conv3d as conv3d
from te_sched.relax.frontend.nn.op import cumsum as cumsum
from te_sched.relax.frontend.nn.op import debug_func as debug_func
from te_sched.relax.frontend.nn.op import divide as divide
from te_sched.relax.frontend.nn.op import empty as empty
from te_sched.relax.frontend.nn.op import equal as equal
from te_sched.relax.frontend.nn.op import exp as exp
from te_sched.relax.frontend.nn.op import extern as extern
from te_sched.relax.frontend.nn.op import full as full
from te_sched.relax.frontend.nn.op import gelu as gelu
from te_sched.relax.frontend.nn.op import get_timestep_embedding as get_timestep_embedding
from te_sched.relax.frontend.nn.op import greater as greater
from te_sched.relax.frontend.nn.op import greater_equal as greater_equal
from te_sched.relax.frontend.nn.op import group_norm as group_norm
from te_sched.relax.frontend.nn.op import interpolate as interpolate
from te_sched.relax.frontend.nn.op import layer_norm as layer_norm
from te_sched.relax.frontend.nn.op import less as less
from te_sched.relax.frontend.nn.op import less_equal as less_equal
from te_sched.relax.frontend.nn.op import matmul as matmul
from te_sched.relax.frontend.nn.op import maximum as maximum
from te_sched.relax.frontend.nn.op import minimum as minimum
from te_sched.relax.frontend.nn.op import multinomial_from_uniform as multinomial_from_uniform
from te_sched.relax.frontend.nn.op import multiply as multiply
from te_sched.relax.frontend.nn.op import negative as negative
from te_sched.relax.frontend.nn.op import not_equal as not_equal
from te_sched.relax.frontend.nn.op import ones as ones
from te_sched.relax.frontend.nn.op import pad as pad
from te_sched.relax.frontend.nn.op import permute as permute
from te_sched.relax.frontend.nn.op import permute_dims as permute_dims
from te_sched.relax.frontend.nn.op import print_ as print_
from te_sched.relax.frontend.nn.op import relu as relu
from te_sched.relax.frontend.nn.op import repeat as repeat
from te_sched.relax.frontend.nn.op import reshape as reshape
from te_sched.relax.frontend.nn.op import rms_norm as rms_norm
from te_sched.relax.frontend.nn.op import (
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from te_sched.relax.frontend.nn.op import sigmoid as sigmoid
from te_sched.relax.frontend.nn.op import silu as silu
from te_sched.relax.frontend.nn.op import softmax as softmax
from te_sched.relax.frontend.nn.op import sort as sort
from te_sched.relax.frontend.nn.op import split as split
from te_sched.relax.frontend.nn.op import sqrt as sqrt
from te_sched.relax.frontend.nn.op import square as square
from te_sched.relax.frontend.nn.op import squeeze as squeeze
from te_sched.relax.frontend.nn.op import subtract as subtract
from te_sched.relax.frontend.nn.op import sum as sum
from te_sched.relax.frontend.nn.op import take as take
from te_sched.relax.frontend.nn.op import tanh as tanh
from te_sched.relax.frontend.nn.op import tensor_expr_op as tensor_expr_op
from te_sched.relax.frontend.nn.op import tensor_ir_inplace_op as tensor_ir_inplace_op
from te_sched.relax.frontend.nn.op import tensor_ir_op as tensor_ir_op
from te_sched.relax.frontend.nn.op import topk as topk
from te_sched.relax.frontend.nn.op import triu as triu
from te_sched.relax.frontend.nn.op import unsqueeze as unsqueeze
from te_sched.relax.frontend.nn.op import where as where
from te_sched.relax.frontend.nn.op import zeros as zeros
from te_sched.relax.frontend.nn.subroutine import SubroutineMixin as SubroutineMixin
from te_sched.relax.frontend.nn.visitor import Mutator as Mutator

public_names.list_names(sys.modules[__name__], "core", "llm", "modules", "op", "spec")
_PARTS = (core, llm.kv_cache, llm.position_embedding, modules, op, spec)
for _part in (sys.modules[__name__], *_PARTS):
    signatures.check_arguments(_part, error=_GraphTypeError, again=False)  # they emit

_tell_of_absent_names(__name__)
