"""Operators of neural networks: layers, activations, normalizations, losses, attention."""

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.relax.op.nn.activation import gelu as gelu
from te_sched.relax.op.nn.activation import gelu_tanh as gelu_tanh
from te_sched.relax.op.nn.activation import leakyrelu as leakyrelu
from te_sched.relax.op.nn.activation import log_softmax as log_softmax
from te_sched.relax.op.nn.activation import relu as relu
from te_sched.relax.op.nn.activation import silu as silu
from te_sched.relax.op.nn.activation import softmax as softmax
from te_sched.relax.op.nn.attention import attention as attention
from te_sched.relax.op.nn.attention import attention_var_len as attention_var_len
from te_sched.relax.op.nn.convolution import conv1d as conv1d
from te_sched.relax.op.nn.convolution import conv1d_transpose as conv1d_transpose
from te_sched.relax.op.nn.convolution import conv2d as conv2d
from te_sched.relax.op.nn.convolution import conv2d_transpose as conv2d_transpose
from te_sched.relax.op.nn.convolution import conv3d as conv3d
from te_sched.relax.op.nn.loss import cross_entropy_with_logits as cross_entropy_with_logits
from te_sched.relax.op.nn.loss import nll_loss as nll_loss
from te_sched.relax.op.nn.normalization import batch_norm as batch_norm
from te_sched.relax.op.nn.normalization import dropout as dropout
from te_sched.relax.op.nn.normalization import group_norm as group_norm
from te_sched.relax.op.nn.normalization import layer_norm as layer_norm
from te_sched.relax.op.nn.normalization import rms_norm as rms_norm
from te_sched.relax.op.nn.padding import pad as pad
from te_sched.relax.op.nn.pooling import adaptive_avg_pool1d as adaptive_avg_pool1d
from te_sched.relax.op.nn.pooling import adaptive_avg_pool2d as adaptive_avg_pool2d
from te_sched.relax.op.nn.pooling import adaptive_avg_pool3d as adaptive_avg_pool3d
from te_sched.relax.op.nn.pooling import avg_pool1d as avg_pool1d
from te_sched.relax.op.nn.pooling import avg_pool2d as avg_pool2d
from te_sched.relax.op.nn.pooling import avg_pool3d as avg_pool3d
from te_sched.relax.op.nn.pooling import max_pool1d as max_pool1d
from te_sched.relax.op.nn.pooling import max_pool2d as max_pool2d
from te_sched.relax.op.nn.pooling import max_pool3d as max_pool3d

_tell_of_absent_names(__name__)
