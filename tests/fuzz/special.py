"""Cases of kind "special": operators of torch on NaN, infinities, zeros, denormals, limits and
small numbers of every float type, against torch.

A case is one of kind "models" whose inputs and parameters are such numbers. A result is right where
it is near what torch computes in the type of the inputs or in float64, relative to its size;
results that change with the last digits of inputs are not compared.
"""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np

from tests.fuzz import model_operators, models
from tests.fuzz.case import Case
from tests.peer.differential.program import Program

DTYPES = ("float32", "float32", "float64", "float16", "bfloat16")
# Relative errors that are allowed, of chains of operators.
TOLERANCES = {"float16": 2e-2, "bfloat16": 6e-2, "float32": 1e-4, "float64": 1e-9}
_DRAWN = model_operators
MAKERS = [
    *[_DRAWN._unary] * 8,
    *[_DRAWN._binary] * 6,
    *[_DRAWN._reduction] * 6,
    *[_DRAWN._scan] * 3,
    *[_DRAWN._softmax] * 2,
    *[_DRAWN._clamp] * 2,
    *[_DRAWN._pool] * 2,
    *(_DRAWN._where, _DRAWN._compared, _DRAWN._norm_function, _DRAWN._pad),
]


class _Generator(model_operators.Generator):
    """Draws lines for special values of one type."""

    makers = MAKERS

    def __init__(self, rng: random.Random, scope: dict[str, Any], dtype: str) -> None:
        super().__init__(rng, scope)
        self.dtype = dtype

    def of_rank(self, *ranks: int) -> str:
        return self.floats(lambda x: x.ndim in ranks)

    def parameter(self, shape: list[int], dtype: str = "float32") -> str:
        return self.new("p", self._special(shape))

    def input(self) -> str:
        rank = self.rng.choice((1, 1, 1, 2, 2, 3, 4))
        extents = (1, 2, 3, 5, 9) if rank > 1 else (9, 17, 33)
        if self.rng.random() < 0.03:
            extents = (0, 1, 2)
        return self.new("x", self._special([self.rng.choice(extents) for _ in range(rank)]))

    def _special(self, shape: list[int]) -> str:
        return f"special({shape}, '{self.dtype}', {self.rng.randrange(10**6)})"

    def check(self, value: Any, line: str) -> None:
        known = isinstance(value, self.torch.Tensor) and value.numel() <= model_operators.LARGEST
        if not known:
            raise model_operators.Unsuitable


def generate(rng: random.Random, number: int) -> Case:
    """A case of one or two operators."""
    import torch

    wanted, made, dtype = rng.choice((1, 1, 1, 2)), [], rng.choice(DTYPES)
    while not made:
        drawn = _Generator(rng, words(), dtype)
        with torch.no_grad():
            drawn.draw(rng.choice((1, 1, 2)), wanted)
        made = [name for name in drawn.tensors() if name[0] == "v"]
    program = Program(number, (), tuple(made[-4:]), tuple(drawn.steps))
    given = tuple(drawn.given)
    if any(one in line for line in drawn.steps for one in _ACCUMULATING):
        given = tuple([line.replace("special(", "moderate(") for line in given])
    if any(one in line for line in drawn.steps for one in _QUOTIENTS):
        given = tuple([line.replace("special(", "bounded(") for line in given])
    return Case("special", program, given, target="exported")


# Near the limits, their results depend on the order and on the type of partial results.
_ACCUMULATING = (
    "sum",
    "prod",
    "mean",
    "norm",
    "var",
    "std",
    "distance",
    "similarity",
    "avg",
    "lp_",
)
# torch rounds large quotients to infinity in vectors of them, and not elsewhere: the remainder of
# the largest float64 by 0.5, or of 1 by a denormal, is NaN among eight numbers, and 0.0 of one.
# F.hardswish multiplies before it divides.
_QUOTIENTS = ("remainder", "fmod", " % ", " // ", "floor", "hardswish")


def words() -> dict[str, Any]:
    """The names that lines use."""
    return models.words() | {"special": special, "moderate": moderate, "bounded": bounded}


def moderate(shape: list[int], dtype: str, seed: int) -> Any:
    """`special` without finite numbers near the limits of the type."""
    import torch

    made = special(shape, dtype, seed)
    size = made.double().abs()
    is_extreme = torch.isfinite(size) & (size != 0) & ((size > 1e3) | (size < 1e-4))
    return torch.where(is_extreme, torch.ones_like(made), made)


def bounded(shape: list[int], dtype: str, seed: int) -> Any:
    """`special` without the largest and the smallest finite numbers of the type."""
    import torch

    made = special(shape, dtype, seed)
    limits, size = torch.finfo(made.dtype), made.double().abs()
    is_extreme = torch.isfinite(made) & (size > limits.max / 8)
    is_extreme |= (size != 0) & (size < limits.tiny)
    return torch.where(is_extreme, torch.ones_like(made), made)


def special(shape: list[int], dtype: str, seed: int) -> Any:
    """A tensor of special numbers; some have hardly any NaN, which would hide the others."""
    import torch

    kind, rng = getattr(torch, dtype), random.Random(seed)
    limits = torch.finfo(kind)
    numbers = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-8, -1e-8, 1e-3, -7.0, 100.0, 30.0]
    numbers += [limits.tiny / 4, -limits.tiny / 4, limits.max, -limits.max]
    infinite = [float("inf"), -float("inf")]
    chosen = rng.choice(
        (numbers, numbers + infinite, [*numbers, *infinite, float("nan")], infinite, [-infinite[0]])
    )
    count = int(np.prod(shape))
    values = [rng.choice(chosen) for _ in range(count)]
    if count and rng.random() < 0.3:
        values[rng.randrange(count)] = float("nan")
    return torch.tensor(values, dtype=torch.float64).to(kind).reshape(shape)


# Judging


def problem(case: Case) -> tuple[str, str, str]:
    """The outcome of a case, the common part of such findings, and what is wrong."""
    lines = str(case.program.steps)
    is_sum = "log_softmax" in lines or "logsumexp" in lines  # of which one term is 1

    has_signs = (
        "copysign" in lines or "signbit" in lines
    )  # of NaN, too, which torch does not promise

    def difference(found: list[Any], model: Any, inputs: list[Any]) -> str:
        is_finite = all(bool(x.isfinite().all()) for x in inputs)
        if has_signs and not is_finite:
            return ""
        is_chain = len(case.program.steps) > 1
        return _difference(found, model, inputs, 8 if is_sum else 0, is_chain)

    return models.judged(case, words(), difference)


def _difference(
    found: list[Any], model: Any, inputs: list[Any], digits: int, is_chain: bool
) -> str:
    """The first wrong element. Of a chain of operators, those of which torch gives another one in
    float64 are not compared: they depend on how a value between them is rounded.
    """
    import torch

    right = models.eager(model, inputs)
    nudged = [models.eager(model, [_nudged(x, sign) for x in inputs]) for sign in (1, -1)]
    doubles = [x.double() if x.dtype.is_floating_point else x for x in inputs]
    try:
        wide = models.eager(copy.deepcopy(model).to(torch.float64), doubles)
    except RuntimeError:  # of types that do not go together
        wide = right
    if len(found) != len(right):
        return f"{len(found)} results instead of {len(right)}"
    for place, (one, exact) in enumerate(zip(found, right, strict=True)):
        kinds = [(str(array.dtype), tuple(array.shape)) for array in (one, models.array_of(exact))]
        if kinds[0] != kinds[1]:
            return f"result {place} is {kinds[0]} instead of {kinds[1]}"
        got, *accepted = [
            np.asarray(x).astype("float64")
            for x in (one, *[models.array_of(y[place]) for y in (right, wide, *nudged)])
        ]
        is_near = [_near(got, one, kinds[0][0], digits) for one in accepted[:2]]
        is_wrong = ~(is_near[0] | is_near[1])
        for other in accepted[1 if is_chain else 2 :]:  # results that depend on digits
            is_wrong &= _near(accepted[0], other, kinds[0][0], digits)
        if is_wrong.any():
            at = tuple(map(int, np.argwhere(is_wrong)[0]))
            return f"result {place} at {at} is {got[at]!r} instead of {accepted[0][at]!r}"
    return ""


def _nudged(x: Any, sign: int) -> Any:
    """A tensor with larger or smaller last digits."""
    import torch

    if not x.dtype.is_floating_point:
        return x
    return (x.double() * (1 + sign * 2 * torch.finfo(x.dtype).eps)).to(x.dtype)


def _near(a: Any, b: Any, dtype: str, digits: int = 0) -> Any:
    """Where two arrays are equal but for rounding, relative to their size, or to 1 in some of the
    last digits.
    """
    import torch

    if dtype not in TOLERANCES:
        return a == b
    limits = torch.finfo(getattr(torch, dtype))
    least = 4 * limits.tiny + digits * limits.eps
    return np.isclose(a, b, rtol=TOLERANCES[dtype], atol=least, equal_nan=True)


def script(case: Case) -> list[str]:
    """The lines of a script that reproduces a case."""
    return [line.replace("tests.fuzz.models", "tests.fuzz.special") for line in models.script(case)]
