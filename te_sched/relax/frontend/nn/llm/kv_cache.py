"""`PagedKVCache`: keys and values of many sequences in pages, as a value of a model.

def create_cache(self, max_batch_size, max_total_seq_len, prefill_chunk_size, page_size):
    return TIRPagedKVCache(
        max_batch_size=max_batch_size, ..., rope_mode=RopeMode.NORMAL, dtype="float32")

def decode(self, x, cache: PagedKVCache):
    ... cache.attention_with_fused_qkv(layer, qkv, heads) ...

Between calls, vm.builtin.kv_state_add_sequence, kv_state_begin_forward and others say which
sequences the tokens belong to. Must not know how kernels compute.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Annotated

import numpy as np

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.codegen.target import Target, as_target
from te_sched.errors import GraphError, GraphTypeError, repr_of
from te_sched.ir.expr import IntImm
from te_sched.ir.graph import DataTypeImm, GraphExpr, PrimValue
from te_sched.ir.struct_info import ObjectStructInfo, TensorStructInfo
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.nn.core import NNObject, NNTensor, current_builder, wrap_nested
from te_sched.relax.frontend.nn.llm.attention_kernels import (
    KernelSizes,
    append_kernel,
    attention_kernel,
)
from te_sched.relax.frontend.nn.llm.position_embedding import rotary_frequencies
from te_sched.relax.frontend.nn.op import reshape
from te_sched.relax.frontend.tensors import Size, prim_value, shape_expr
from te_sched.relax.vm.paged_cache import RopeMode as RopeMode
from te_sched.signatures import checked_as

_DTYPES = ("float32", "float16")


class AttnKind(IntEnum):
    """The kind of attention of a layer; te_sched has that of several heads."""

    MHA = 0
    MLA = 1


class PagedKVCache(NNObject):
    """A paged cache as a model sees it; arguments of methods are `spec.Object(PagedKVCache)`."""

    @checked_as(GraphTypeError)
    def attention_with_fused_qkv(
        self,
        layer_id: int,
        qkv: NNTensor,
        num_qo_heads: int,
        attn_score_scaling_factor: float = 1.0,
        *,
        sm_scale: float | None = None,
    ) -> NNTensor:
        """Append the keys and values of tokens to their sequences, and compute causal attention.

        Parameters
        ----------
        qkv : [batch, tokens, heads of queries, of keys and of values, head_dim].
        attn_score_scaling_factor : scores are multiplied by it / sqrt(head_dim).
        sm_scale : in place of this product, as TVM 0.20 has it.

        Returns
        -------
        [batch, tokens, heads of queries, head_dim]
        """
        if qkv.ndim != 4:
            raise GraphError(
                f"qkv is {qkv!r}, of {qkv.ndim} dimensions",
                "a cache computes attention of 4 dimensions: batch, tokens, heads, head_dim",
                "reshape it: op.reshape(qkv, (batch, tokens, heads, head_dim))",
            )
        batch, count, heads, size = qkv.shape
        _check_layer(layer_id, num_qo_heads, heads)
        factor = attn_score_scaling_factor
        if sm_scale is not None:
            factor = sm_scale * _fixed(size, "head_dim") ** 0.5
        rows = reshape(qkv, (batch * count, heads, size))
        info = TensorStructInfo((batch * count, num_qo_heads, size), qkv.dtype)
        call = R.call_dps_packed(
            "vm.builtin.attention_kv_cache_attention_with_fused_qkv",
            [self._expr, prim_value(layer_id), prim_value(float(factor)), rows._expr],
            out_sinfo=info,
        )
        output: NNTensor = wrap_nested(call, "attention")
        return reshape(output, (batch, count, num_qo_heads, size))

    @checked_as(GraphTypeError)
    def get_query_positions(self, total_length: Size) -> NNTensor:
        """The position of each token of a forward in its sequence, as int32."""
        call = R.call_pure_packed(
            "vm.builtin.attention_kv_cache_get_query_positions",
            self._expr,
            sinfo_args=TensorStructInfo((total_length,), "int32"),
        )
        positions: NNTensor = wrap_nested(call, "query_positions")
        return positions


TargetLike = Annotated["Target | str | None", "what te_sched.build takes"]


class TIRPagedKVCache(PagedKVCache):
    """A new paged cache, in the function that makes it; its kernels are functions of the module.

    Parameters
    ----------
    max_batch_size : the most sequences of a forward.
    max_total_seq_len : the tokens of all sequences, for which the pool has pages.
    prefill_chunk_size : the most tokens of a forward.
    page_size : the tokens of a page; its memory is for a multiple of 16.
    support_sliding_window : 1 if sequences may have sliding windows.
    num_hidden_layers, num_attention_heads, num_key_value_heads : of the model.
    head_dim : the size of a head; TVM 0.20 has it as qk_head_dim and v_head_dim.
    rope_mode : whether positions are rotated into keys before they are stored (NORMAL), when
        they are read (INLINE), or not at all (NONE).
    rope_scale, rope_theta, rope_scaling, rotary_dim : the angles, see `rotary_frequencies`.
    dtype : of keys and values: float32 or float16.
    target : one of a processor; None is the one of `with target:`, if there is one.
    layer_partition, enable_disaggregation, mla_original_qk_head_dim, mla_original_v_head_dim :
        accepted as TVM does.
    """

    def __init__(
        self,
        *,
        max_batch_size: Size,
        max_total_seq_len: Size,
        prefill_chunk_size: Size,
        page_size: Size,
        support_sliding_window: Size = 0,
        num_hidden_layers: int,
        num_attention_heads: int,
        num_key_value_heads: int,
        head_dim: int | None = None,
        qk_head_dim: int | None = None,
        v_head_dim: int | None = None,
        rope_mode: int = RopeMode.NONE,
        rope_scale: float = 1.0,
        rope_theta: float = 10000.0,
        rope_scaling: Mapping[str, object] | None = None,
        rope_ext_factors: GraphExpr | None = None,
        rotary_dim: int | None = None,
        dtype: str = "float32",
        target: TargetLike = None,
        attn_kind: str = "mha",
        layer_partition: GraphExpr | None = None,
        enable_disaggregation: bool = False,
        mla_original_qk_head_dim: int = 0,
        mla_original_v_head_dim: int = 0,
        name: str = "paged_kv_cache",
    ) -> None:
        del layer_partition, mla_original_qk_head_dim, mla_original_v_head_dim
        size = _head_size(head_dim, qk_head_dim, v_head_dim)
        rotated = size if rotary_dim is None else rotary_dim
        mode = _mode(rope_mode)
        heads = (num_attention_heads, num_key_value_heads)
        _check_kind(attn_kind, enable_disaggregation, rope_ext_factors, target)
        _check_sizes(num_hidden_layers, heads, size, rotated, dtype)
        frequencies = np.zeros(1, np.float32)
        if mode != RopeMode.NONE:
            frequencies = rotary_frequencies(rotated, rope_theta, rope_scale, rope_scaling)
        kernels = KernelSizes(*heads, size, rotated, dtype, mode)
        builder = current_builder()
        capacity = [max_batch_size, max_total_seq_len, prefill_chunk_size, page_size]
        call = R.call_pure_packed(
            "vm.builtin.paged_attention_kv_cache_create",
            shape_expr([*capacity, support_sliding_window]),
            shape_expr([num_hidden_layers, *heads, size]),
            prim_value(int(mode)),
            const(frequencies),
            DataTypeImm(dtype),
            builder.add_func(append_kernel(kernels), "paged_kv_cache_append"),
            builder.add_func(attention_kernel(kernels), "paged_kv_cache_attention"),
            sinfo_args=ObjectStructInfo(),
        )
        super().__init__(_expr=call, _name=name)


def _check_layer(layer: int, query_heads: int, heads: Size) -> None:
    if layer < 0:
        raise GraphError(
            f"attention is of layer {layer}", "layers are numbered from 0 on", "give such a number"
        )
    others = heads - query_heads if isinstance(heads, int) else 2
    if query_heads < 1 or others < 2 or others % 2:
        raise GraphError(
            f"qkv has {heads} heads, of which {query_heads} are of queries",
            "the others are of keys and values, as many of each",
            "give the number of heads of queries: num_attention_heads of the cache",
        )


def _fixed(size: Size, name: str) -> int:
    if isinstance(size, IntImm):
        return size.value
    if isinstance(size, int):
        return size
    raise GraphError(
        f"{name} is {size}, expected an int", "kernels are compiled for it", "give an int"
    )


def _mode(value: int) -> RopeMode:
    if value in list(RopeMode):
        return RopeMode(value)
    raise GraphError(
        f"rope_mode is {repr_of(value)}, expected a RopeMode",
        "it says where positions are rotated into queries and keys",
        f"use one of {', '.join(str(int(mode)) + ' ' + mode.name for mode in RopeMode)}",
    )


def _head_size(head_dim: int | None, keys: int | None, values: int | None) -> int:
    sizes = {size for size in (head_dim, keys, values) if size is not None}
    if len(sizes) == 1:
        return sizes.pop()
    names = ", ".join(map(str, sorted(sizes))) or "none"
    raise GraphError(
        f"a cache has heads of one size, not of {names}",
        f"head_dim={head_dim}, qk_head_dim={keys}, v_head_dim={values}",
        "give head_dim, or qk_head_dim and v_head_dim that are equal",
    )


def _check_kind(
    kind: str, is_disaggregated: bool, factors: GraphExpr | None, target: TargetLike
) -> None:
    if str(kind).lower() != "mha" or is_disaggregated:
        raise GraphError(
            f"a cache has attn_kind={repr_of(kind)}, enable_disaggregation={is_disaggregated}",
            "te_sched has caches of attention of several heads, in one process",
            'give attn_kind="mha", without disaggregation',
        )
    is_zero = isinstance(factors, PrimValue) and isinstance(factors.value, IntImm)
    if factors is not None and not is_zero:
        raise GraphError(
            "a cache has rope_ext_factors",
            "te_sched has the angles of rotary_frequencies",
            "give relax.PrimValue(0), and rope_scaling",
        )
    chosen = Target.current() if target is None else as_target(target)
    if chosen is not None and chosen.kind != "llvm":
        raise GraphError(
            f"a paged cache is made for {chosen.kind}",
            "its kernels are for processors",
            'build the model for "llvm", or use nn.KVCache',
        )


def _check_sizes(layers: int, heads: tuple[int, int], size: int, rotated: int, dtype: str) -> None:
    if layers < 1 or size < 1:
        raise GraphError(
            f"a cache has num_hidden_layers={layers} and head_dim={size}",
            "its memory is for each layer and element",
            "give sizes of 1 or more",
        )
    if min(heads) < 1 or heads[0] % heads[1]:
        raise GraphError(
            f"a cache has {heads[0]} heads of queries and {heads[1]} of keys",
            "groups of queries share a head of keys",
            "give a number of heads of queries that is a multiple of those of keys",
        )
    if rotated > size:
        raise GraphError(
            f"{rotated} of {size} elements of a head are rotated",
            "pairs of its first elements are",
            "give a rotary_dim up to head_dim",
        )
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise GraphError(
            f"a paged cache has dtype {repr_of(dtype)}",
            "its kernels compute in float32",
            f"use one of {', '.join(_DTYPES)}",
        )


_tell_of_absent_names(__name__)
