"""The usual layers, as modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import GraphError, did_you_mean, repr_of
from te_sched.ir.expr import Expr
from te_sched.relax.frontend.nn import op
from te_sched.relax.frontend.nn.core import (
    Ints,
    NNModule,
    NNModuleList,
    NNParameter,
    NNTensor,
    SizeOrName,
    Sizes,
)
from te_sched.relax.frontend.nn.effects import IOEffect as IOEffect
from te_sched.relax.frontend.nn.effects import KVCache as KVCache
from te_sched.relax.frontend.tensors import Size, several

Module = NNModule


class _Layer(NNModule):
    """A module that makes a tensor of tensors."""

    if TYPE_CHECKING:  # a call is one of forward

        def __call__(self, *args: object, **kwargs: object) -> NNTensor: ...


class Identity(_Layer):
    """x"""

    def forward(self, x: NNTensor) -> NNTensor:
        """The value."""
        return x


class ReLU(_Layer):
    """max(x, 0)"""

    def forward(self, x: NNTensor) -> NNTensor:
        """The value."""
        return op.relu(x)


class SiLU(_Layer):
    """x * sigmoid(x)"""

    def forward(self, x: NNTensor) -> NNTensor:
        """The value."""
        return op.silu(x)


class GELU(_Layer):
    """The Gaussian error linear unit."""

    def forward(self, x: NNTensor) -> NNTensor:
        """The value."""
        return op.gelu(x)


class Linear(_Layer):
    """x @ weight.T + bias; `out_dtype` is that of the product and the bias."""

    def __init__(
        self,
        in_features: SizeOrName,
        out_features: SizeOrName,
        bias: bool = True,
        dtype: str | None = None,
        out_dtype: str | None = None,
    ) -> None:
        self.in_features, self.out_features = in_features, out_features
        self.out_dtype = out_dtype
        self.weight = NNParameter((out_features, in_features), dtype)
        self.bias = (
            NNParameter((out_features,), dtype if out_dtype is None else out_dtype)
            if bias
            else None
        )

    def forward(self, x: NNTensor) -> NNTensor:
        """The value."""
        weight = op.permute_dims(self.weight)
        y = op.matmul(x, weight, out_dtype=self.out_dtype)
        return y if self.bias is None else op.add(y, self.bias)

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype; that of the bias only if the product has no dtype of its own."""
        self.weight.to(dtype)
        if self.bias is not None and self.out_dtype is None:
            self.bias.to(dtype)


class _Convolution(_Layer):
    """What convolutions share: weight, bias, and their settings."""

    dimensions = 1

    def __init__(
        self,
        in_channels: SizeOrName,
        out_channels: SizeOrName,
        kernel_size: Ints,
        stride: Ints = 1,
        padding: Ints = 0,
        dilation: Ints = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
        data_layout: str | None = None,
    ) -> None:
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = several(kernel_size, self.dimensions)
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.data_layout = data_layout or "NC" + "DHW"[-self.dimensions :]
        self.weight = NNParameter(self.weight_shape(), dtype)
        self.bias = NNParameter((out_channels,), dtype) if bias else None

    def weight_shape(self) -> tuple[SizeOrName, ...]:
        """The shape of the weight."""
        return (self.out_channels, self.of_group(self.in_channels), *self.kernel_size)

    def of_group(self, channels: SizeOrName) -> SizeOrName:
        """The channels of a group."""
        if self.groups == 1:
            return channels
        if not isinstance(channels, int | Expr) or self.groups < 1:
            raise GraphError(
                f"cannot divide {repr_of(channels)} channels into {repr_of(self.groups)} groups",
                "a group has a number of channels",
                "give numbers, or groups=1",
            )
        return channels // self.groups


class Conv1D(_Convolution):
    """A convolution along one dimension, of [batch, channels, width]."""

    def forward(self, x: NNTensor) -> NNTensor:
        """The value."""
        args = (self.stride, self.padding, self.dilation, self.groups)
        layout = self.data_layout
        return op.conv1d(x, self.weight, self.bias, *args, data_layout=layout)


class Conv2D(_Convolution):
    """A convolution along two dimensions."""

    dimensions = 2

    def forward(self, x: NNTensor) -> NNTensor:
        """The value."""
        args = (self.stride, self.padding, self.dilation, self.groups, self.data_layout)
        return op.conv2d(x, self.weight, self.bias, *args)


class Conv3D(_Convolution):
    """A convolution along three dimensions."""

    dimensions = 3

    def forward(self, x: NNTensor) -> NNTensor:
        """The value."""
        args = (self.stride, self.padding, self.dilation, self.groups, self.data_layout)
        return op.conv3d(x, self.weight, self.bias, *args)


class ConvTranspose1D(_Convolution):
    """The transposed convolution along one dimension."""

    def __init__(
        self,
        in_channels: SizeOrName,
        out_channels: SizeOrName,
        kernel_size: Ints,
        stride: Ints = 1,
        padding: Ints = 0,
        output_padding: Ints = 0,
        dilation: Ints = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
    ) -> None:
        self.output_padding = output_padding
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, dtype
        )

    def weight_shape(self) -> tuple[SizeOrName, ...]:
        """The shape of the weight."""
        return (self.in_channels, self.of_group(self.out_channels), *self.kernel_size)

    def forward(self, x: NNTensor) -> NNTensor:
        """The value."""
        args = (self.stride, self.padding, self.output_padding, self.dilation, self.groups)
        return op.conv1d_transpose(x, self.weight, self.bias, *args)


class LayerNorm(_Layer):
    """Normalization over the last dimensions."""

    def __init__(
        self,
        normalized_shape: Sizes,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        dtype: str | None = None,
    ) -> None:
        self.normalized_shape, self.eps = normalized_shape, eps
        shape: list[Size] = several(normalized_shape, 1)
        self.weight = NNParameter(shape, dtype) if elementwise_affine else None
        self.bias = NNParameter(shape, dtype) if elementwise_affine else None

    def forward(self, x: NNTensor) -> NNTensor:
        """The value."""
        return op.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(_Layer):
    """Normalization by the mean of squares."""

    def __init__(
        self,
        hidden_size: SizeOrName,
        axes: Ints,
        epsilon: float = 1e-5,
        bias: bool = True,
        dtype: str | None = None,
    ) -> None:
        self.axes, self.epsilon = axes, epsilon
        self.weight = NNParameter((hidden_size,), dtype)
        self.bias = NNParameter((hidden_size,), dtype) if bias else None

    def forward(self, x: NNTensor) -> NNTensor:
        """The value."""
        y = op.rms_norm(x, self.weight, self.axes, self.epsilon)
        return y if self.bias is None else op.add(y, self.bias)


class GroupNorm(_Layer):
    """Normalization over groups of channels."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        dtype: str | None = None,
    ) -> None:
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = NNParameter((num_channels,), dtype) if affine else None
        self.bias = NNParameter((num_channels,), dtype) if affine else None

    def forward(
        self, x: NNTensor, channel_axis: int = 1, axes: Sequence[int] | None = None
    ) -> NNTensor:
        """The value."""
        args = (self.weight, self.bias, self.eps, channel_axis, axes)
        return op.group_norm(x, self.num_groups, *args)


class Embedding(_Layer):
    """The rows of a table at places."""

    def __init__(self, num: SizeOrName, dim: SizeOrName, dtype: str | None = None) -> None:
        self.num, self.dim = num, dim
        self.weight = NNParameter((num, dim), dtype)

    def forward(self, x: NNTensor) -> NNTensor:
        """The value."""
        if x.ndim == 1:
            return op.take(self.weight, x, axis=0)
        rows = op.take(self.weight, op.reshape(x, [-1]), axis=0)
        return op.reshape(rows, [*x.shape, self.weight.shape[1]])


_ACTIVATIONS = {"silu": SiLU, "gelu": GELU, "relu": ReLU}


def _activation(name: str | None) -> NNModule | None:
    if name is None:
        return None
    if name not in _ACTIVATIONS:
        raise GraphError(
            f"there is not an activation {name!r}",
            "",
            f"use one of {', '.join(_ACTIVATIONS)}{did_you_mean(name, _ACTIVATIONS)}",
        )
    return _ACTIVATIONS[name]()


class TimestepEmbedding(_Layer):
    """Two linear layers for the embedding of a time."""

    def __init__(
        self,
        in_channels: int,
        time_embed_dim: int,
        act_fn: str = "silu",
        out_dim: int | None = None,
        post_act_fn: str | None = None,
        cond_proj_dim: int | None = None,
    ) -> None:
        self.linear_1 = Linear(in_channels, time_embed_dim)
        self.cond_proj: Linear | None = None
        if cond_proj_dim is not None:
            self.cond_proj = Linear(cond_proj_dim, in_channels, bias=False)
        self.act = _activation(act_fn)
        self.linear_2 = Linear(time_embed_dim, out_dim or time_embed_dim)
        self.post_act = _activation(post_act_fn)

    def forward(self, sample: NNTensor, condition: NNTensor | None = None) -> NNTensor:
        """The value."""
        if condition is not None and self.cond_proj is not None:
            sample = op.add(sample, self.cond_proj(condition))
        sample = self.linear_1(sample)
        if self.act is not None:
            sample = self.act(sample)
        sample = self.linear_2(sample)
        return sample if self.post_act is None else self.post_act(sample)


class Timesteps(_Layer):
    """Sines and cosines of a time."""

    def __init__(
        self, num_channels: int, flip_sin_to_cos: bool = False, downscale_freq_shift: float = 1
    ) -> None:
        self.num_channels = num_channels
        self.flip_sin_to_cos, self.downscale_freq_shift = flip_sin_to_cos, downscale_freq_shift

    def forward(self, x: NNTensor) -> NNTensor:
        """The value."""
        args = (self.num_channels, self.flip_sin_to_cos, self.downscale_freq_shift)
        return op.get_timestep_embedding(x, *args)


class Attention(_Layer):
    """Attention of a diffusion model: [batch, length, query_dim]."""

    def __init__(
        self,
        query_dim: int,
        cross_attention_dim: int | None = None,
        heads: int = 8,
        dim_head: int = 64,
        bias: bool = False,
        norm_num_groups: int | None = None,
        out_bias: bool = True,
        scale_qk: bool = True,
    ) -> None:
        inner = heads * dim_head
        source = query_dim if cross_attention_dim is None else cross_attention_dim
        self.heads, self.scale_qk = heads, scale_qk
        self.to_q = Linear(query_dim, inner, bias=bias)
        self.to_k = Linear(source, inner, bias=bias)
        self.to_v = Linear(source, inner, bias=bias)
        has_norm = norm_num_groups is not None
        self.group_norm = GroupNorm(norm_num_groups or 1, query_dim) if has_norm else None
        self.to_out = NNModuleList([Linear(inner, query_dim, bias=out_bias)])

    def forward(
        self,
        hidden_states: NNTensor,
        encoder_hidden_states: NNTensor | None = None,
        attention_mask: NNTensor | None = None,
    ) -> NNTensor:
        """The value."""
        if self.group_norm is not None:
            hidden_states = self.group_norm(hidden_states, channel_axis=2, axes=[1])
        source = hidden_states if encoder_hidden_states is None else encoder_hidden_states
        query, key, value = self.to_q(hidden_states), self.to_k(source), self.to_v(source)
        size = query.shape[-1] // self.heads
        query, key, value = [
            op.reshape(tensor, [tensor.shape[0], -1, self.heads, size])
            for tensor in (query, key, value)
        ]
        scale = None if self.scale_qk else 1.0
        result = op.scaled_dot_product_attention(
            query, key, value, attention_mask, is_causal=False, scale=scale
        )
        result = op.reshape(result, [result.shape[0], -1, self.heads * size])
        return self.to_out(result)  # type: ignore[no-any-return]


_tell_of_absent_names(__name__)
