"""Operations on tensors of a model: each makes a call of an operator of graphs, and binds it.

`name` is that of the variable. Importing this module gives `NNTensor` its operators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import numpy as np

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import GraphError, kind_of, repr_of, user_place
from te_sched.ir import ops
from te_sched.ir.expr import Expr, ExprLike
from te_sched.ir.graph import GraphExpr, GraphString, PrimValue, Tuple
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.struct_info import ObjectStructInfo, ShapeExpr, StructInfo
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.nn.core import (
    Ints,
    NNTensor,
    NNTensors,
    Sizes,
    TensorLike,
    current_builder,
    unwrap_nested,
    wrap_nested,
)
from te_sched.relax.frontend.nn.exporter import Exporter
from te_sched.relax.frontend.tensors import (
    Size,
    as_list,
    as_size,
    filled,
    fixed_size,
    prim_value,
    shape_expr,
)

IntOrInts = int | Sequence[int]
Axes = Annotated["Ints | None", "what reductions take"]
Argument = Annotated["NNTensor | ExprLike", "tensors, numbers and texts"]
SeveralTensors = Annotated["NNTensor | Sequence[NNTensor]", "what functions of blocks write"]
BlockArguments = Annotated[
    "NNTensor | Sequence[NNTensor | Size]", "tensors, then numbers of functions of blocks"
]
_Operands = tuple[GraphExpr, GraphExpr]


# Arithmetic and comparisons


def _tensor(expr: GraphExpr, name: str) -> NNTensor:
    """Bind an expression of a tensor."""
    result: NNTensor = wrap_nested(expr, name)
    return result


def _operands(a: TensorLike, b: TensorLike) -> _Operands:
    """Two tensors; a number takes the dtype of the other one."""
    tensors = [value for value in (a, b) if isinstance(value, NNTensor)]
    if not tensors:
        raise GraphError(
            f"neither {repr_of(a)} nor {repr_of(b)} is a Tensor of nn",
            "an operation of a module computes with tensors",
            "give at least one tensor: nn.Tensor.from_const(value)",
        )
    return _operand(a, tensors[0].dtype), _operand(b, tensors[0].dtype)


def _operand(value: TensorLike, dtype: str) -> GraphExpr:
    return value._expr if isinstance(value, NNTensor) else const(value, dtype)


def add(a: TensorLike, b: TensorLike, name: str = "add") -> NNTensor:
    """a + b"""
    return _tensor(R.add(*_operands(a, b)), name)


def subtract(a: TensorLike, b: TensorLike, name: str = "subtract") -> NNTensor:
    """a - b"""
    return _tensor(R.subtract(*_operands(a, b)), name)


def multiply(a: TensorLike, b: TensorLike, name: str = "mul") -> NNTensor:
    """a * b"""
    return _tensor(R.multiply(*_operands(a, b)), name)


def divide(a: TensorLike, b: TensorLike, name: str = "divide") -> NNTensor:
    """a / b"""
    return _tensor(R.divide(*_operands(a, b)), name)


def maximum(x1: TensorLike, x2: TensorLike, name: str = "maximum") -> NNTensor:
    """The greater of two values."""
    return _tensor(R.maximum(*_operands(x1, x2)), name)


def minimum(x1: TensorLike, x2: TensorLike, name: str = "minimum") -> NNTensor:
    """The smaller of two values."""
    return _tensor(R.minimum(*_operands(x1, x2)), name)


def less(a: TensorLike, b: TensorLike, name: str = "less") -> NNTensor:
    """a < b"""
    return _tensor(R.less(*_operands(a, b)), name)


def less_equal(a: TensorLike, b: TensorLike, name: str = "less_equal") -> NNTensor:
    """a <= b"""
    return _tensor(R.less_equal(*_operands(a, b)), name)


def greater(a: TensorLike, b: TensorLike, name: str = "greater") -> NNTensor:
    """a > b"""
    return _tensor(R.greater(*_operands(a, b)), name)


def greater_equal(a: TensorLike, b: TensorLike, name: str = "greater_equal") -> NNTensor:
    """a >= b"""
    return _tensor(R.greater_equal(*_operands(a, b)), name)


def equal(a: TensorLike, b: TensorLike, name: str = "equal") -> NNTensor:
    """Whether two values are equal."""
    return _tensor(R.equal(*_operands(a, b)), name)


def not_equal(a: TensorLike, b: TensorLike, name: str = "not_equal") -> NNTensor:
    """Whether two values differ."""
    return _tensor(R.not_equal(*_operands(a, b)), name)


def matmul(
    a: NNTensor, b: NNTensor, out_dtype: str | None = None, name: str = "matmul"
) -> NNTensor:
    """The product of matrices, with broadcasting of the other dimensions."""
    return _tensor(R.matmul(a._expr, b._expr, out_dtype=out_dtype), name)


def where(condition: NNTensor, x1: NNTensor, x2: NNTensor, name: str = "where") -> NNTensor:
    """x1 where the condition holds, else x2."""
    mask = astype(condition, "bool")
    return _tensor(R.where(mask._expr, x1._expr, x2._expr), name)


# One tensor, element by element


def negative(x: NNTensor, name: str = "neg") -> NNTensor:
    """-x"""
    return _tensor(R.negative(x._expr), name)


def square(x: NNTensor, name: str = "square") -> NNTensor:
    """x * x"""
    return _tensor(R.square(x._expr), name)


def sqrt(x: NNTensor, name: str = "sqrt") -> NNTensor:
    """The square root."""
    return _tensor(R.sqrt(x._expr), name)


def exp(x: NNTensor, name: str = "exp") -> NNTensor:
    """The exponential function."""
    return _tensor(R.exp(x._expr), name)


def sigmoid(x: NNTensor, name: str = "sigmoid") -> NNTensor:
    """1 / (1 + exp(-x))"""
    return _tensor(R.sigmoid(x._expr), name)


def tanh(x: NNTensor, name: str = "tanh") -> NNTensor:
    """The hyperbolic tangent."""
    return _tensor(R.tanh(x._expr), name)


def relu(x: NNTensor, name: str = "relu") -> NNTensor:
    """max(x, 0)"""
    return _tensor(R.nn.relu(x._expr), name)


def silu(x: NNTensor, name: str = "silu") -> NNTensor:
    """x * sigmoid(x)"""
    return _tensor(R.nn.silu(x._expr), name)


def gelu(x: NNTensor, approximate: str | None = None, name: str = "gelu") -> NNTensor:
    """The Gaussian error linear unit, or with "tanh" its approximation."""
    function = R.nn.gelu_tanh if approximate == "tanh" else R.nn.gelu
    return _tensor(function(x._expr), name)


def softmax(x: NNTensor, axis: int = -1, name: str = "softmax") -> NNTensor:
    """exp(x) / sum(exp(x)) along an axis."""
    return _tensor(R.nn.softmax(x._expr, axis), name)


def astype(x: NNTensor, dtype: str, name: str = "astype") -> NNTensor:
    """The values with another dtype."""
    return _tensor(R.astype(x._expr, dtype), name)


# Reductions, sorting


def sum(x: NNTensor, axis: Axes = None, keepdims: bool = False, name: str = "sum") -> NNTensor:
    """The sum along axes."""
    return _tensor(R.sum(x._expr, axis, keepdims), name)


def cumsum(
    data: NNTensor,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
    name: str = "cumsum",
) -> NNTensor:
    """The sums of the first elements along an axis."""
    return _tensor(R.cumsum(data._expr, axis, dtype, bool(exclusive)), name)


def sort(x: NNTensor, axis: int = -1, descending: bool = False, name: str = "sort") -> NNTensor:
    """The elements along an axis, in order."""
    return _tensor(R.sort(x._expr, axis, descending), name)


def argsort(
    data: NNTensor,
    axis: int = -1,
    descending: bool = False,
    dtype: str = "int32",
    name: str = "argsort",
) -> NNTensor:
    """The places of the elements along an axis, in their order."""
    return _tensor(R.argsort(data._expr, axis, descending, dtype), name)


def topk(
    data: NNTensor,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: str = "int32",
    name: str = "topk",
) -> NNTensors:
    """The k greatest elements along an axis, their places, or both."""
    return wrap_nested(R.topk(data._expr, k, axis, ret_type, largest, dtype), name)


def multinomial_from_uniform(
    prob: NNTensor,
    uniform_sample: NNTensor,
    sample_indices: NNTensor | None = None,
    dtype: str = "int64",
    name: str = "multinomial_from_uniform",
) -> NNTensor:
    """Samples of distributions, from uniform samples."""
    if sample_indices is None:
        rows = np.arange(fixed_size(prob.shape[0], "number")).astype("int64")
        sample_indices = NNTensor.from_const(rows[:, None])
    args = (prob._expr, uniform_sample._expr, sample_indices._expr)
    return _tensor(R.multinomial_from_uniform(*args, dtype), name)


# Shapes


def reshape(x: NNTensor, shape: Sizes, name: str = "reshape") -> NNTensor:
    """The elements in another shape; one size may be -1."""
    return _tensor(R.reshape(x._expr, shape), name)


def permute_dims(x: NNTensor, axes: Axes = None, name: str | None = None) -> NNTensor:
    """The tensor with its dimensions in another order, by default reversed."""
    if name is None:
        hint = getattr(x._expr, "name_hint", "")
        name = hint.replace("linear", "matmul") if "linear" in hint else "permute_dims"
    return _tensor(R.permute_dims(x._expr, axes), name)


def permute(x: NNTensor, axes: Axes, name: str = "permute") -> NNTensor:
    """The tensor with its dimensions in another order."""
    return permute_dims(x, axes, name)


def broadcast_to(x: NNTensor, shape: Sequence[Size], name: str = "broadcast_to") -> NNTensor:
    """The tensor, repeated along dimensions of size 1."""
    return _tensor(R.broadcast_to(x._expr, shape), name)


def repeat(x: NNTensor, repeats: int, axis: int | None = None, name: str = "repeat") -> NNTensor:
    """Each element several times, along an axis."""
    return _tensor(R.repeat(x._expr, repeats, axis), name)


def squeeze(x: NNTensor, axis: Axes = -1, name: str = "squeeze") -> NNTensor:
    """The tensor without dimensions of size 1."""
    return _tensor(R.squeeze(x._expr, axis), name)


def unsqueeze(x: NNTensor, dim: int, name: str = "unsqueeze") -> NNTensor:
    """The tensor with a new dimension of size 1."""
    return _tensor(R.expand_dims(x._expr, dim), name)


def concat(x: Sequence[NNTensor], dim: int, name: str = "concat") -> NNTensor:
    """Tensors one after the other, along a dimension."""
    return _tensor(R.concat([tensor._expr for tensor in x], dim), name)


def split(
    ary: NNTensor, indices_or_sections: Ints, axis: int = 0, name: str = "split"
) -> NNTensors:
    """Parts of a tensor along an axis: a number of equal ones, or by places."""
    return wrap_nested(R.split(ary._expr, indices_or_sections, axis), name)


def chunk(x: NNTensor, chunks: int, dim: int = 0, name: str = "chunk") -> NNTensors:
    """Equal parts of a tensor along a dimension."""
    return wrap_nested(R.split(x._expr, chunks, dim), name)


def take(x: NNTensor, indices: NNTensor, axis: int | None = None, name: str = "take") -> NNTensor:
    """The elements at places of an axis."""
    return _tensor(R.take(x._expr, indices._expr, axis), name)


def pad(
    x: NNTensor, pad: Sequence[int], mode: str = "constant", value: int = 0, name: str = "pad"
) -> NNTensor:
    """The tensor with elements before and after it, along each dimension."""
    return _tensor(R.nn.pad(x._expr, pad_width=pad, pad_value=value, pad_mode=mode), name)


def triu(x: NNTensor, diagonal: int = 0, name: str = "triu") -> NNTensor:
    """The upper triangle of matrices, zeros elsewhere."""
    return _tensor(R.triu(x._expr, diagonal), name)


# New tensors


def full(
    shape: Sequence[Size], fill_value: TensorLike, dtype: str = "float32", name: str = "full"
) -> NNTensor:
    """A tensor of one value."""
    if isinstance(fill_value, NNTensor):
        value = fill_value._expr
    else:
        value = const(getattr(fill_value, "value", fill_value), dtype)
    return _tensor(R.full(shape, value, dtype), name)


def zeros(shape: Sequence[Size], dtype: str = "float32", name: str = "zeros") -> NNTensor:
    """A tensor of zeros."""
    return _tensor(R.zeros(shape, dtype), name)


def ones(shape: Sequence[Size], dtype: str = "float32", name: str = "ones") -> NNTensor:
    """A tensor of ones."""
    return _tensor(R.ones(shape, dtype), name)


def empty(shape: Sequence[Size], dtype: str = "float32", name: str = "empty") -> NNTensor:
    """A tensor whose elements are undefined."""
    return _tensor(R.builtin.alloc_tensor(shape_expr(shape), dtype, 0), name)


# Layers


def _with_bias(result: GraphExpr, bias: NNTensor | None, layout: str, name: str) -> NNTensor:
    """A convolution, and the bias of its channels added."""
    if bias is None:
        return _tensor(result, name)
    shape = [bias.shape[0] if axis == "C" else 1 for axis in layout]
    result = current_builder().emit(result)
    bias_expr = R.reshape(bias._expr, shape)
    return _tensor(R.add(result, bias_expr), name)


def conv1d(
    x: NNTensor,
    weight: NNTensor,
    bias: NNTensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    name: str = "conv1d",
    data_layout: str = "NCW",
) -> NNTensor:
    """A convolution along one dimension."""
    call = R.nn.conv1d(
        x._expr, weight._expr, stride, padding, dilation, groups, data_layout=data_layout
    )
    return _with_bias(call, bias, data_layout, name)


def conv2d(
    x: NNTensor,
    weight: NNTensor,
    bias: NNTensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    data_layout: str = "NCHW",
    name: str = "conv2d",
) -> NNTensor:
    """A convolution along two dimensions."""
    call = R.nn.conv2d(
        x._expr, weight._expr, stride, padding, dilation, groups, data_layout=data_layout
    )
    return _with_bias(call, bias, data_layout, name)


def conv3d(
    x: NNTensor,
    weight: NNTensor,
    bias: NNTensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    data_layout: str = "NCDHW",
    name: str = "conv3d",
) -> NNTensor:
    """A convolution along three dimensions."""
    call = R.nn.conv3d(
        x._expr, weight._expr, stride, padding, dilation, groups, data_layout=data_layout
    )
    return _with_bias(call, bias, data_layout, name)


def conv1d_transpose(
    x: NNTensor,
    weight: NNTensor,
    bias: NNTensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    name: str = "conv1d_transpose",
) -> NNTensor:
    """The transposed convolution along one dimension."""
    call = R.nn.conv1d_transpose(
        x._expr, weight._expr, stride, padding, output_padding, dilation, groups
    )
    return _with_bias(call, bias, "NCW", name)


def layer_norm(
    x: NNTensor,
    normalized_shape: Sizes,
    weight: NNTensor | None = None,
    bias: NNTensor | None = None,
    eps: float = 1e-5,
    name: str = "layer_norm",
) -> NNTensor:
    """Normalization over the last dimensions."""
    shape = [normalized_shape] if isinstance(normalized_shape, int | Expr) else normalized_shape
    gamma = _or_filled(weight, 1, shape, x.dtype)
    beta = _or_filled(bias, 0, shape, x.dtype)
    axes = list(range(-len(shape), 0))
    return _tensor(R.nn.layer_norm(x._expr, gamma, beta, axes=axes, epsilon=eps), name)


def _or_filled(
    tensor: NNTensor | None, value: float, shape: Sequence[Size], dtype: str
) -> GraphExpr:
    """The expression of a tensor, by default one of a value."""
    sizes = [as_size(size) for size in shape]
    return filled(current_builder(), sizes, value, dtype) if tensor is None else tensor._expr


def rms_norm(
    x: NNTensor, weight: NNTensor, axes: Ints, epsilon: float = 1e-5, name: str = "rms_norm"
) -> NNTensor:
    """Normalization by the mean of squares."""
    return _tensor(R.nn.rms_norm(x._expr, weight._expr, axes, epsilon), name)


def group_norm(
    x: NNTensor,
    num_groups: int,
    weight: NNTensor | None,
    bias: NNTensor | None,
    eps: float = 1e-5,
    channel_axis: int = 1,
    axes: Sequence[int] | None = None,
    name: str = "group_norm",
) -> NNTensor:
    """Normalization over groups of channels, and over `axes` (by default those after channels)."""
    if axes is None:
        axes = [axis for axis in range(2, x.ndim)]
    channels = [x.shape[channel_axis]]
    gamma = _or_filled(weight, 1, channels, x.dtype)
    beta = _or_filled(bias, 0, channels, x.dtype)
    call = R.nn.group_norm(
        x._expr,
        gamma,
        beta,
        num_groups=num_groups,
        channel_axis=channel_axis,
        axes=axes,
        epsilon=eps,
    )
    return _tensor(call, name)


def scaled_dot_product_attention(
    query: NNTensor,
    key: NNTensor,
    value: NNTensor,
    attn_mask: NNTensor | None = None,
    is_causal: bool | None = False,
    scale: float | None = None,
    name: str = "scaled_dot_product_attention",
) -> NNTensor:
    """softmax(query @ key) @ value, of tensors [batch, length, heads, size]."""
    bias = None if attn_mask is None else attn_mask._expr
    mask = "TopLeft" if is_causal else None
    args = (query._expr, key._expr, value._expr, bias)
    return _tensor(R.nn.attention(*args, scale=scale, causal_mask=mask), name)


def interpolate(
    x: NNTensor,
    size: Annotated[Sizes | None, "what relax.op takes"] = None,
    scale_factor: Annotated[float | Sequence[float] | None, "of each dimension"] = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool | None = None,
    data_layout: str = "NCHW",
    name: str = "interpolate",
) -> NNTensor:
    """An image of another size: "nearest", "bilinear" or "bicubic"."""
    if recompute_scale_factor or antialias:
        raise GraphError(
            "interpolate does not support recompute_scale_factor and antialias",
            "there is not an operator for it",
            "leave them out",
        )
    if size is None:
        factors = scale_factor if isinstance(scale_factor, list | tuple) else [scale_factor] * 2
        places = [data_layout.index("H"), data_layout.index("W")]
        size = [_scaled(x.shape[at], factor) for at, factor in zip(places, factors, strict=True)]
    elif not isinstance(size, Sequence):
        size = [size, size]
    if mode.startswith("nearest"):
        method, transformation = "nearest_neighbor", "asymmetric"
    else:
        method = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
        transformation = "align_corners" if align_corners else "half_pixel"
    call = R.image.resize2d(
        x._expr,
        size,
        layout=data_layout,
        method=method,
        coordinate_transformation_mode=transformation,
    )
    return _tensor(call, name)


def _scaled(size: Size, factor: float) -> Size:
    return int(size * factor) if isinstance(size, int) else (size * factor).astype("int64")


def get_timestep_embedding(
    x: NNTensor,
    embedding_dim: int,
    flip_sin_to_cos: bool = False,
    downscale_freq_shift: float = 1,
    scale: float = 1,
    max_period: int = 10000,
    name: str = "get_timestep_embedding",
) -> NNTensor:
    """Sines and cosines of places at falling frequencies."""
    dtype = "float32"
    half = embedding_dim // 2
    time = R.expand_dims(R.astype(x._expr, dtype), axis=[1])
    rate = const(-math.log(max_period), dtype)
    exponent = R.multiply(rate, R.arange(0, half, 1, dtype=dtype))
    exponent = R.divide(exponent, const(half - downscale_freq_shift, dtype))
    angles = R.multiply(time, R.expand_dims(R.exp(exponent), axis=[0]))
    if scale != 1:
        angles = R.multiply(const(scale, dtype), angles)
    bound = current_builder().emit(angles)
    parts = [R.sin(bound), R.cos(bound)]
    embedding = R.concat(parts[::-1] if flip_sin_to_cos else parts, axis=-1)
    if embedding_dim % 2:
        embedding = R.nn.pad(embedding, (0, 0, 0, 1))
    return _tensor(R.astype(embedding, dtype), name)


# Functions


def tensor_expr_op(
    tensor_expr_func: Callable[..., object],
    name_hint: str,
    args: Sequence[object],
    *,
    attrs: Mapping[str, object] | None = None,
) -> NNTensors:
    """The value of a function of tensor expressions."""
    exprs = [unwrap_nested(arg) for arg in args]
    call = current_builder().call_te(
        tensor_expr_func, *exprs, primfunc_name_hint=name_hint, primfunc_attrs=attrs
    )
    return wrap_nested(current_builder().emit(call), name_hint)


def tensor_ir_op(
    func: PrimFunc, name_hint: str, args: BlockArguments, out: SeveralTensors
) -> NNTensors:
    """The value of a function of blocks; `out` has tensors of the shapes of its results."""
    call_args, sizes = _tensor_ir_args(args)
    name = current_builder().add_func(func, name_hint)
    call = R.call_tir(name, call_args, _infos_of(out), tir_vars=sizes)
    return wrap_nested(current_builder().emit(call), name_hint)


def tensor_ir_inplace_op(
    func: PrimFunc,
    name_hint: str,
    args: BlockArguments,
    inplace_indices: IntOrInts,
    out: SeveralTensors,
) -> NNTensors:
    """The value of a function of blocks that writes its results to some of its arguments."""
    call_args, sizes = _tensor_ir_args(args)
    name = current_builder().add_func(func, name_hint)
    call = R.call_tir_inplace(name, call_args, inplace_indices, _infos_of(out), tir_vars=sizes)
    return wrap_nested(current_builder().emit(call), name_hint)


def _tensor_ir_args(args: BlockArguments) -> tuple[Tuple, ShapeExpr | None]:
    """The tensors of arguments, and the numbers after them."""
    arguments = [args] if isinstance(args, NNTensor) else list(args)
    tensors = [argument._expr for argument in arguments if isinstance(argument, NNTensor)]
    numbers = [argument for argument in arguments if not isinstance(argument, NNTensor)]
    for number in numbers:
        if not isinstance(number, int | Expr):
            raise GraphError(
                f"cannot pass {repr_of(number)} to a function of blocks",
                f"it is {kind_of(number)}",
                "give tensors, then numbers",
            )
    return Tuple(tuple(tensors)), shape_expr(numbers) if numbers else None


def _infos_of(out: SeveralTensors) -> StructInfo | list[StructInfo]:
    if isinstance(out, NNTensor):
        return out._expr.struct_info
    infos = [tensor._expr.struct_info for tensor in out]
    return infos[0] if len(infos) == 1 else infos


def extern(name: str, args: Sequence[Argument], out: SeveralTensors) -> NNTensors:
    """The value of a registered function, which writes its results to given tensors.

    `out` has tensors of their shapes.
    """
    arguments = Tuple(tuple([_as_argument(arg) for arg in args]))
    return wrap_nested(R.call_dps_packed(name, arguments, _infos_of(out)), name.replace(".", "_"))


def _as_argument(value: Argument) -> GraphExpr:
    if isinstance(value, NNTensor):
        return value._expr
    if isinstance(value, str):
        return GraphString(value)
    return prim_value(value)


def debug_func(name: str, *args: Argument, _line_info: str | None = None) -> None:
    """Call a registered function with the place in the program, and values, when the model runs.

    It needs `debug=True` of the export.
    """
    exporter = Exporter.current()
    effect = None if exporter is None else exporter.io_effect
    if effect is None:
        raise GraphError(
            f"the model calls {name} for debugging",
            "its functions have no state of input and output",
            "give debug=True to export_tvm or jit",
        )
    location = user_place()
    line = f"{location.file}:{location.line}" if _line_info is None else _line_info
    call = R.call_pure_packed(
        "vm.builtin.invoke_debug_func",
        effect.state,
        GraphString(name),
        GraphString(line),
        *[_as_debug_argument(arg) for arg in args],
        sinfo_args=[ObjectStructInfo()],
    )
    effect.state = current_builder().emit(call, effect.state.name_hint)


def _as_debug_argument(value: Argument) -> GraphExpr:
    if type(value) is float:
        return PrimValue(ops.const(value, "float32"))
    return _as_argument(value)


def print_(tensor: NNTensor) -> None:
    """Print a tensor when the model runs; it needs `debug=True` of the export."""
    debug_func("vm.builtin.debug_print", tensor)


def _give_operators() -> None:
    """Give tensors their operators and methods."""

    def reshaped(x: NNTensor, *shape: Sizes) -> NNTensor:
        return reshape(x, as_list(shape))

    def permuted(x: NNTensor, *axes: Ints) -> NNTensor:
        return permute_dims(x, as_list(axes) or None)

    methods: dict[str, Callable[..., NNTensor]] = {
        "__add__": lambda x, other: add(x, other),
        "__radd__": lambda x, other: add(x, other),
        "__sub__": lambda x, other: subtract(x, other),
        "__rsub__": lambda x, other: subtract(other, x),
        "__mul__": lambda x, other: multiply(x, other),
        "__rmul__": lambda x, other: multiply(x, other),
        "__truediv__": lambda x, other: divide(x, other),
        "__rtruediv__": lambda x, other: divide(other, x),
        "__neg__": lambda x: negative(x),
        "__lt__": lambda x, other: less(x, other),
        "__le__": lambda x, other: less_equal(x, other),
        "__gt__": lambda x, other: greater(x, other),
        "__ge__": lambda x, other: greater_equal(x, other),
        "astype": lambda x, dtype: astype(x, dtype),
        "maximum": lambda x, other: maximum(x, other),
        "minimum": lambda x, other: minimum(x, other),
        "reshape": reshaped,
        "permute_dims": permuted,
        "repeat": lambda x, repeats, axis=None: repeat(x, repeats, axis),
    }
    for name, method in methods.items():
        setattr(NNTensor, name, method)
    setattr(NNTensor, "_advice_for", _advice_for)  # noqa: B010


def _advice_for(x: NNTensor, name: str) -> str:
    """The help for an attribute that a tensor lacks: where operations are."""
    del x
    return f"use nn.op.{name}(x)" if callable(globals().get(name)) else ""


_give_operators()

_tell_of_absent_names(__name__)
