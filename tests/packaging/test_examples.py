"""Every public name has an executed example in its docstring, or is in `WITHOUT`."""

from __future__ import annotations

from typing import Any

import pytest

import te_sched
from te_sched import errors, te, tir, topi
from te_sched.arith import Analyzer

OWNERS: dict[str, Any] = {
    "te_sched": te_sched,
    "errors": errors,
    "te": te,
    "tir": tir,
    "topi": topi,
    "topi.nn": topi.nn,
    "Analyzer": Analyzer,
    "Schedule": te.Schedule,
    "Stage": te.Stage,
    "Tensor": te.Tensor,
    "Operation": te.Operation,
}
# Names that have no example yet.
WITHOUT: dict[str, str] = {
    "te_sched": (
        "IRModule IterVar Range cl config cpu cuda device emulated_cuda ext_dev "
        "get_global_func gpu hexagon lower metal mtl opencl register_extern register_func "
        "rocm vpi vulkan"
    ),
    "tir": (
        "Add Allocate And AssertStmt AttrStmt Broadcast Buffer BufferLoad BufferRealize "
        "BufferStore Call CallEffectKind Cast CommReducer Div EQ Evaluate FloatImm FloorDiv "
        "FloorMod For ForKind GE GT IfThenElse IntImm IterVar LE LT Let LetStmt Max Min Mod "
        "Mul NE Not Or PointerType Prefetch PrimExpr PrimFunc ProducerLoad Ramp Range "
        "Reduce Select SeqStmt Shuffle SizeVar Stmt StringImm Sub Var While address_of "
        "call_cpacked call_extern call_intrin call_llvm_intrin call_llvm_pure_intrin "
        "call_packed call_pure_extern call_pure_intrin convert decl_buffer isnullptr "
        "q_multiply_shift ret tvm_access_ptr type_annotation vscale"
    ),
    "topi": (
        "InvalidShapeError abs acos acosh add adv_index all any arange argmax argmin "
        "argsort asin asinh atan atanh bitwise_and bitwise_not bitwise_or bitwise_xor "
        "broadcast_to cast ceil ceil_log2 clip collapse_sum concatenate const_vector cos "
        "cosh cumprod cumsum divide einsum elemwise_sum equal erf exp expand_dims "
        "expand_like eye fast_erf fast_exp fast_tanh flip floor floor_divide floor_mod full "
        "full_like gather gather_nd get_const_tuple greater greater_equal identity "
        "invert_permutation isfinite isinf isnan layout_transform left_shift less "
        "less_equal log log10 log2 logical_and logical_not logical_or logical_xor matmul "
        "matrix_set_diag max maximum meshgrid min minimum mod multiply ndarray_size "
        "negative not_equal one_hot power prod reinterpret repeat reshape reverse_sequence "
        "right_shift round rsqrt scanop scatter_elements scatter_nd searchsorted "
        "sequence_mask shape sigmoid sign sin sinh sliding_window sort sparse_to_dense "
        "split sqrt squeeze stack strided_set strided_slice subtract sum take tan tanh "
        "tensordot tile topk transpose trilu trunc unravel_index where"
    ),
    "topi.nn": (
        "adaptive_pool adaptive_pool1d adaptive_pool3d batch_matmul batch_norm "
        "batch_to_space_nd bias_add conv conv1d conv1d_ncw conv1d_nwc conv1d_transpose_ncw "
        "conv2d conv2d_NCHWc conv2d_hwcn conv2d_nchw conv2d_nhwc conv2d_transpose_nchw "
        "conv3d_ncdhw conv3d_ndhwc conv3d_transpose_ncdhw dense dense_pack depth_to_space "
        "depthwise_conv2d_NCHWc depthwise_conv2d_nchw depthwise_conv2d_nhwc dilate "
        "fast_softmax fifo_buffer flatten get_pad_tuple get_pad_tuple1d get_pad_tuple3d "
        "get_pad_tuple_generic global_pool group_conv1d_ncw group_conv1d_nwc "
        "group_conv1d_transpose_ncw group_conv2d_nchw group_conv2d_nhwc "
        "group_conv2d_transpose_nchw group_norm instance_norm layer_norm leaky_relu "
        "log_softmax lrn matmul mirror_pad nll_loss pad pool1d pool2d pool3d prelu relu "
        "rms_norm scale_shift_nchw scale_shift_nchwc scale_shift_nhwc softmax "
        "space_to_batch_nd space_to_depth unpack_NCHWc_to_nchw upsampling upsampling3d"
    ),
    "Analyzer": (
        "bind can_prove can_prove_equal can_prove_greater_equal can_prove_less "
        "canonical_simplify const_bounds constraint keep mark_nonnegative may_wrap "
        "modular_set rewrite_simplify simplify wraps"
    ),
    "Schedule": (
        "cache_read cache_write copy_from create_group diff members_of normalize readers_of "
        "reads records replace_operation rewired rfactor same_as stage_of"
    ),
    "Stage": (
        "bind compute_at compute_inline compute_root copy_from double_buffer env_threads "
        "fuse parallel pragma prefetch reorder rolling_buffer same_as set_scope "
        "set_store_predicate split storage_align tensorize tile transform_layout unroll "
        "vectorize"
    ),
    "Tensor": "astype",
}


def _public(owner: Any) -> dict[str, Any]:
    """The functions, classes and methods of a module or a class."""
    names = getattr(owner, "__all__", None) or dir(owner)
    found = {name: getattr(owner, name) for name in names if name[0] != "_"}
    of_modules = not isinstance(owner, type)
    return {
        name: value
        for name, value in found.items()
        if callable(value)
        and (not of_modules or getattr(value, "__module__", "").startswith("te_sched"))
        and (owner is not errors or (isinstance(value, type) and issubclass(value, Exception)))
    }


@pytest.mark.parametrize("label", OWNERS)
def test_public_names_have_examples(label: str) -> None:
    without = {
        name for name, one in _public(OWNERS[label]).items() if ">>> " not in (one.__doc__ or "")
    }
    assert without == set(WITHOUT.get(label, "").split())
