"""`build` that also runs the module and compares it with the default schedule."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import te_sched
from te_sched import nd, te
from te_sched.ir.expr import IntImm, Var
from te_sched.te.operation import PlaceholderOp

_build = te_sched.build
_SIZE = 13  # of symbolic extents
_LARGEST = 2**24  # elements of arrays


def checked_build(inputs: Any, args: Any = None, target: Any = None, **options: Any) -> Any:
    """The module, after comparison of its outputs."""
    module = _build(inputs, args, target, **options)
    if isinstance(inputs, te.Schedule) and not options.get("binds") and _is_plain(args):
        plain = te.create_schedule([inputs[op].origin_op for op in inputs.outputs])
        is_gpu = str(target).startswith("cuda")
        device = te_sched.emulated_cuda(0) if is_gpu else te_sched.cpu(0)
        given = _outputs(module, args, device)
        wanted = _outputs(_build(plain, args), args, te_sched.cpu(0))
        for one, other in zip(given, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4)
    return module


def _is_plain(args: Any) -> bool:
    """Whether all symbolic extents may have the same value, and arrays are small."""
    shapes = [arg.shape for arg in args if not isinstance(arg, Var)]
    if not all(isinstance(extent, IntImm | Var) for shape in shapes for extent in shape):
        return False
    return all(math.prod(map(_extent, shape)) <= _LARGEST for shape in shapes)


def _extent(extent: IntImm | Var) -> int:
    return extent.value if isinstance(extent, IntImm) else _SIZE


def _outputs(module: Any, args: Any, device: Any) -> list[Any]:
    random = np.random.default_rng(0)
    values: list[Any] = []
    outputs = []
    for arg in args:
        if isinstance(arg, Var):
            values.append(_SIZE)
            continue
        shape = [_extent(one) for one in arg.shape]
        host = (random.random(shape) * 8).astype(arg.dtype)
        is_input = isinstance(arg, te.Tensor) and isinstance(arg.op, PlaceholderOp)
        values.append(nd.array(host if is_input else np.zeros_like(host), device))
        if not is_input:
            outputs.append(values[-1])
    module(*values)
    return [one.numpy() for one in outputs]
