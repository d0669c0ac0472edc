"""topi: predefined operators for TE programs, and schedules for them, with TVM's names.

Operators take and return tensors (`topi.nn.relu(A)`). The functions of `generic`, `x86` and `cuda`
take the outputs and return a Schedule. The operators +, -, *, / and astype of tensors load topi
when they are first used.
"""

import sys
import typing

from te_sched import public_names, signatures
from te_sched.topi import image as image
from te_sched.topi import nn as nn
from te_sched.topi import operators as operators
from te_sched.topi import tag as tag
from te_sched.topi import utils as utils
from te_sched.topi.broadcast import add as add
from te_sched.topi.broadcast import bitwise_and as bitwise_and
from te_sched.topi.broadcast import bitwise_or as bitwise_or
from te_sched.topi.broadcast import bitwise_xor as bitwise_xor
from te_sched.topi.broadcast import broadcast_to as broadcast_to
from te_sched.topi.broadcast import divide as divide
from te_sched.topi.broadcast import equal as equal
from te_sched.topi.broadcast import floor_divide as floor_divide
from te_sched.topi.broadcast import floor_mod as floor_mod
from te_sched.topi.broadcast import greater as greater
from te_sched.topi.broadcast import greater_equal as greater_equal
from te_sched.topi.broadcast import left_shift as left_shift
from te_sched.topi.broadcast import less as less
from te_sched.topi.broadcast import less_equal as less_equal
from te_sched.topi.broadcast import logical_and as logical_and
from te_sched.topi.broadcast import logical_or as logical_or
from te_sched.topi.broadcast import logical_xor as logical_xor
from te_sched.topi.broadcast import maximum as maximum
from te_sched.topi.broadcast import minimum as minimum
from te_sched.topi.broadcast import mod as mod
from te_sched.topi.broadcast import multiply as multiply
from te_sched.topi.broadcast import not_equal as not_equal
from te_sched.topi.broadcast import power as power
from te_sched.topi.broadcast import right_shift as right_shift
from te_sched.topi.broadcast import subtract as subtract
from te_sched.topi.broadcast import where as where
from te_sched.topi.elementwise import abs as abs
from te_sched.topi.elementwise import acos as acos
from te_sched.topi.elementwise import acosh as acosh
from te_sched.topi.elementwise import asin as asin
from te_sched.topi.elementwise import asinh as asinh
from te_sched.topi.elementwise import atan as atan
from te_sched.topi.elementwise import atanh as atanh
from te_sched.topi.elementwise import bitwise_not as bitwise_not
from te_sched.topi.elementwise import cast as cast
from te_sched.topi.elementwise import ceil as ceil
from te_sched.topi.elementwise import ceil_log2 as ceil_log2
from te_sched.topi.elementwise import clip as clip
from te_sched.topi.elementwise import cos as cos
from te_sched.topi.elementwise import cosh as cosh
from te_sched.topi.elementwise import elemwise_sum as elemwise_sum
from te_sched.topi.elementwise import erf as erf
from te_sched.topi.elementwise import exp as exp
from te_sched.topi.elementwise import fast_erf as fast_erf
from te_sched.topi.elementwise import fast_exp as fast_exp
from te_sched.topi.elementwise import fast_tanh as fast_tanh
from te_sched.topi.elementwise import floor as floor
from te_sched.topi.elementwise import full as full
from te_sched.topi.elementwise import full_like as full_like
from te_sched.topi.elementwise import identity as identity
from te_sched.topi.elementwise import isfinite as isfinite
from te_sched.topi.elementwise import isinf as isinf
from te_sched.topi.elementwise import isnan as isnan
from te_sched.topi.elementwise import log as log
from te_sched.topi.elementwise import log2 as log2
from te_sched.topi.elementwise import log10 as log10
from te_sched.topi.elementwise import logical_not as logical_not
from te_sched.topi.elementwise import negative as negative
from te_sched.topi.elementwise import reinterpret as reinterpret
from te_sched.topi.elementwise import round as round
from te_sched.topi.elementwise import rsqrt as rsqrt
from te_sched.topi.elementwise import sigmoid as sigmoid
from te_sched.topi.elementwise import sign as sign
from te_sched.topi.elementwise import sin as sin
from te_sched.topi.elementwise import sinh as sinh
from te_sched.topi.elementwise import sqrt as sqrt
from te_sched.topi.elementwise import tan as tan
from te_sched.topi.elementwise import tanh as tanh
from te_sched.topi.elementwise import trunc as trunc
from te_sched.topi.hand_written import cumprod as cumprod
from te_sched.topi.hand_written import cumsum as cumsum
from te_sched.topi.hand_written import invert_permutation as invert_permutation
from te_sched.topi.hand_written import scanop as scanop
from te_sched.topi.hand_written import scatter_elements as scatter_elements
from te_sched.topi.hand_written import scatter_nd as scatter_nd
from te_sched.topi.hand_written import searchsorted as searchsorted
from te_sched.topi.hand_written import sparse_to_dense as sparse_to_dense
from te_sched.topi.hand_written import unravel_index as unravel_index
from te_sched.topi.linear import einsum as einsum
from te_sched.topi.linear import matmul as matmul
from te_sched.topi.linear import tensordot as tensordot
from te_sched.topi.rearranging import collapse_sum as collapse_sum
from te_sched.topi.rearranging import layout_transform as layout_transform
from te_sched.topi.rearranging import matrix_set_diag as matrix_set_diag
from te_sched.topi.rearranging import reverse_sequence as reverse_sequence
from te_sched.topi.rearranging import sliding_window as sliding_window
from te_sched.topi.rearranging import strided_set as strided_set
from te_sched.topi.reduction import all as all
from te_sched.topi.reduction import any as any
from te_sched.topi.reduction import argmax as argmax
from te_sched.topi.reduction import argmin as argmin
from te_sched.topi.reduction import max as max
from te_sched.topi.reduction import min as min
from te_sched.topi.reduction import prod as prod
from te_sched.topi.reduction import sum as sum
from te_sched.topi.sorting import argsort as argsort
from te_sched.topi.sorting import sort as sort
from te_sched.topi.sorting import topk as topk
from te_sched.topi.transform import adv_index as adv_index
from te_sched.topi.transform import arange as arange
from te_sched.topi.transform import concatenate as concatenate
from te_sched.topi.transform import expand_dims as expand_dims
from te_sched.topi.transform import expand_like as expand_like
from te_sched.topi.transform import eye as eye
from te_sched.topi.transform import flip as flip
from te_sched.topi.transform import gather as gather
from te_sched.topi.transform import gather_nd as gather_nd
from te_sched.topi.transform import meshgrid as meshgrid
from te_sched.topi.transform import ndarray_size as ndarray_size
from te_sched.topi.transform import one_hot as one_hot
from te_sched.topi.transform import repeat as repeat
from te_sched.topi.transform import reshape as reshape
from te_sched.topi.transform import sequence_mask as sequence_mask
from te_sched.topi.transform import shape as shape
from te_sched.topi.transform import split as split
from te_sched.topi.transform import squeeze as squeeze
from te_sched.topi.transform import stack as stack
from te_sched.topi.transform import strided_slice as strided_slice
from te_sched.topi.transform import take as take
from te_sched.topi.transform import tile as tile
from te_sched.topi.transform import transpose as transpose
from te_sched.topi.transform import trilu as trilu
from te_sched.topi.utils import InvalidShapeError as InvalidShapeError
from te_sched.topi.utils import const_vector as const_vector
from te_sched.topi.utils import get_const_tuple as get_const_tuple

if typing.TYPE_CHECKING:  # loaded at their first use
    from te_sched.topi import cuda as cuda
    from te_sched.topi import generic as generic
    from te_sched.topi import x86 as x86

_SELF = sys.modules[__name__]
public_names.list_names(_SELF)
utils.check_functions(_SELF)
public_names.list_names(_SELF, "cuda", "generic", "image", "nn", "operators", "tag", "utils", "x86")
signatures.check_arguments(utils, utils.PUBLIC)

sys.modules["te_sched"]._tell_of_absent_names(sys.modules[__name__])
