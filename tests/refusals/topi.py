"""Refusals of topi."""

from __future__ import annotations

import numpy as np

from te_sched import te, topi
from te_sched.errors import DeclarationError
from tests.refusals.table import Case, enter

n = te.var("n")
S = te.placeholder((), name="S")
V = te.placeholder((8,), name="V")
M = te.placeholder((8, 8), name="M")
IMAGE = te.placeholder((1, 4, 8, 8), name="IMAGE")
VOLUME = te.placeholder((1, 4, 8, 8, 8), name="VOLUME")
WHERE = te.placeholder((8,), "int32", name="WHERE")
KERNEL = te.placeholder((3, 2, 3, 3), name="KERNEL")
NHWC = te.placeholder((1, 8, 8, 4), name="NHWC")
HWOI = te.placeholder((3, 3, 4, 1), name="HWOI")

ACTIONS = {
    "elemwise_sum": (lambda: topi.elemwise_sum([]), r"elemwise_sum needs at least one tensor"),
    "tensordot": (lambda: topi.tensordot(M, M, axes=((0, 1), (0,))), r"tensordot: invalid axes"),
    "groups": (
        lambda: topi.nn.group_conv2d_nchw(IMAGE, KERNEL, 1, 0, 1, 2),
        r"groups 2 does not divide 3, the number of output channels",
    ),
    "depthwise layout": (
        lambda: topi.nn.depthwise_conv2d_nhwc(NHWC, HWOI, 1, 0, 1, kernel_layout="OIHW"),
        r"unknown kernel_layout 'OIHW'",
    ),
    "upsampling": (
        lambda: topi.nn.upsampling(IMAGE, 2, 2, method="bilinear"),
        r"only nearest_neighbor of 4",
    ),
    "upsampling3d": (
        lambda: topi.nn.upsampling3d(VOLUME, 2, 2, 2, method="trilinear"),
        r"only nearest_neighbor of 5",
    ),
    "depth_to_space mode": (
        lambda: topi.nn.depth_to_space(IMAGE, 2, mode="XYZ"),
        r"depth_to_space: unknown mode 'XYZ'",
    ),
    "depth_to_space layout": (
        lambda: topi.nn.depth_to_space(IMAGE, 2, layout="CHWN"),
        r"depth_to_space: unknown layout 'CHWN'",
    ),
    "mirror_pad": (
        lambda: topi.nn.mirror_pad(M, (1, 1), mode="WRAP"),
        r"mirror_pad: unknown mode 'WRAP'",
    ),
    "dilate": (lambda: topi.nn.dilate(M, (2,)), r"dilate strides \(2,\)(.|\n)*tensor M \(decl"),
    "pool": (
        lambda: topi.nn.pool2d(IMAGE, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max", layout="NCXY"),
        r"layout 'NCXY' lacks",
    ),
    "axes twice": (lambda: topi.sum(M, axis=(0, 0)), r"repeat an axis"),
    "sum of a scalar": (lambda: topi.sum(S), r"it has no dimensions"),
    "reshape": (lambda: topi.reshape(M, (-1, -1)), r"more than one -1"),
    "slice mode": (
        lambda: topi.strided_slice(M, (0, 0), (4, 4), (1, 1), slice_mode="length"),
        r"unknown slice_mode 'length'",
    ),
    "standing slice": (
        lambda: topi.strided_slice(M, (0, 0), (4, 4), (0, 1)),
        r"strides must not be 0",
    ),
    "meshgrid": (lambda: topi.meshgrid([V, V], "yx"), r"unknown indexing 'yx'"),
    "sequence_mask": (lambda: topi.sequence_mask(V, V), r"cannot mask V along axis 0"),
    "no tensor": (
        lambda: topi.transform.take("x", WHERE),
        r"topi\.take needs a tensor, got 'x'(.|\n)*not a tensor",
    ),
    "no size": (lambda: topi.utils.get_const_tuple(iter(["x"])), r"'x' is not an integer"),
    "searchsorted": (lambda: topi.searchsorted(M, V), r"sequence has 2 dimensions, values have 1"),
    "tensordot of too many axes": (
        lambda: topi.tensordot(M, M, 3),
        r"tensordot cannot sum over 3 axes",
    ),
    "convolution": (
        lambda: topi.nn.conv(IMAGE, KERNEL, 1, 0, 1, 1, data_layout="XYZ"),
        r"unknown data_layout 'XYZ'",
    ),
    "layout of a kernel": (
        lambda: topi.nn.conv(IMAGE, KERNEL, 1, 0, 1, 1, "NCHW", kernel_layout="OIXX"),
        r"invalid kernel_layout 'OIXX'",
    ),
    "strided_set": (
        lambda: topi.strided_set(M, M, [0] * 3, [1] * 3),
        r"3 bounds and strides \(\) do not fit M of 2 dim",
    ),
    "matrix_set_diag": (
        lambda: topi.matrix_set_diag(V, V),
        r"diagonal of 1 dimensions does not fit V of 1",
    ),
    "collapse_sum": (lambda: topi.collapse_sum(V, (1, 1)), r"cannot add dimensions to V: \(1, 1\)"),
    "blocks": (
        lambda: topi.nn.space_to_batch_nd(V, [2, 2], [0, 0], [0, 0]),
        r"space_to_batch_nd: 2 blocks do not fit V of rank 1",
    ),
    "take": (lambda: topi.take(M, WHERE, 0, batch_dims=2), r"axis 0 cannot have batch_dims=2"),
    "gather_nd": (
        lambda: topi.gather_nd(M, te.placeholder((0, 3), "int32", name="W")),
        r"indices of shape \(0, 3\)",
    ),
    "adv_index": (lambda: topi.adv_index(V, [WHERE, WHERE]), r"adv_index has 2 index tensors"),
    "const_vector": (
        lambda: topi.utils.const_vector(np.zeros((2, 2))),
        r"got shape \(2, 2\)",
    ),
}
CASES: dict[str, Case] = {
    name: (action, DeclarationError, match) for name, (action, match) in ACTIONS.items()
}

enter("topi", CASES)
