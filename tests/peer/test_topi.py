"""Operators of topi declare what TVM's topi declares: shapes, types, names, tags and programs."""

from __future__ import annotations

import types
from typing import Any

import pytest

tvm = pytest.importorskip("tvm")
pytest.importorskip("tvm.topi")

import te_sched  # noqa: E402
from te_sched import te, topi  # noqa: E402
from tests.peer.bridge import from_tvm  # noqa: E402

OURS = types.SimpleNamespace(te=te, topi=topi, lower=te_sched.lower)
THEIRS = types.SimpleNamespace(te=tvm.te, topi=tvm.topi, lower=tvm.lower)

SAME = """
topi.exp(A)
topi.tanh(A)
topi.sigmoid(A)
topi.rsqrt(A)
topi.erf(A)
topi.nn.relu(A)
topi.nn.relu(I)
topi.nn.leaky_relu(A, 0.1)
topi.nn.prelu(D, b1)
topi.nn.prelu(D, P(4,name='s'))
topi.clip(A, 0, 1)
topi.clip(I, 0.5, 3)
topi.abs(A)
topi.abs(I)
topi.negative(A)
topi.floor(A)
topi.floor(I)
topi.round(A)
topi.sign(A)
topi.sign(I)
topi.cast(A,'int32')
topi.cast(A,'float32')
topi.cast(A,'bool')
topi.identity(A)
topi.full((2,3),'float32',1.5)
topi.full((2,3),'int32',1.5)
topi.full_like(A, 2)
topi.elemwise_sum([A,A,A])
topi.isnan(A)
topi.isinf(A)
topi.isfinite(A)
topi.isnan(I)
topi.logical_not(b1)
topi.bitwise_not(I)
topi.left_shift(I,2)
topi.right_shift(I,I)
topi.reinterpret(A,'int32')
topi.tan(A)
topi.log2(A)
topi.log10(A)
topi.acosh(A)
topi.trunc(A)
topi.ceil(A)
topi.broadcast_to(B,(2,4,6))
topi.add(A,B)
topi.add(A,1)
topi.add(2.5,A)
topi.add(I,1)
topi.add(I,A)
topi.add(P(4,1),P(1,6,name='B'))
topi.subtract(A,B)
topi.multiply(A,B)
topi.divide(A,B)
topi.divide(I,2)
topi.floor_divide(I,I)
topi.floor_divide(A,B)
topi.mod(A,B)
topi.floor_mod(A,B)
topi.maximum(A,B)
topi.minimum(A,0)
topi.power(A,B)
topi.power(A,2)
topi.power(A,2.0)
topi.equal(A,B)
topi.not_equal(A,B)
topi.less(A,B)
topi.greater_equal(A,1)
topi.logical_and(b1,b1)
topi.logical_xor(b1,b1)
topi.logical_or(b1,b1)
topi.bitwise_and(I,I)
topi.bitwise_xor(I,I)
topi.bitwise_or(I,1)
A+B
A*2
2-A
-A
A/B
A.astype('int32')
topi.add(A, te.var('n'))
topi.sum(A)
topi.sum(A,axis=1)
topi.sum(A,axis=-1,keepdims=True)
topi.sum(D,axis=(1,3),keepdims=True)
topi.sum(D,axis=[0,2])
topi.max(A,axis=0)
topi.min(I,axis=0)
topi.prod(A,axis=0)
topi.all(b1)
topi.any(P(4,6,dtype='bool'),axis=1)
topi.argmax(A)
topi.argmax(A,axis=1)
topi.argmin(A,axis=0,keepdims=True)
topi.argmax(A,axis=1,select_last_index=True)
topi.argmax(D,axis=(1,2))
topi.sum(b1)
topi.matmul(P(3,4),P(4,5,name='B'))
topi.matmul(P(4,3),P(5,4,name='B'),True,True)
topi.tensordot(P(3,4,5),P(4,5,6,name='B'),2)
topi.tensordot(P(3,4,5),P(5,4,6,name='B'),((1,2),(1,0)))
topi.einsum('ij,jk->ik',P(3,4),P(4,5,name='B'))
topi.einsum('ij->ji',P(3,4))
topi.einsum('ii->i',P(4,4))
topi.einsum('bij,bjk',P(2,3,4),P(2,4,5,name='B'))
topi.transpose(A)
topi.transpose(D,(0,2,3,1))
topi.reshape(A,(3,8))
topi.concatenate([A,A],axis=0)
topi.concatenate([A,P(4,2,name='B')],axis=-1)
topi.stack([A,A],axis=0)
topi.stack([A,A],axis=-1)
topi.split(A,2,axis=1)
topi.split(A,[1,3],axis=1)
topi.expand_dims(A,1)
topi.expand_dims(A,-1,2)
topi.squeeze(P(1,4,1,6))
topi.squeeze(P(1,4,1,6),axis=2)
topi.squeeze(P(1,1),)
topi.strided_slice(A,[0,1],[4,5])
topi.strided_slice(A,[0,1],[4,6],[1,2])
topi.strided_slice(A,[3,5],[0,0],[-1,-2])
topi.strided_slice(A,[1],[3],[1],axes=[1])
topi.strided_slice(A,[0,1],[2,3],slice_mode='size')
topi.strided_slice(A,[0,-3],[100,100])
topi.take(A,P(3,dtype='int32',name='ind'))
topi.take(A,P(3,2,dtype='int32',name='ind'),axis=0)
topi.take(A,P(3,dtype='int32',name='ind'),axis=1,mode='wrap')
topi.take(A,P(3,dtype='int32',name='ind'),axis=1,mode='fast')
topi.take(P(2,3,4),P(2,5,dtype='int32',name='ind'),axis=1,batch_dims=1)
topi.gather(A,1,P(4,3,dtype='int64',name='ind'))
topi.gather_nd(A,P(2,5,dtype='int32',name='ind'))
topi.flip(A,0)
topi.flip(A,-1)
topi.repeat(A,2,0)
topi.repeat(A,3,-1)
topi.tile(A,(2,))
topi.tile(A,(2,1,3))
topi.where(P(4,6,dtype='bool',name='c'),A,A)
topi.where(P(6,dtype='bool',name='c'),A,B)
topi.where(I,A,B)
topi.arange(5)
topi.arange(1,10,2,dtype='int32')
topi.meshgrid([P(3,name='x'),P(4,name='y')],'ij')
topi.meshgrid([P(3,name='x'),P(4,name='y')],'xy')
topi.one_hot(P(3,dtype='int32',name='i'),te.const(1.0,'float32'),te.const(0.0,'float32'),5,-1,'float32')
topi.one_hot(P(3,2,dtype='int32',name='i'),1,0,5,0,'float32')
topi.eye(3)
topi.eye(3,4,1,'int32')
topi.shape(A)
topi.ndarray_size(A)
topi.trilu(P(4,4),te.const(1,'int32'),False)
topi.sequence_mask(P(5,3),P(3,dtype='int32',name='l'))
topi.expand_like(P(4,name='x'),P(4,6,name='y'),[1])
topi.nn.dense(P(3,4,name='x'),P(5,4,name='w'))
topi.nn.dense(P(3,4,name='x'),P(5,4,name='w'),P(5,name='b'))
topi.nn.dense(P(3,4,name='x',dtype='int8'),P(5,4,name='w',dtype='int8'),P(5,name='b',dtype='int32'),out_dtype='int32')
topi.nn.matmul(P(3,4,name='x'),P(4,5,name='w'))
topi.nn.matmul(P(4,3,name='x'),P(5,4,name='w'),None,None,True,True)
topi.nn.batch_matmul(P(2,3,4,name='x'),P(2,5,4,name='w'))
topi.nn.batch_matmul(P(1,3,4,name='x'),P(2,4,5,name='w'),transpose_b=False)
topi.nn.conv1d_ncw(P(1,3,8),P(5,3,3,name='w'),1,'SAME',1)
topi.nn.conv1d_ncw(P(1,3,8),P(5,3,3,name='w'),2,1,2)
topi.nn.conv1d_nwc(P(1,8,3),P(3,3,5,name='w'),1,'VALID',1)
topi.nn.conv1d(P(1,3,8),P(5,3,3,name='w'))
topi.nn.group_conv1d_ncw(P(1,4,8),P(6,2,3,name='w'),1,1,1,2)
topi.nn.conv2d_nchw(D,W,1,1,1)
topi.nn.conv2d_nchw(D,W,(2,1),(1,0,2,1),(1,2))
topi.nn.conv2d_nchw(D,W,1,0,1)
topi.nn.conv2d_nchw(D,W,1,'SAME',1)
topi.nn.conv2d_nchw(D,W,2,'SAME',1)
topi.nn.conv2d_nhwc(P(1,8,8,3),P(3,3,3,4,name='w'),1,'SAME',1)
topi.nn.conv2d_hwcn(P(8,8,3,2),P(3,3,3,4,name='w'),1,1,1)
topi.nn.conv2d(D,W,1,1,1,'NCHW')
topi.nn.conv2d(P(1,8,8,3),P(3,3,3,4,name='w'),1,1,1,'NHWC')
topi.nn.group_conv2d_nchw(D,P(6,2,3,3,name='w'),1,1,1,2)
topi.nn.group_conv2d_nhwc(P(1,8,8,4),P(3,3,2,6,name='w'),1,1,1,2)
topi.nn.depthwise_conv2d_nchw(D,P(4,2,3,3,name='w'),1,1,1)
topi.nn.depthwise_conv2d_nchw(D,P(4,1,3,3,name='w'),2,'SAME',2)
topi.nn.depthwise_conv2d_nhwc(P(1,8,8,4),P(3,3,4,2,name='w'),1,1,1)
topi.nn.depthwise_conv2d_nhwc(P(1,8,8,4),P(3,3,2,4,name='w'),1,1,1,kernel_layout='HWIO')
topi.nn.conv2d_transpose_nchw(D,P(4,3,3,3,name='w'),(2,2),(1,1),'float32',(1,1))
topi.nn.conv2d_transpose_nchw(D,P(4,3,3,3,name='w'),(1,1),0,'float32',(0,0))
topi.nn.conv1d_transpose_ncw(P(1,4,8),P(4,3,3,name='w'),(2,),(1,),'float32',(0,))
topi.nn.pool2d(D,(2,2),(2,2),(1,1),(0,0,0,0),'max')
topi.nn.pool2d(D,(3,3),(2,2),(1,1),(1,1,1,1),'max')
topi.nn.pool2d(D,(3,3),(2,2),(1,1),(1,1,1,1),'avg')
topi.nn.pool2d(D,(3,3),(2,2),(1,1),(1,1,1,1),'avg',count_include_pad=False)
topi.nn.pool2d(P(1,8,8,3),(3,3),(2,2),(2,2),(0,1,2,0),'max',layout='NHWC')
topi.nn.pool1d(P(1,3,8),(3,),(2,),(1,),(1,1),'avg')
topi.nn.pool3d(P(1,3,6,6,6),(3,3,3),(2,2,2),(1,1,1),(1,1,1,1,1,1),'max')
topi.nn.global_pool(D,'avg')
topi.nn.global_pool(D,'max')
topi.nn.global_pool(P(1,8,8,3),'max',layout='NHWC')
topi.nn.adaptive_pool(D,(1,1),'max')
topi.nn.pad(A,(1,2))
topi.nn.pad(A,(1,2),(0,1),pad_value=2.5)
topi.nn.pad(A,(0,0),(0,0))
topi.nn.pad(A,(0,1),(0,te.var('n')))
topi.nn.mirror_pad(A,(1,2),(1,1),'REFLECT')
topi.nn.mirror_pad(A,(1,2),(1,1),'SYMMETRIC')
topi.nn.dilate(A,(2,3))
topi.nn.dilate(A,(1,3))
topi.nn.flatten(D)
topi.nn.softmax(A)
topi.nn.softmax(A,axis=0)
topi.nn.softmax(D,axis=1)
topi.nn.log_softmax(A)
topi.nn.batch_norm(D,P(4,name='g'),P(4,name='b'),P(4,name='m'),P(4,name='v'))
topi.nn.batch_norm(P(3,4),P(4,name='g'),P(4,name='b'),P(4,name='m'),P(4,name='v'),1,1e-5,False,False)
topi.nn.scale_shift_nchw(D,P(4,name='s'),P(4,name='t'))
topi.nn.scale_shift_nhwc(P(1,8,8,3),P(3,name='s'),P(3,name='t'))
topi.nn.layer_norm(A,P(6,name='g'),P(6,name='b'),[1])
topi.nn.layer_norm(D,P(8,8,name='g'),P(8,8,name='b'),[2,3])
topi.nn.upsampling(D,2,2)
topi.nn.space_to_depth(D,2)
topi.nn.depth_to_space(D,2)
topi.nn.conv3d_ncdhw(P(1,2,5,5,5),P(3,2,3,3,3,name='w'),1,1,1,1)
topi.nn.adaptive_pool(D,(3,2),'avg')
topi.nn.adaptive_pool(D,(3,5),'max')
topi.nn.adaptive_pool1d(P(1,3,8),(3,),'avg')
topi.image.resize2d(D,(0.,0.,0.,0.),(16,5))
topi.image.resize2d(D,(0.,0.,0.,0.),(16,5),method='cubic',coordinate_transformation_mode='align_corners')
topi.image.resize2d(D,(.1,.2,.9,.8),(16,5),coordinate_transformation_mode='tf_crop_and_resize')
topi.image.resize2d(D,(0.,0.,0.,0.),(16,5),'NHWC','nearest_neighbor','asymmetric')
topi.image.resize3d(P(1,2,4,4,4),(0.,)*6,(8,3,4),method='nearest_neighbor')
"""

# Programs that differ, and compute the same: integers are not divided by themselves to 1 (they may
# be 0); indices are not stretched to tensors first; windows have other but equal extents; a
# constant has not passed through float32.
EQUIVALENT = """
topi.divide(I,I)
topi.mod(I,I)
topi.floor_mod(I,I)
topi.adv_index(A,[P(3,dtype='int32',name='i'),P(3,dtype='int32',name='j')])
topi.nn.pool2d(D,(3,3),(2,2),(1,1),(0,0,0,0),'avg',ceil_mode=True)
topi.nn.lrn(D,3)
"""


def evaluated(text: str, house: Any) -> list[Any]:
    """The tensors that an expression declares with te_sched or with TVM."""

    def tensor(*shape: int, dtype: str = "float32", name: str = "A") -> Any:
        return house.te.placeholder(shape, dtype, name)

    names = {
        "te": house.te,
        "topi": house.topi,
        "P": tensor,
        "A": tensor(4, 6),
        "B": tensor(6, name="B"),
        "D": tensor(2, 4, 8, 8),
        "I": tensor(4, 6, dtype="int32"),
        "W": tensor(4, 4, 3, 3, name="W"),
        "b1": tensor(4, dtype="bool", name="b1"),
    }
    found = eval(text, names)
    return [found] if isinstance(found, house.te.Tensor) else list(found)


def inputs_of(outputs: list[Any], house: Any) -> list[Any]:
    """The placeholders below the outputs, in the order of their first use."""
    found: dict[Any, None] = {}
    seen: set[Any] = set()
    stack = [out.op for out in reversed(outputs)]
    while stack:
        op = stack.pop()
        if op in seen:
            continue
        seen.add(op)
        if isinstance(op, house.te.PlaceholderOp):
            found[op.output(0)] = None
        stack += [tensor.op for tensor in reversed(list(op.input_tensors))]
    return list(found)


def summary(outputs: list[Any]) -> list[Any]:
    return [
        ([str(extent) for extent in out.shape], out.dtype, out.op.name, out.op.tag)
        for out in outputs
    ]


def lowered(outputs: list[Any], house: Any) -> Any:
    s = house.te.create_schedule([out.op for out in outputs])
    return house.lower(s, [*inputs_of(outputs, house), *outputs], simple_mode=True)


@pytest.mark.parametrize("text", (SAME.strip() + EQUIVALENT.rstrip()).splitlines())
def test_operator_declares_what_the_peer_declares(text: str) -> None:
    assert summary(evaluated(text, OURS)) == summary(evaluated(text, THEIRS))


@pytest.mark.parametrize("text", SAME.strip().splitlines())
def test_program_of_operator_is_that_of_the_peer(text: str) -> None:
    theirs = from_tvm(lowered(evaluated(text, THEIRS), THEIRS))
    assert str(lowered(evaluated(text, OURS), OURS)) == str(theirs)
