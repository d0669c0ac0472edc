"""Layers of neural networks, with TVM's names."""

import sys

from te_sched.signatures import check_arguments
from te_sched.topi.nn.activation import (
    leaky_relu,
    prelu,
    relu,
)  # fmt: skip
from te_sched.topi.nn.blocked import (
    conv2d_NCHWc,
    dense_pack,
    depthwise_conv2d_NCHWc,
    unpack_NCHWc_to_nchw,
)  # fmt: skip
from te_sched.topi.nn.conv import (
    conv,
    conv1d,
    conv1d_ncw,
    conv1d_nwc,
    conv2d,
    conv2d_hwcn,
    conv2d_nchw,
    conv2d_nhwc,
    conv3d_ncdhw,
    conv3d_ndhwc,
    depthwise_conv2d_nchw,
    depthwise_conv2d_nhwc,
    group_conv1d_ncw,
    group_conv1d_nwc,
    group_conv2d_nchw,
    group_conv2d_nhwc,
)  # fmt: skip
from te_sched.topi.nn.conv_transpose import (
    conv1d_transpose_ncw,
    conv2d_transpose_nchw,
    conv3d_transpose_ncdhw,
    group_conv1d_transpose_ncw,
    group_conv2d_transpose_nchw,
)  # fmt: skip
from te_sched.topi.nn.dense import (
    batch_matmul,
    bias_add,
    dense,
    matmul,
)  # fmt: skip
from te_sched.topi.nn.extras import (
    fifo_buffer,
    group_norm,
    instance_norm,
    nll_loss,
    scale_shift_nchwc,
)  # fmt: skip
from te_sched.topi.nn.layout import (
    depth_to_space,
    flatten,
    space_to_depth,
    upsampling,
    upsampling3d,
)  # fmt: skip
from te_sched.topi.nn.normalization import (
    batch_norm,
    layer_norm,
    lrn,
    rms_norm,
    scale_shift_nchw,
    scale_shift_nhwc,
)  # fmt: skip
from te_sched.topi.nn.padding import (
    dilate,
    get_pad_tuple,
    get_pad_tuple1d,
    get_pad_tuple3d,
    get_pad_tuple_generic,
    mirror_pad,
    pad,
)  # fmt: skip
from te_sched.topi.nn.pooling import (
    adaptive_pool,
    adaptive_pool1d,
    adaptive_pool3d,
    global_pool,
    pool1d,
    pool2d,
    pool3d,
)  # fmt: skip
from te_sched.topi.nn.softmax import (
    fast_softmax,
    log_softmax,
    softmax,
)  # fmt: skip
from te_sched.topi.rearranging import batch_to_space_nd, space_to_batch_nd

__all__ = [
    "adaptive_pool",
    "adaptive_pool1d",
    "adaptive_pool3d",
    "batch_matmul",
    "batch_norm",
    "batch_to_space_nd",
    "bias_add",
    "conv",
    "conv1d",
    "conv1d_ncw",
    "conv1d_nwc",
    "conv1d_transpose_ncw",
    "conv2d",
    "conv2d_NCHWc",
    "conv2d_hwcn",
    "conv2d_nchw",
    "conv2d_nhwc",
    "conv2d_transpose_nchw",
    "conv3d_ncdhw",
    "conv3d_ndhwc",
    "conv3d_transpose_ncdhw",
    "dense",
    "dense_pack",
    "depth_to_space",
    "depthwise_conv2d_NCHWc",
    "depthwise_conv2d_nchw",
    "depthwise_conv2d_nhwc",
    "dilate",
    "fast_softmax",
    "fifo_buffer",
    "flatten",
    "get_pad_tuple",
    "get_pad_tuple1d",
    "get_pad_tuple3d",
    "get_pad_tuple_generic",
    "global_pool",
    "group_conv1d_ncw",
    "group_conv1d_nwc",
    "group_conv1d_transpose_ncw",
    "group_conv2d_nchw",
    "group_conv2d_nhwc",
    "group_conv2d_transpose_nchw",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "leaky_relu",
    "log_softmax",
    "lrn",
    "matmul",
    "mirror_pad",
    "nll_loss",
    "pad",
    "pool1d",
    "pool2d",
    "pool3d",
    "prelu",
    "relu",
    "rms_norm",
    "scale_shift_nchw",
    "scale_shift_nchwc",
    "scale_shift_nhwc",
    "softmax",
    "space_to_batch_nd",
    "space_to_depth",
    "unpack_NCHWc_to_nchw",
    "upsampling",
    "upsampling3d",
]  # fmt: skip

check_arguments(sys.modules[__name__], __all__)
