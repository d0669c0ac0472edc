"""Dense tensors of torch in the processor's memory, read without DLPack, which takes torch 50 us.

All other tensors are read through DLPack, which knows why some of them cannot be. Must not import
torch: a program with a tensor has imported it.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from te_sched.ir import dtypes
from te_sched.runtime.dlpack import ArrayView

_NAMES: dict[Any, str | None] = {}  # of dtypes of torch; None if programs have no such elements


def view_of_tensor(value: Any) -> ArrayView | None:
    """The description of a tensor of torch; None of one that is not dense, not in the processor's
    memory, without elements, part of a computation of gradients, of a derived class, or of a dtype
    that programs do not have.
    """
    torch = sys.modules.get("torch")
    if torch is None or type(value) is not getattr(torch, "Tensor", None):
        return None
    is_plain = value.layout is torch.strided and value.is_cpu and not value.requires_grad
    if not is_plain or value.is_neg() or value.is_conj() or not value.data_ptr():
        return None
    if value.dtype not in _NAMES:
        spelled = str(value.dtype).removeprefix("torch.")
        is_known = dtypes.is_name(spelled) and dtypes.is_supported(spelled)
        _NAMES[value.dtype] = spelled if is_known else None
    name = _NAMES[value.dtype]
    if name is None:
        return None
    return ArrayView(name, tuple(value.shape), value.stride(), True, 1, 0, value.data_ptr())


class TensorMemory:
    """The memory of a tensor for numpy, which keeps the tensor; 16-bit floats without a name in
    numpy are their bits.
    """

    def __init__(self, tensor: Any, view: ArrayView) -> None:
        self._tensor = tensor
        kind = np.dtype("uint16" if view.dtype == "bfloat16" else view.dtype)
        self.__array_interface__ = {
            "version": 3,
            "typestr": kind.str,
            "shape": view.shape,
            "strides": tuple([kind.itemsize * stride for stride in view.strides or ()]),
            "data": (view.address, not view.writable),
        }
