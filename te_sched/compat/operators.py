"""tvm.topi: operators that accept more than those of te_sched.topi."""

from __future__ import annotations

from te_sched import topi
from te_sched.signatures import checked
from te_sched.te import Tensor
from te_sched.topi.utils import Sizes, as_constant
from te_sched.topi.utils import prod as product

__all__ = ["reshape"]


@checked
def reshape(a: Tensor, newshape: Sizes) -> Tensor:
    """topi.reshape, also to a shape with fewer elements, which takes the first ones as TVM does.

    >>> A = te.placeholder((4, 8), name="A")
    >>> reshape(A, (3, 5)).shape
    [3, 5]
    """
    shape = list(newshape) if isinstance(newshape, list | tuple) else [newshape]
    given, wanted = as_constant(product(a.shape)), as_constant(product(shape))
    if given is not None and wanted is not None and 0 < wanted < given:
        a = topi.strided_slice(topi.reshape(a, (given,)), [0], [wanted])
    return topi.reshape(a, newshape)
