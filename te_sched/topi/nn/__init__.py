"""Neural network layers, with TVM's names."""

import sys

from te_sched import public_names
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.topi import utils as _utils
from te_sched.topi.nn.activation import leaky_relu as leaky_relu
from te_sched.topi.nn.activation import prelu as prelu
from te_sched.topi.nn.activation import relu as relu
from te_sched.topi.nn.blocked import conv2d_NCHWc as conv2d_NCHWc
from te_sched.topi.nn.blocked import dense_pack as dense_pack
from te_sched.topi.nn.blocked import depthwise_conv2d_NCHWc as depthwise_conv2d_NCHWc
from te_sched.topi.nn.blocked import unpack_NCHWc_to_nchw as unpack_NCHWc_to_nchw
from te_sched.topi.nn.conv import conv as conv
from te_sched.topi.nn.conv import conv1d as conv1d
from te_sched.topi.nn.conv import conv1d_ncw as conv1d_ncw
from te_sched.topi.nn.conv import conv1d_nwc as conv1d_nwc
from te_sched.topi.nn.conv import conv2d as conv2d
from te_sched.topi.nn.conv import conv2d_hwcn as conv2d_hwcn
from te_sched.topi.nn.conv import conv2d_nchw as conv2d_nchw
from te_sched.topi.nn.conv import conv2d_nhwc as conv2d_nhwc
from te_sched.topi.nn.conv import conv3d_ncdhw as conv3d_ncdhw
from te_sched.topi.nn.conv import conv3d_ndhwc as conv3d_ndhwc
from te_sched.topi.nn.conv import depthwise_conv2d_nchw as depthwise_conv2d_nchw
from te_sched.topi.nn.conv import depthwise_conv2d_nhwc as depthwise_conv2d_nhwc
from te_sched.topi.nn.conv import group_conv1d_ncw as group_conv1d_ncw
from te_sched.topi.nn.conv import group_conv1d_nwc as group_conv1d_nwc
from te_sched.topi.nn.conv import group_conv2d_nchw as group_conv2d_nchw
from te_sched.topi.nn.conv import group_conv2d_nhwc as group_conv2d_nhwc
from te_sched.topi.nn.conv_transpose import conv1d_transpose_ncw as conv1d_transpose_ncw
from te_sched.topi.nn.conv_transpose import conv2d_transpose_nchw as conv2d_transpose_nchw
from te_sched.topi.nn.conv_transpose import conv3d_transpose_ncdhw as conv3d_transpose_ncdhw
from te_sched.topi.nn.conv_transpose import group_conv1d_transpose_ncw as group_conv1d_transpose_ncw
from te_sched.topi.nn.conv_transpose import (
    group_conv2d_transpose_nchw as group_conv2d_transpose_nchw,
)
from te_sched.topi.nn.conv_transpose import (
    group_conv3d_transpose_ncdhw as group_conv3d_transpose_ncdhw,
)
from te_sched.topi.nn.dense import batch_matmul as batch_matmul
from te_sched.topi.nn.dense import bias_add as bias_add
from te_sched.topi.nn.dense import dense as dense
from te_sched.topi.nn.dense import matmul as matmul
from te_sched.topi.nn.extras import fifo_buffer as fifo_buffer
from te_sched.topi.nn.extras import group_norm as group_norm
from te_sched.topi.nn.extras import instance_norm as instance_norm
from te_sched.topi.nn.extras import nll_loss as nll_loss
from te_sched.topi.nn.extras import scale_shift_nchwc as scale_shift_nchwc
from te_sched.topi.nn.layout import depth_to_space as depth_to_space
from te_sched.topi.nn.layout import flatten as flatten
from te_sched.topi.nn.layout import space_to_depth as space_to_depth
from te_sched.topi.nn.layout import upsampling as upsampling
from te_sched.topi.nn.layout import upsampling3d as upsampling3d
from te_sched.topi.nn.normalization import batch_norm as batch_norm
from te_sched.topi.nn.normalization import layer_norm as layer_norm
from te_sched.topi.nn.normalization import lrn as lrn
from te_sched.topi.nn.normalization import rms_norm as rms_norm
from te_sched.topi.nn.normalization import scale_shift_nchw as scale_shift_nchw
from te_sched.topi.nn.normalization import scale_shift_nhwc as scale_shift_nhwc
from te_sched.topi.nn.padding import dilate as dilate
from te_sched.topi.nn.padding import get_pad_tuple as get_pad_tuple
from te_sched.topi.nn.padding import get_pad_tuple1d as get_pad_tuple1d
from te_sched.topi.nn.padding import get_pad_tuple3d as get_pad_tuple3d
from te_sched.topi.nn.padding import get_pad_tuple_generic as get_pad_tuple_generic
from te_sched.topi.nn.padding import mirror_pad as mirror_pad
from te_sched.topi.nn.padding import pad as pad
from te_sched.topi.nn.pooling import adaptive_pool as adaptive_pool
from te_sched.topi.nn.pooling import adaptive_pool1d as adaptive_pool1d
from te_sched.topi.nn.pooling import adaptive_pool3d as adaptive_pool3d
from te_sched.topi.nn.pooling import global_pool as global_pool
from te_sched.topi.nn.pooling import pool1d as pool1d
from te_sched.topi.nn.pooling import pool2d as pool2d
from te_sched.topi.nn.pooling import pool3d as pool3d
from te_sched.topi.nn.pooling_grad import pool_grad as pool_grad
from te_sched.topi.nn.softmax import fast_softmax as fast_softmax
from te_sched.topi.nn.softmax import log_softmax as log_softmax
from te_sched.topi.nn.softmax import softmax as softmax
from te_sched.topi.rearranging import batch_to_space_nd as batch_to_space_nd
from te_sched.topi.rearranging import space_to_batch_nd as space_to_batch_nd

_SELF = sys.modules[__name__]
public_names.list_names(_SELF)
_utils.check_functions(_SELF)

_tell_of_absent_names(__name__)
