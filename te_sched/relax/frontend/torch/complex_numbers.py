"""Rows of operators of torch for complex numbers, which are pairs of tensors; Fourier transforms.

A graph has no complex dtype: a complex tensor of a model is its real and its imaginary part, as
long as the model makes it of real numbers and returns real ones. A Fourier transform is a product
with a constant matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from te_sched.ir.graph import Constant, GraphExpr
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend import float_functions
from te_sched.relax.frontend.tensors import Size, fixed_size
from te_sched.relax.frontend.torch.elementwise import dtype_kind, promoted
from te_sched.relax.frontend.torch.importer import COMPLEX_ROWS, ROWS, Importer, Rule, row
from te_sched.relax.frontend.torch.values import (
    PART_DTYPES,
    ComplexTensor,
    Operand,
    TorchDtype,
    Value,
    dtype_of,
)

Number = Operand | ComplexTensor


_R = TypeVar("_R", bound=Rule)


def _for_complex(*names: str) -> Callable[[_R], _R]:
    """Add a rule for calls of these names that have complex arguments."""

    def add(rule: _R) -> _R:
        COMPLEX_ROWS.update(dict.fromkeys(names, rule))
        return rule

    return add


def _real(imp: Importer, name: str, *args: object, **options: object) -> GraphExpr:
    """The result of the row of real numbers."""
    result = ROWS[name].rule(imp, *args, **options)
    assert isinstance(result, GraphExpr)
    return result


def _floats(imp: Importer, x: GraphExpr) -> GraphExpr:
    return x if dtype_kind(imp.dtype(x)) == 2 else imp.cast(x, "float32")


def _pair(imp: Importer, x: Number) -> tuple[Operand, Operand]:
    """The real and the imaginary part of a number or tensor."""
    if isinstance(x, ComplexTensor):
        return x
    if isinstance(x, complex):
        return x.real, x.imag
    return x, 0.0


# Pairs of real numbers, and their parts


@row("complex")
def _complex(imp: Importer, real: GraphExpr, imag: GraphExpr) -> Value:
    return _of_parts(imp, *promoted(imp, real, imag))


def _of_parts(imp: Importer, real: GraphExpr, imag: GraphExpr) -> ComplexTensor:
    """Parts of one shape."""
    shape = imp.shape(imp.emit(R.add(real, imag)))
    return ComplexTensor(imp.broadcast(real, shape), imp.broadcast(imag, shape))


@row("polar")
def _polar(imp: Importer, size: GraphExpr, angle: GraphExpr) -> Value:
    parts = [imp.emit(R.multiply(size, imp.emit(f(angle)))) for f in (R.cos, R.sin)]
    return ComplexTensor(*parts)


@row("view_as_complex", "view_as_complex_copy")
def _view_as_complex(imp: Importer, x: GraphExpr) -> Value:
    """A tensor of which the last dimension holds the two parts."""
    return ComplexTensor(*[imp.emit(R.take(x, const(n, "int64"), -1)) for n in (0, 1)])


@_for_complex("view_as_real", "view_as_real_copy")
def _view_as_real(imp: Importer, x: ComplexTensor) -> GraphExpr:
    return imp.emit(R.concat([imp.emit(R.expand_dims(part, -1)) for part in x], -1))


@row("view_as_real")
def _no_view(imp: Importer, x: GraphExpr) -> GraphExpr:
    return _view_as_real(imp, _of_parts(imp, x, imp.emit(R.zeros_like(x))))


@row("real")
def _real_part(imp: Importer, x: GraphExpr) -> GraphExpr:
    return x


@_for_complex("real")
def _real_part_of_pair(imp: Importer, x: ComplexTensor) -> GraphExpr:
    return x.real


@_for_complex("imag")
def _imag(imp: Importer, x: ComplexTensor) -> GraphExpr:
    return x.imag


ROWS["imag"] = ROWS["real"]


@_for_complex("abs", "absolute")
def _abs(imp: Importer, x: ComplexTensor) -> GraphExpr:
    return float_functions.hypot(imp.builder, *x)


@_for_complex("angle")
def _angle_of_pair(imp: Importer, x: ComplexTensor) -> GraphExpr:
    return float_functions.atan2(imp.builder, x.imag, x.real)


@row("angle")
def _angle(imp: Importer, x: GraphExpr) -> GraphExpr:
    """0 of real numbers, pi of negative ones; NaN stays."""
    x = _floats(imp, x)
    dtype = imp.dtype(x)
    is_below = imp.emit(R.less(x, const(0, dtype)))
    angle = imp.emit(R.where(is_below, const(math.pi, dtype), const(0, dtype)))
    return imp.emit(R.where(imp.emit(R.isnan(x)), x, angle))


# Arithmetic


@_for_complex("add")
def _add(imp: Importer, a: Number, b: Number, *, alpha: float = 1) -> ComplexTensor:
    return _each(imp, "add", a, b, alpha)


@_for_complex("sub", "subtract")
def _subtract(imp: Importer, a: Number, b: Number, *, alpha: float = 1) -> ComplexTensor:
    return _each(imp, "sub", a, b, alpha)


def _each(imp: Importer, name: str, a: Number, b: Number, alpha: float) -> ComplexTensor:
    pairs = zip(_pair(imp, a), _pair(imp, b), strict=True)
    return _of_parts(imp, *[_real(imp, name, *pair, alpha=alpha) for pair in pairs])


@_for_complex("mul", "multiply")
def _multiply(imp: Importer, a: Number, b: Number) -> ComplexTensor:
    if not isinstance(a, ComplexTensor):
        a, b = b, a
    assert isinstance(a, ComplexTensor)
    if not isinstance(b, ComplexTensor | complex):
        return ComplexTensor(*[_real(imp, "mul", part, b) for part in a])
    real, imag = _pair(imp, b)
    return ComplexTensor(
        _real(imp, "sub", _real(imp, "mul", a.real, real), _real(imp, "mul", a.imag, imag)),
        _real(imp, "add", _real(imp, "mul", a.real, imag), _real(imp, "mul", a.imag, real)),
    )


@_for_complex("div", "divide", "true_divide")
def _divide(imp: Importer, a: Number, b: Number) -> ComplexTensor:
    if not isinstance(b, ComplexTensor):
        assert isinstance(a, ComplexTensor)
        if isinstance(b, complex):
            return _multiply(imp, a, 1 / b)
        return ComplexTensor(*[_real(imp, "div", part, b) for part in a])
    product = _multiply(imp, _conj(imp, b), a)
    squares = [_real(imp, "mul", part, part) for part in b]
    total = _real(imp, "add", *squares)
    return ComplexTensor(*[_real(imp, "div", part, total) for part in product])


@_for_complex("neg", "negative")
def _negative(imp: Importer, x: ComplexTensor) -> ComplexTensor:
    return ComplexTensor(*[_real(imp, "neg", part) for part in x])


@_for_complex("conj", "_conj", "conj_physical", "_conj_physical")
def _conj(imp: Importer, x: ComplexTensor) -> ComplexTensor:
    return ComplexTensor(x.real, _real(imp, "neg", x.imag))


for _name in ("conj", "_conj", "conj_physical", "_conj_physical"):
    ROWS[_name] = ROWS["real"]


@_for_complex("to", "_to_copy", "type", "astype", "convert_element_type")
def _to(
    imp: Importer, x: ComplexTensor, *args: object, dtype: TorchDtype = None, **_: object
) -> Value:
    """Complex numbers of another size, or their real parts."""
    dtypes = [value for value in (dtype, *args) if str(value).startswith("torch.")]
    kind = dtype_of(dtypes[0]) if dtypes else "complex"
    if not kind.startswith("complex"):
        return imp.cast(x.real, kind)
    part = PART_DTYPES.get(kind, imp.dtype(x.real))
    return ComplexTensor(*[imp.cast(value, part) for value in x])


@_for_complex("exp")
def _exp(imp: Importer, x: ComplexTensor) -> ComplexTensor:
    size = imp.emit(R.exp(x.real))
    return ComplexTensor(*[imp.emit(R.multiply(size, imp.emit(f(x.imag)))) for f in (R.cos, R.sin)])


def _of_each_part(name: str) -> Rule:
    """The rule of an operator that moves or adds elements: it does so with both parts."""

    def rule(imp: Importer, *args: object, **options: object) -> Value:
        real, imag = [
            ROWS[name].rule(imp, *[_part_of(x, n) for x in args], **options) for n in (0, 1)
        ]
        assert isinstance(real, GraphExpr)
        assert isinstance(imag, GraphExpr)
        return ComplexTensor(real, imag)

    return rule


def _part_of(value: object, n: int) -> object:
    if isinstance(value, ComplexTensor):
        return value[n]
    return [_part_of(x, n) for x in value] if isinstance(value, list) else value


for _name in (
    *("reshape", "view", "_unsafe_view", "flatten", "unflatten", "permute", "transpose", "t"),
    *("unsqueeze", "squeeze", "expand", "repeat", "cat", "stack", "slice", "narrow", "select"),
    *("index_select", "gather", "index", "flip", "roll", "sum", "mean", "cumsum", "clone"),
    *("contiguous", "detach", "alias", "resolve_conj", "resolve_neg", "movedim", "mT", "expand_as"),
):
    COMPLEX_ROWS[_name] = _of_each_part(_name)


@_for_complex("matmul", "mm", "bmm", "mv", "dot", "__matmul__")
def _matmul(imp: Importer, a: Number, b: Number) -> ComplexTensor:
    if not isinstance(b, ComplexTensor):
        assert isinstance(a, ComplexTensor)
        return ComplexTensor(*[_real(imp, "matmul", part, b) for part in a])
    if not isinstance(a, ComplexTensor):
        return ComplexTensor(*[_real(imp, "matmul", a, part) for part in b])
    (p, q), (r, s) = a, b
    pr, qs, ps, qr = [_real(imp, "matmul", x, y) for x, y in ((p, r), (q, s), (p, s), (q, r))]
    return ComplexTensor(imp.emit(R.subtract(pr, qs)), imp.emit(R.add(ps, qr)))


# Fourier transforms


def _scale(count: int, normalization: int) -> float:
    """The factor of a transform of all dimensions: 1, or the root of 1 / count, or 1 / count."""
    return [1.0, 1 / math.sqrt(count), 1 / count][normalization]


def _waves(rows: int, columns: int, size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The cosines and sines of 2 * pi * row * column / size."""
    steps = np.outer(np.arange(rows), np.arange(columns)) % size  # exact angles
    angles = steps * (2 * math.pi / size)
    return np.cos(angles), np.sin(angles)


def _times(imp: Importer, x: GraphExpr, matrix: NDArray[np.float64], axis: int) -> GraphExpr:
    """The product of a dimension of a tensor and a matrix."""
    factor: Constant = const(matrix, imp.dtype(x))
    last = imp.info(x).ndim - 1
    if axis == last:
        return imp.emit(R.matmul(x, factor))
    order = list(range(last + 1))
    order[axis], order[last] = last, axis
    product = imp.emit(R.matmul(imp.emit(R.permute_dims(x, order)), factor))
    return imp.emit(R.permute_dims(product, order))


def _fixed(imp: Importer, x: GraphExpr, axis: int) -> int:
    return fixed_size(imp.shape(x)[axis], "transform")


@row("_fft_r2c")
def _fft_r2c(
    imp: Importer, x: GraphExpr, dim: Sequence[int], normalization: int, onesided: bool
) -> Value:
    """The transform of real numbers; its last dimension has only half of the frequencies."""
    x = _floats(imp, x)
    axes = [imp.axis(x, axis) for axis in dim]
    counts = [_fixed(imp, x, axis) for axis in axes]
    size = counts[-1]
    kept = size // 2 + 1 if onesided else size
    cosines, sines = _waves(size, kept, size)
    factor = _scale(math.prod(counts), normalization)
    parts = [_times(imp, x, matrix * factor, axes[-1]) for matrix in (cosines, -sines)]
    pair = ComplexTensor(*parts)
    for axis in axes[:-1]:
        pair = _transformed(imp, pair, axis, 1.0, True)
    return pair


def _transformed(
    imp: Importer, x: ComplexTensor, axis: int, factor: float, forward: bool
) -> ComplexTensor:
    """The transform of a dimension."""
    size = _fixed(imp, x.real, axis)
    cosines, sines = [matrix * factor for matrix in _waves(size, size, size)]
    sines = -sines if forward else sines
    a, b, c, d = [
        _times(imp, part, matrix, axis)
        for part, matrix in ((x.real, cosines), (x.imag, sines), (x.real, sines), (x.imag, cosines))
    ]
    return ComplexTensor(imp.emit(R.subtract(a, b)), imp.emit(R.add(c, d)))


@_for_complex("_fft_c2c")
def _fft_c2c(
    imp: Importer, x: ComplexTensor, dim: Sequence[int], normalization: int, forward: bool
) -> ComplexTensor:
    axes = [imp.axis(x.real, axis) for axis in dim]
    count = math.prod([_fixed(imp, x.real, axis) for axis in axes])
    factor = _scale(count, normalization)
    for n, axis in enumerate(axes):
        x = _transformed(imp, x, axis, factor if n == 0 else 1.0, forward)
    return x


@row("_fft_c2c")
def _fft_of_reals(
    imp: Importer, x: GraphExpr, dim: Sequence[int], normalization: int, forward: bool
) -> Value:
    pair = _of_parts(imp, x, imp.emit(R.zeros_like(x)))
    return _fft_c2c(imp, pair, dim, normalization, forward)


@_for_complex("_fft_c2r")
def _fft_c2r(
    imp: Importer, x: ComplexTensor, dim: Sequence[int], normalization: int, last_dim_size: int
) -> GraphExpr:
    """The real numbers of which half of the frequencies are given."""
    axes = [imp.axis(x.real, axis) for axis in dim]
    size, last = fixed_size(last_dim_size, "transform to"), axes[-1]
    counts = [_fixed(imp, x.real, axis) for axis in axes[:-1]]
    for axis in axes[:-1]:
        x = _transformed(imp, x, axis, 1.0, False)
    kept = size // 2 + 1
    factor = _scale(math.prod(counts) * size, normalization)
    cosines, sines = [matrix * factor for matrix in _waves(kept, size, size)]
    twice = np.full((kept, 1), 2.0)  # frequencies that stand for their mirrored ones, too
    twice[0] = 1
    if size % 2 == 0:
        twice[-1] = 1
    parts = [_first(imp, part, last, kept) for part in x]
    real = _times(imp, parts[0], cosines * twice, last)
    return imp.emit(R.subtract(real, _times(imp, parts[1], sines * twice, last)))


@row("_fft_c2r")
def _fft_c2r_of_reals(
    imp: Importer, x: GraphExpr, dim: Sequence[int], normalization: int, size: int
) -> Value:
    pair = _of_parts(imp, x, imp.emit(R.zeros_like(x)))
    return _fft_c2r(imp, pair, dim, normalization, size)


def _first(imp: Importer, x: GraphExpr, axis: int, count: Size) -> GraphExpr:
    return imp.emit(R.strided_slice(x, [axis], [0], [count], [1]))
