"""The names of TVMScript for graphs: `from te_sched.script import relax as R`.

Made by `python -m scripts.stubs`. Names of types that are functions too, such as R.Tensor, are
Any: no type checker has such types.
"""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from builtins import object as _object
from builtins import str as _str
from builtins import type as _type
from collections.abc import Callable as _Callable
from collections.abc import Mapping as _Mapping
from te_sched.ir.graph import ExternFunc as ExternFunc
from te_sched.ir.graph import TupleGetItem as TupleGetItem
from te_sched.ir.graph import VarBinding as _VarBinding
from te_sched.ir.index_map import IndexMap as _IndexMap
from te_sched.ir.stmt import GlobalVar as _GlobalVar
from te_sched.ir.struct_info import GraphExpr as _GraphExpr
from te_sched.ir.struct_info import ShapeExpr as ShapeExpr
from te_sched.relax.dpl.rewrite import PatternMatchingRewriter as _PatternMatchingRewriter
from te_sched.runtime.device import Device as _Device
from te_sched.script._types import Callable as Callable
from te_sched.script._types import Object as Object
from te_sched.script._types import Prim as Prim
from te_sched.script._types import Shape as Shape
from te_sched.script._types import Tensor as Tensor
from te_sched.script._types import Tuple as Tuple
from te_sched.script.decorators import function as function
from te_sched.script.graph_frames import DataflowFrame as _DataflowFrame
from te_sched.script.parser import macro as macro
from typing import Any as _Any

def abs(x: _Any) -> _GraphExpr:
    """The absolute value"""
def acos(x: _Any) -> _GraphExpr:
    """The inverse cosine"""
def acosh(x: _Any) -> _GraphExpr:
    """The inverse hyperbolic cosine"""
def add(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 + x2"""
def arange(start: _Any, end: _Any = None, step: _Any = 1, dtype: _str | None = None) -> _GraphExpr:
    """The numbers from `start` to `end` (exclusive) by `step`; from 0 to `start` without `end`."""
def arg(name: _str, struct_info: _Any) -> _GraphExpr:
    """A parameter of the function."""
def argmax(x: _Any, axis: _int | None = None, keepdims: _bool = False) -> _GraphExpr:
    """The index of the largest element along an axis, or of all elements in one row for None."""
def argmin(x: _Any, axis: _int | None = None, keepdims: _bool = False) -> _GraphExpr:
    """The index of the smallest element along an axis, or of all elements in one row for None."""
def argsort(data: _Any, axis: _int = -1, descending: _bool = False, dtype: _str = "int32") -> _GraphExpr:
    """The indices of the elements in ascending or descending order, along an axis."""
def asin(x: _Any) -> _GraphExpr:
    """The inverse sine"""
def asinh(x: _Any) -> _GraphExpr:
    """The inverse hyperbolic sine"""
def assert_op(condition: _Any, format_args: _Any = None, format: _Any = "") -> _GraphExpr:
    """A check that a condition holds, an error with a message otherwise."""
def astype(x: _Any, dtype: _str) -> _GraphExpr:
    """The tensor with its elements converted to a dtype."""
def atan(x: _Any) -> _GraphExpr:
    """The inverse tangent"""
def atanh(x: _Any) -> _GraphExpr:
    """The inverse hyperbolic tangent"""
def bitwise_and(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 & x2"""
def bitwise_not(x: _Any) -> _GraphExpr:
    """~x"""
def bitwise_or(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 | x2"""
def bitwise_xor(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 ^ x2"""
def broadcast_to(x: _Any, shape: _Any) -> _GraphExpr:
    """The tensor with dimensions of size 1 repeated, and new dimensions in front."""
class builtin:
    """Operators of memory before it is planned, and marks for passes."""

    @staticmethod
    def alloc_tensor(shape: _Any, dtype: _Any, runtime_device_index: _Any, storage_scope: _Any = "global") -> _GraphExpr:
        """A new tensor."""
    @staticmethod
    def stop_lift_params(x: _Any) -> _GraphExpr:
        """The tensor itself, which is not computed before the parameters are known."""

def call_builtin_with_ctx(func: _Any, args: _Any, *, sinfo_args: _Any = None) -> _GraphExpr:
    """A call of a function of the virtual machine, which is given the machine first."""
def call_dps_packed(func: _Any, args: _Any, out_sinfo: _Any = None, **older: _Any) -> _GraphExpr:
    """A call of a registered function that is given arrays for its results."""
def call_inplace_packed(func: _Any, *args: _Any, inplace_indices: _Any, sinfo_args: _Any = None) -> _GraphExpr:
    """A call of a registered function that returns some of its arguments, which it changed."""
def call_packed(func: _Any, *args: _Any, sinfo_args: _Any = None, **attrs: _Any) -> _GraphExpr:
    """A call of a registered function that may have effects."""
def call_pure_packed(func: _Any, *args: _Any, sinfo_args: _Any = None) -> _GraphExpr:
    """A call of a registered function that has no effects."""
def call_tir(gvar: _Any, args: _Any, out_sinfo: _Any = None, tir_vars: _Any = None, **older: _Any) -> _GraphExpr:
    """A call of a function of loops; a string names one of the module, or a registered function."""
def call_tir_inplace(gvar: _GlobalVar, args: _Any, inplace_indices: _Any, out_sinfo: _Any, tir_vars: _Any = None) -> _GraphExpr:
    """`call_tir` of a function that writes its results into some of its inputs."""
def call_tir_with_grad(gvar: _GlobalVar, args: _Any, out_sinfo: _Any, te_grad_name: _str, te_grad_kwargs: _Mapping[_str, _Any] | None = None, tir_vars: _Any = None) -> _GraphExpr:
    """`call_tir` of a function whose gradient is a registered function of tensor expressions."""
def ceil(x: _Any) -> _GraphExpr:
    """The number rounded up"""
def clip(x: _Any, min: _Any, max: _Any) -> _GraphExpr:
    """The nearest number of those from `min` to `max`."""
def collapse_sum_like(data: _Any, collapse_target: _Any) -> _GraphExpr:
    """The sum over the dimensions along which a tensor like `collapse_target` was broadcast."""
def collapse_sum_to(data: _Any, shape: _Any) -> _GraphExpr:
    """The sum over the dimensions along which a tensor of a shape was broadcast."""
def concat(tensors: _Any, axis: _Any = 0) -> _GraphExpr:
    """Tensors one after another along an axis; None joins tensors of one dimension."""
def const(value: _object, dtype: _object = None) -> _GraphExpr:
    """A constant."""
def cos(x: _Any) -> _GraphExpr:
    """The cosine"""
def cosh(x: _Any) -> _GraphExpr:
    """The hyperbolic cosine"""
def cpu(device_id: _int = 0) -> _Device:
    """The processor."""
def cuda(device_id: _int = 0) -> _Device:
    """A CUDA device, emulated where TE_SCHED_EMULATE=1; `exist` tells whether it is there."""
def cumprod(data: _Any, axis: _int | None = None, dtype: _str | None = None, exclusive: _bool = False) -> _GraphExpr:
    """The products of the elements up to each one, with the parameters of `cumsum`."""
def cumsum(data: _Any, axis: _int | None = None, dtype: _str | None = None, exclusive: _bool = False) -> _GraphExpr:
    """The sums of the elements up to each one, along an axis, or of all in one row for None."""
def dataflow() -> _DataflowFrame:
    """A dataflow block: bindings without effects and control flow."""
def dequantize(data: _Any, scale: _Any, zero_point: _Any, axis: _int = -1, out_dtype: _str = "float32") -> _GraphExpr:
    """scale * (data - zero_point), as float16 or float32; see `quantize`."""
def device(dev_type: _Any, dev_id: _int = 0) -> _Device:
    """A device, by its kind or TVM's number of it."""
def divide(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 / x2"""
def dtype(value: _Any) -> _GraphExpr:
    """A dtype as a value."""
def dynamic_strided_slice(x: _Any, begin: _Any, end: _Any, strides: _Any) -> _GraphExpr:
    """The slices begin:end:stride along all axes, of bounds that are tensors of int64."""
def einsum(operands: _Any, subscripts: _str) -> _GraphExpr:
    """Einstein summation, as numpy.einsum: `einsum((a, b), "ij,jk->ik")`."""
def emit(value: _Any, annotate_struct_info: _Any = None) -> _GraphExpr:
    """Bind a value to a new variable."""
def emit_match_cast(value: _Any, struct_info: _Any) -> _GraphExpr:
    """Bind a value that has a struct info when it runs."""
def emit_te(func: _Any, *args: _Any, **kwargs: _Any) -> _GraphExpr:
    """A call of a function of tensor expressions, which becomes a function of the module."""
def emit_var_binding(binding: _VarBinding) -> _GraphExpr:
    """Append a binding."""
def equal(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 == x2"""
def erf(x: _Any) -> _GraphExpr:
    """The error function"""
def ewise_fma(x1: _Any, x2: _Any, x3: _Any) -> _GraphExpr:
    """x1 * x2 + x3, of tensors of one shape."""
def exp(x: _Any) -> _GraphExpr:
    """e ** x"""
def expand_dims(x: _Any, axis: _Any) -> _GraphExpr:
    """The tensor with new dimensions of size 1, at the places `axis` of the result."""
def eye(n: _Any, m: _Any = None, k: _Any = 0, dtype: _str = "float32") -> _GraphExpr:
    """A matrix of n rows and m columns (n by default) with ones on diagonal k, zeros elsewhere."""
def eye_like(x: _Any, k: _Any = 0, dtype: _str | None = None) -> _GraphExpr:
    """A matrix of the shape of `x` with ones on diagonal k; of its dtype, by default."""
def flatten(x: _Any) -> _GraphExpr:
    """The tensor as one of one dimension."""
def flip(data: _Any, axis: _int) -> _GraphExpr:
    """The tensor with an axis in reverse order."""
def floor(x: _Any) -> _GraphExpr:
    """The number rounded down"""
def floor_divide(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 / x2, rounded down"""
def floor_mod(x1: _Any, x2: _Any) -> _GraphExpr:
    """The remainder of x1 / x2 rounded down"""
def full(shape: _Any, fill_value: _Any, dtype: _str | None = None) -> _GraphExpr:
    """A tensor of a shape that has one value everywhere."""
def full_like(x: _Any, fill_value: _Any, dtype: _str | None = None) -> _GraphExpr:
    """A tensor of the shape of `x` that has one value everywhere; of its dtype, by default."""
def func_attr(attrs: _Mapping[_str, _Any]) -> None:
    """Give the function attributes."""
def func_name(name: _str) -> None:
    """Name the function."""
def func_ret_struct_info(struct_info: _Any) -> None:
    """Declare what is known of the result."""
def func_ret_value(value: _Any) -> None:
    """The result of the function."""
def gather_elements(data: _Any, indices: _Any, axis: _int = 0) -> _GraphExpr:
    """Elements at the places of `indices`, with the axis replaced by the index."""
def gather_nd(data: _Any, indices: _Any, batch_dims: _int = 0) -> _GraphExpr:
    """Slices at the indices that the last axis of `indices` holds, after `batch_dims` axes."""
class grad:
    """Operators of gradients, and marks of what is differentiated."""

    @staticmethod
    def avg_pool2d_backward(output_grad: _Any, data: _Any, pool_size: _Any = ..., strides: _Any = ..., padding: _Any = ..., dilation: _Any = ..., ceil_mode: _bool = False, count_include_pad: _bool = False, layout: _str = "NCHW", out_layout: _str | None = None) -> _GraphExpr:
        """The gradient of avg_pool2d by its input."""
    @staticmethod
    def end_checkpoint(input: _Any) -> _GraphExpr:
        """The value; the end of what is computed again for the gradient."""
    @staticmethod
    def max_pool2d_backward(output_grad: _Any, data: _Any, pool_size: _Any = ..., strides: _Any = ..., padding: _Any = ..., dilation: _Any = ..., ceil_mode: _bool = False, count_include_pad: _bool = False, layout: _str = "NCHW", out_layout: _str | None = None) -> _GraphExpr:
        """The gradient of max_pool2d by its input."""
    @staticmethod
    def nll_loss_backward(output_grad: _Any, predictions: _Any, targets: _Any, weights: _Any = None, reduction: _str = "mean", ignore_index: _int = -100) -> _GraphExpr:
        """The gradient of nll_loss by its predictions."""
    @staticmethod
    def no_grad(input: _Any) -> _GraphExpr:
        """The value, of which no gradient is computed."""
    @staticmethod
    def start_checkpoint(input: _Any) -> _GraphExpr:
        """The value; what is computed from it is computed again for the gradient."""
    @staticmethod
    def take_backward(output_grad: _Any, x: _Any, indices: _Any, axis: _int | None = None) -> _GraphExpr:
        """The gradient of take by its input."""

def greater(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 > x2"""
def greater_equal(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 >= x2"""
def hint_on_device(data: _Any, dst_vdevice: _Any) -> _GraphExpr:
    """A tensor that is meant to be on a device."""
class image:
    """Operators on images."""

    @staticmethod
    def resize2d(data: _Any, size: _Any, roi: _Any = None, layout: _str = "NCHW", method: _str = "linear", coordinate_transformation_mode: _str = "half_pixel", rounding_method: _str = "round", cubic_alpha: _float = -0.5, cubic_exclude: _int = 0, extrapolation_value: _float = 0.0, out_dtype: _str | None = None) -> _GraphExpr:
        """The images with other heights and widths."""

class inspect:
    """What a tensor has at run time: its dtype, shape, strides and offset, as numbers."""

    @staticmethod
    def tensor_byte_offset(tensor: _Any) -> _GraphExpr:
        """The offset of the first element in memory, in bytes"""
    @staticmethod
    def tensor_dtype_bits(tensor: _Any) -> _GraphExpr:
        """The bits of an element"""
    @staticmethod
    def tensor_dtype_code(tensor: _Any) -> _GraphExpr:
        """The kind of the dtype, as in DLPack"""
    @staticmethod
    def tensor_dtype_lanes(tensor: _Any) -> _GraphExpr:
        """The lanes of an element"""
    @staticmethod
    def tensor_elem_offset(tensor: _Any) -> _GraphExpr:
        """The offset of the first element in memory, in elements"""
    @staticmethod
    def tensor_ndim(tensor: _Any) -> _GraphExpr:
        """The number of dimensions"""
    @staticmethod
    def tensor_shape_i(tensor: _Any, axis: _Any) -> _GraphExpr:
        """The size along an axis."""
    @staticmethod
    def tensor_stride_i(tensor: _Any, axis: _Any) -> _GraphExpr:
        """The stride along an axis, in elements."""

def invoke_closure(closure: _Any, args: _Any, sinfo_args: _Any = None) -> _GraphExpr:
    """A call of a closure with the other arguments."""
def invoke_pure_closure(closure: _Any, args: _Any, sinfo_args: _Any = None) -> _GraphExpr:
    """`invoke_closure` of a function that has no effects."""
def isfinite(x: _Any) -> _GraphExpr:
    """Whether it is neither infinite nor NaN"""
def isinf(x: _Any) -> _GraphExpr:
    """Whether it is infinite"""
def isnan(x: _Any) -> _GraphExpr:
    """Whether it is NaN"""
def layout_transform(x: _Any, index_map: _Callable[..., _Any] | _IndexMap, pad_value: _Any = None, axis_separators: _Any = None, input_axis_separators: _Any = None) -> _GraphExpr:
    """The tensor with its elements at other places."""
def left_shift(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 << x2"""
def less(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 < x2"""
def less_equal(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 <= x2"""
def linear(data: _Any, weight: _Any, bias: _Any = None, out_dtype: _Any = None) -> _GraphExpr:
    """data @ weight.T + bias, as calls of these operators."""
def log(x: _Any) -> _GraphExpr:
    """The natural logarithm"""
def logical_and(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 and x2"""
def logical_not(x: _Any) -> _GraphExpr:
    """not x"""
def logical_or(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 or x2"""
def logical_xor(x1: _Any, x2: _Any) -> _GraphExpr:
    """Whether one of x1 and x2 holds, not both"""
def make_closure(func: _Any, args: _Any) -> _GraphExpr:
    """A function with its first arguments."""
def masked_fill(x: _Any, mask: _Any, value: _Any) -> _GraphExpr:
    """The tensor with a value where a mask holds: a call of `where`."""
def match_cast(value: _Any, struct_info: _Any) -> _GraphExpr:
    """A value that has a struct info when it runs; defines the variables in its sizes."""
def matmul(x1: _Any, x2: _Any, out_dtype: _Any = None) -> _GraphExpr:
    """The product of matrices, or of batches of them, as numpy.matmul."""
def max(x: _Any, axis: _Any = None, keepdims: _bool = False) -> _GraphExpr:
    """The largest of the elements along axes: an int, several, or None for all of them."""
def maximum(x1: _Any, x2: _Any) -> _GraphExpr:
    """The larger one of x1 and x2"""
def mean(x: _Any, axis: _Any = None, keepdims: _bool = False) -> _GraphExpr:
    """The mean of the elements along axes: an int, several, or None for all of them."""
class memory:
    """Operators of planned memory: storages, tensors in them, views, and the end of their lives."""

    @staticmethod
    def alloc_storage(size: _Any, virtual_device_index: _Any, storage_scope: _Any, dtype: _Any) -> _GraphExpr:
        """Memory for tensors."""
    @staticmethod
    def alloc_tensor(storage: _Any, offset: _Any, shape: _Any, dtype: _Any) -> _GraphExpr:
        """A tensor in a storage, which begins at a byte of it."""
    @staticmethod
    def ensure_zero_offset(data: _Any) -> _GraphExpr:
        """The tensor, copied if it begins inside of its memory."""
    @staticmethod
    def kill_storage(storage: _Any) -> _GraphExpr:
        """The end of the life of a storage."""
    @staticmethod
    def kill_tensor(tensor: _Any) -> _GraphExpr:
        """The end of the life of a tensor."""
    @staticmethod
    def view(data: _Any, shape: _Any = None, dtype: _Any = None, relative_byte_offset: _Any = None) -> _GraphExpr:
        """The memory of a tensor as one of another shape or dtype, or a part of it."""

def min(x: _Any, axis: _Any = None, keepdims: _bool = False) -> _GraphExpr:
    """The smallest of the elements along axes: an int, several, or None for all of them."""
def minimum(x1: _Any, x2: _Any) -> _GraphExpr:
    """The smaller one of x1 and x2"""
def mod(x1: _Any, x2: _Any) -> _GraphExpr:
    """The remainder of x1 / x2 rounded towards zero"""
def multinomial_from_uniform(prob: _Any, uniform_sample: _Any, sample_indices: _Any, dtype: _str = "int64") -> _GraphExpr:
    """Indices that are drawn from rows of probabilities."""
def multiply(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 * x2"""
def negative(x: _Any) -> _GraphExpr:
    """-x"""
class nn:
    """Operators of neural networks: layers, activations, normalizations, losses, attention."""

    @staticmethod
    def adaptive_avg_pool1d(data: _Any, output_size: _Any = None, layout: _str = "NCW", out_layout: _str | None = None) -> _GraphExpr:
        """The means of `output_size` parts of one dimension; None keeps the size."""
    @staticmethod
    def adaptive_avg_pool2d(data: _Any, output_size: _Any = None, layout: _str = "NCHW", out_layout: _str | None = None) -> _GraphExpr:
        """The means of parts, by `output_size` for each of two dimensions; None keeps the sizes."""
    @staticmethod
    def adaptive_avg_pool3d(data: _Any, output_size: _Any = None, layout: _str = "NCDHW", out_layout: _str | None = None) -> _GraphExpr:
        """The means of parts, by `output_size` for each of three dimensions; None keeps the sizes."""
    @staticmethod
    def attention(query: _Any, key: _Any, value: _Any, bias: _Any = None, scale: _Any = None, causal_mask: _str | None = None, window_size: _int | None = None) -> _GraphExpr:
        """softmax(query @ key.T * scale + bias) @ value, for each batch and head."""
    @staticmethod
    def attention_var_len(queries: _Any, keys: _Any, values: _Any, seqstart_q: _Any, max_seqlen_q: _Any, seqstart_k: _Any = None, max_seqlen_k: _Any = None, scale: _Any = None, causal_mask: _str | None = None, window_size: _int | None = None) -> _GraphExpr:
        """Attention of sequences of several lengths, one after another."""
    @staticmethod
    def avg_pool1d(data: _Any, pool_size: _Any = ..., strides: _Any = ..., padding: _Any = ..., dilation: _Any = ..., ceil_mode: _bool = False, count_include_pad: _bool = False, layout: _str = "NCW", out_layout: _str | None = None) -> _GraphExpr:
        """The mean of each window, in one dimension."""
    @staticmethod
    def avg_pool2d(data: _Any, pool_size: _Any = ..., strides: _Any = ..., padding: _Any = ..., dilation: _Any = ..., ceil_mode: _bool = False, count_include_pad: _bool = False, layout: _str = "NCHW", out_layout: _str | None = None) -> _GraphExpr:
        """The mean of each window, in two dimensions."""
    @staticmethod
    def avg_pool3d(data: _Any, pool_size: _Any = ..., strides: _Any = ..., padding: _Any = ..., dilation: _Any = ..., ceil_mode: _bool = False, count_include_pad: _bool = False, layout: _str = "NCDHW", out_layout: _str | None = None) -> _GraphExpr:
        """The mean of each window, in three dimensions."""
    @staticmethod
    def batch_norm(data: _Any, gamma: _Any, beta: _Any, moving_mean: _Any, moving_var: _Any, axis: _int, epsilon: _float = 1e-05, center: _bool = True, scale: _bool = True, momentum: _float = 0.1) -> _GraphExpr:
        """Normalization by the mean and variance of a channel; a tuple with the new mean and variance."""
    @staticmethod
    def conv1d(data: _Any, weight: _Any, strides: _Any = 1, padding: _Any = 0, dilation: _Any = 1, groups: _int = 1, data_layout: _str = "NCW", kernel_layout: _str = "OIW", out_layout: _str | None = None, out_dtype: _Any = None) -> _GraphExpr:
        """The convolution of one dimension."""
    @staticmethod
    def conv1d_transpose(data: _Any, weight: _Any, strides: _Any = 1, padding: _Any = 0, output_padding: _Any = 0, dilation: _Any = 1, groups: _int = 1, data_layout: _str = "NCW", kernel_layout: _str = "IOW", out_layout: _str | None = None, out_dtype: _Any = None) -> _GraphExpr:
        """The transposed convolution of one dimension: the gradient of conv1d by its input."""
    @staticmethod
    def conv2d(data: _Any, weight: _Any, strides: _Any = ..., padding: _Any = ..., dilation: _Any = ..., groups: _int = 1, data_layout: _str = "NCHW", kernel_layout: _str = "OIHW", out_layout: _str | None = None, out_dtype: _Any = None) -> _GraphExpr:
        """The convolution of two dimensions."""
    @staticmethod
    def conv2d_transpose(data: _Any, weight: _Any, strides: _Any = ..., padding: _Any = ..., output_padding: _Any = ..., dilation: _Any = ..., groups: _int = 1, data_layout: _str = "NCHW", kernel_layout: _str = "IOHW", out_layout: _str | None = None, out_dtype: _Any = None) -> _GraphExpr:
        """The transposed convolution of two dimensions: the gradient of conv2d by its input."""
    @staticmethod
    def conv3d(data: _Any, weight: _Any, strides: _Any = ..., padding: _Any = ..., dilation: _Any = ..., groups: _int = 1, data_layout: _str = "NCDHW", kernel_layout: _str = "OIDHW", out_layout: _str | None = None, out_dtype: _Any = None) -> _GraphExpr:
        """The convolution of three dimensions."""
    @staticmethod
    def conv3d_transpose(data: _Any, weight: _Any, strides: _Any = ..., padding: _Any = ..., output_padding: _Any = ..., dilation: _Any = ..., groups: _int = 1, data_layout: _str = "NCDHW", kernel_layout: _str = "IODHW", out_layout: _str | None = None, out_dtype: _Any = None) -> _GraphExpr:
        """The transposed convolution of three dimensions: the gradient of conv3d by its input."""
    @staticmethod
    def cross_entropy_with_logits(predictions: _Any, labels: _Any) -> _GraphExpr:
        """-sum(predictions * labels), divided by the size of the batch if there is one."""
    @staticmethod
    def dropout(data: _Any, rate: _float = 0.5) -> _GraphExpr:
        """Elements that are set to zero with a probability; a tuple of the result and the mask."""
    @staticmethod
    def gelu(data: _Any) -> _GraphExpr:
        """data * P(X <= data), for X of the standard normal distribution."""
    @staticmethod
    def gelu_tanh(data: _Any) -> _GraphExpr:
        """An approximation of gelu by tanh."""
    @staticmethod
    def group_norm(data: _Any, gamma: _Any, beta: _Any, num_groups: _int, channel_axis: _int, axes: _Any, epsilon: _float = 1e-05, center: _bool = True, scale: _bool = True) -> _GraphExpr:
        """Normalization over axes and the channels of a group."""
    @staticmethod
    def layer_norm(data: _Any, gamma: _Any, beta: _Any, axes: _Any, epsilon: _float = 1e-05, center: _bool = True, scale: _bool = True) -> _GraphExpr:
        """Normalization over axes."""
    @staticmethod
    def leakyrelu(data: _Any, alpha: _float = 0.01) -> _GraphExpr:
        """data where it is positive, elsewhere alpha * data"""
    @staticmethod
    def log_softmax(data: _Any, axis: _int = -1) -> _GraphExpr:
        """log(softmax(data, axis))"""
    @staticmethod
    def max_pool1d(data: _Any, pool_size: _Any = ..., strides: _Any = ..., padding: _Any = ..., dilation: _Any = ..., ceil_mode: _bool = False, count_include_pad: _bool = False, layout: _str = "NCW", out_layout: _str | None = None) -> _GraphExpr:
        """The maximum of each window, in one dimension."""
    @staticmethod
    def max_pool2d(data: _Any, pool_size: _Any = ..., strides: _Any = ..., padding: _Any = ..., dilation: _Any = ..., ceil_mode: _bool = False, count_include_pad: _bool = False, layout: _str = "NCHW", out_layout: _str | None = None) -> _GraphExpr:
        """The maximum of each window, in two dimensions."""
    @staticmethod
    def max_pool3d(data: _Any, pool_size: _Any = ..., strides: _Any = ..., padding: _Any = ..., dilation: _Any = ..., ceil_mode: _bool = False, count_include_pad: _bool = False, layout: _str = "NCDHW", out_layout: _str | None = None) -> _GraphExpr:
        """The maximum of each window, in three dimensions."""
    @staticmethod
    def nll_loss(predictions: _Any, targets: _Any, weights: _Any = None, reduction: _str = "mean", ignore_index: _int = -100) -> _GraphExpr:
        """The negative logarithms of the probabilities of classes, of which `predictions` has the logs."""
    @staticmethod
    def pad(data: _Any, pad_width: _Any, pad_value: _Any = 0, pad_mode: _str = "constant") -> _GraphExpr:
        """The tensor with elements added at the begin and end of each dimension."""
    @staticmethod
    def relu(data: _Any) -> _GraphExpr:
        """max(data, 0)"""
    @staticmethod
    def rms_norm(data: _Any, weight: _Any, axes: _Any = -1, epsilon: _float = 1e-05) -> _GraphExpr:
        """Division by the root of the mean of squares over axes."""
    @staticmethod
    def silu(data: _Any) -> _GraphExpr:
        """data * sigmoid(data)"""
    @staticmethod
    def softmax(data: _Any, axis: _int = -1) -> _GraphExpr:
        """exp(data), divided by its sum along an axis."""

def nonzero(x: _Any) -> _GraphExpr:
    """The indices of the elements that are not 0: a row for each dimension, a column for each."""
def not_equal(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 != x2"""
def null_value() -> _GraphExpr:
    """A value that is None."""
def one_hot(indices: _Any, on_value: _Any, off_value: _Any, depth: _int, axis: _int = -1) -> _GraphExpr:
    """A new axis of `depth` values: `on_value` at the index, `off_value` elsewhere."""
def ones(shape: _Any, dtype: _str) -> _GraphExpr:
    """A tensor of ones."""
def ones_like(x: _Any, dtype: _str | None = None) -> _GraphExpr:
    """A tensor of ones of the shape of `x`, and of its dtype by default."""
def output(*variables: _Any) -> None:
    """The variables of a dataflow block that are visible outside of it."""
def permute_dims(x: _Any, axes: _Any = None) -> _GraphExpr:
    """The tensor with its dimensions in another order; by default reversed."""
def power(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 ** x2"""
def prim_value(value: _Any) -> _GraphExpr:
    """A number as a value."""
def print(*values: _Any, format: _Any = "") -> _GraphExpr:
    """Print values, in the places of the {} of a format, or one after the other without one."""
def prod(x: _Any, axis: _Any = None, keepdims: _bool = False) -> _GraphExpr:
    """The product of the elements along axes: an int, several, or None for all of them."""
def quantize(data: _Any, scale: _Any, zero_point: _Any, axis: _int = -1, out_dtype: _str = "int8") -> _GraphExpr:
    """round(data / scale) + zero_point, limited to the range of `out_dtype`."""
def repeat(data: _Any, repeats: _int, axis: _int | None = None) -> _GraphExpr:
    """Each element of an axis several times; None repeats the elements of the flattened tensor."""
def reshape(x: _Any, shape: _Any) -> _GraphExpr:
    """The tensor with other sizes and the same elements."""
def rewriter(cls: _type) -> _PatternMatchingRewriter:
    """A decorator that makes a rewriter of a class with functions `pattern` and `replacement`."""
def right_shift(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 >> x2"""
def round(x: _Any) -> _GraphExpr:
    """The nearest integer, the even one of two"""
def rsqrt(x: _Any) -> _GraphExpr:
    """1 / sqrt(x)"""
def scatter_elements(data: _Any, indices: _Any, updates: _Any, axis: _int = 0, reduction: _str = "update") -> _GraphExpr:
    """The tensor with elements exchanged: the axis is replaced by the index."""
def scatter_nd(data: _Any, indices: _Any, updates: _Any, reduction: _str = "update") -> _GraphExpr:
    """The tensor with slices exchanged, at the indices that the last axis of `indices` holds."""
def shape(value: _Any) -> _GraphExpr:
    """A shape as a value."""
def shape_of(expr: _Any) -> _GraphExpr:
    """The shape of a tensor."""
def shape_to_tensor(expr: _Any) -> _GraphExpr:
    """A shape as a tensor of int64 with one dimension."""
def sigmoid(x: _Any) -> _GraphExpr:
    """1 / (1 + exp(-x))"""
def sign(x: _Any) -> _GraphExpr:
    """1, 0 or -1 for a positive number, 0, or a negative one"""
def sin(x: _Any) -> _GraphExpr:
    """The sine"""
def sinh(x: _Any) -> _GraphExpr:
    """The hyperbolic sine"""
def sort(x: _Any, axis: _int = -1, descending: _bool = False) -> _GraphExpr:
    """The elements in ascending or descending order, along an axis."""
def split(x: _Any, indices_or_sections: _Any, axis: _int = 0) -> _GraphExpr:
    """Parts of a tensor along an axis, as a tuple."""
def sqrt(x: _Any) -> _GraphExpr:
    """The square root"""
def square(x: _Any) -> _GraphExpr:
    """x * x"""
def squeeze(x: _Any, axis: _Any = None) -> _GraphExpr:
    """The tensor without dimensions of size 1: those of `axis`, or all of them."""
def std(x: _Any, axis: _Any = None, keepdims: _bool = False) -> _GraphExpr:
    """The standard deviation (of the population) of the elements along axes: an int, several, or None for all of them."""
def str(value: _str) -> _GraphExpr:
    """A string as a value."""
def strided_slice(x: _Any, axes: _Any, begin: _Any, end: _Any, strides: _Any = None, assume_inbound: _bool = False) -> _GraphExpr:
    """The slices begin:end:stride along axes, as in numpy."""
def subtract(x1: _Any, x2: _Any) -> _GraphExpr:
    """x1 - x2"""
def sum(x: _Any, axis: _Any = None, keepdims: _bool = False) -> _GraphExpr:
    """The sum of the elements along axes: an int, several, or None for all of them."""
def take(x: _Any, indices: _Any, axis: _int | None = None) -> _GraphExpr:
    """The elements of `x` at indices along an axis; `x` of one dimension may go without it."""
def tan(x: _Any) -> _GraphExpr:
    """The tangent"""
def tanh(x: _Any) -> _GraphExpr:
    """The hyperbolic tangent"""
def tensor_to_shape(expr: _Any) -> _GraphExpr:
    """A tensor of int64 with one dimension as a shape."""
def tile(data: _Any, repeats: _Any) -> _GraphExpr:
    """The whole tensor several times along each axis."""
def to_vdevice(data: _Any, dst_vdevice: _Any) -> _GraphExpr:
    """A tensor on another device of the module, which may be given as "cuda:1"."""
def topk(data: _Any, k: _int = 1, axis: _int = -1, ret_type: _str = "both", largest: _bool = True, dtype: _str = "int32") -> _GraphExpr:
    """The first k elements in descending order (ascending if not `largest`), along an axis."""
def tril(x: _Any, k: _Any = 0) -> _GraphExpr:
    """The matrices with zeros above diagonal k: above the main one for 0, more of them below 0."""
def triu(x: _Any, k: _Any = 0) -> _GraphExpr:
    """The matrices with zeros below diagonal k."""
def tuple(*fields: _Any) -> _GraphExpr:
    """Several values."""
def unique(x: _Any, sorted: _Any = True, return_index: _Any = False, return_inverse: _Any = False, return_counts: _Any = False, axis: _Any = None) -> _GraphExpr:
    """The distinct elements, or the distinct slices along an axis."""
def variance(x: _Any, axis: _Any = None, keepdims: _bool = False) -> _GraphExpr:
    """The variance (of the population) of the elements along axes: an int, several, or None for all of them."""
class vm:
    """Operators of the virtual machine: what the passes of the build pipeline end with."""

    @staticmethod
    def alloc_storage(shape: _Any, runtime_device_index: _Any, dtype: _Any, storage_scope: _Any = "global") -> _GraphExpr:
        """Memory for tensors: its bytes as a shape, or those of a tensor of a shape and dtype."""
    @staticmethod
    def alloc_tensor(storage: _Any, offset: _Any, shape: _Any, dtype: _Any) -> _GraphExpr:
        """A tensor in a storage, which begins at a byte of it."""
    @staticmethod
    def call_tir_dyn(func: _Any, args: _Any) -> _GraphExpr:
        """A call of a function of loops; the last argument is a shape with its numbers."""
    @staticmethod
    def kill_object(obj: _Any) -> _GraphExpr:
        """The end of the life of a value."""

def where(condition: _Any, x1: _Any, x2: _Any) -> _GraphExpr:
    """The elements of x1 where a condition holds, those of x2 elsewhere, with broadcasting."""
def wrap_param(data: _Any, dtype: _str = "float32") -> _GraphExpr:
    """A constant of one dtype, as a parameter of another one."""
def zeros(shape: _Any, dtype: _str) -> _GraphExpr:
    """A tensor of zeros."""
def zeros_like(x: _Any, dtype: _str | None = None) -> _GraphExpr:
    """A tensor of zeros of the shape of `x`, and of its dtype by default."""
