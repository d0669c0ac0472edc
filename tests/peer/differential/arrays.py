"""Arrays for random programs, and comparison of results with numpy's.

Must not know an implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.golden import execution
from tests.peer.differential.program import ANY

TOLERANCE = {2: 3e-2, 4: 2e-4, 8: 1e-9}


def arrays_of(module: Any, args: Sequence[Any]) -> list[np.ndarray]:
    """Random inputs, and outputs with a value that no program computes, in order of `args`."""
    generator = np.random.default_rng(0)
    inputs, _ = execution.inputs_and_outputs(args)
    sizes, below = getattr(module, "sizes", {}), getattr(module, "below", {})
    found = []
    for arg in args:
        extents = tuple(int(eval(str(extent), {}, dict(sizes))) for extent in arg.shape)
        dtype = np.dtype(arg.dtype)
        if not is_in(arg, inputs):
            filler = {"f": np.nan, "b": True}.get(dtype.kind) or np.iinfo(dtype).max
            found.append(np.full(extents, filler, dtype))
        elif dtype.kind == "f":
            found.append(generator.uniform(-2.0, 2.0, extents).astype(dtype))
        elif below.get(arg.op.name) == ANY:
            found.append(extremes(generator, extents, dtype))
        else:
            limit = below.get(arg.op.name, 2 if dtype.kind == "b" else 8)
            found.append(generator.integers(0, limit, extents).astype(dtype))
    return found


def extremes(generator: np.random.Generator, shape: Any, dtype: Any) -> np.ndarray:
    """Integers of all magnitudes, two thirds of them near 0 or a limit of a type."""
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    ends = [0, *(sign * (1 << bits) for bits in (7, 8, 15, 16, 31, 32, 62) for sign in (-1, 1))]
    near = [end + step for end in (low, high, *ends) for step in range(-3, 4)]
    chosen = np.array([one for one in near if low <= one <= high], dtype)
    found = generator.integers(low, high, shape, dtype, endpoint=True)
    return np.where(generator.random(shape) < 0.67, generator.choice(chosen, shape), found)


def is_in(tensor: Any, tensors: Sequence[Any]) -> bool:
    """Whether an object is in a list, by identity."""
    return any(tensor is other for other in tensors)


def coarsest_float(schedule: Any) -> int:
    """The size in bytes of the least precise floats of a program."""
    dtypes = [np.dtype(stage.op.output(0).dtype) for stage in schedule.stages]
    return min((dtype.itemsize for dtype in dtypes if dtype.kind == "f"), default=8)


def difference(
    name: str,
    result: np.ndarray,
    expected: np.ndarray,
    precision: int,
    largest: float = 0.0,
    step: int = 0,
) -> str:
    """The difference of a result from the expected one, or "". `largest` is the magnitude of
    intermediate terms that may have cancelled, `step` what integers may differ by.
    """
    if result.shape != expected.shape:
        return f"{name} has shape {result.shape}, not {expected.shape}"
    if result.dtype.kind != "f":
        wrong = result != expected
        if step and result.dtype != bool:
            wrong &= np.abs(result.astype("int64") - expected.astype("int64")) > step
    else:
        scale = float(np.max(np.abs(expected), initial=1e-30))
        near = TOLERANCE[precision]
        rounding = 32 * 2.0 ** -{2: 11, 4: 24, 8: 53}[precision] * largest
        least = max(near * scale, rounding)
        wrong = ~np.isclose(result, expected, rtol=near, atol=least, equal_nan=True)
    count = int(np.count_nonzero(wrong))
    return f"{count} of {wrong.size} elements of {name} are wrong" if count else ""
