"""Padding and dilation, and the forms of padding arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from te_sched import te
from te_sched.errors import DeclarationError, repr_of
from te_sched.ir import ops
from te_sched.signatures import is_sequence
from te_sched.te.tensor import Tensor, tensor_label
from te_sched.topi.tag import INJECTIVE
from te_sched.topi.utils import (
    Number,
    Padding,
    Size,
    Sizes,
    as_constant,
    as_pair,
    axis_names,
    check_choice,
    check_same,
    check_tensor,
    compute,
    equal_const_int,
    get_const_tuple,
    simplify,
    tensor_of,
)

PAD_TAG = f"{INJECTIVE},pad"


def pad(
    data: Tensor,
    pad_before: Sequence[Size],
    pad_after: Sequence[Size] | None = None,
    pad_value: Number = 0.0,
    name: str = "PadInput",
    attrs: Mapping[str, Any] | None = None,
) -> Tensor:
    """The tensor padded with pad_value; pad_after is by default pad_before.

    >>> V = te.placeholder((8,), name="V")
    >>> topi.nn.pad(V, [1], [2]).op.body[0]
    T.if_then_else(i0 >= 1 and i0 < 9, V[i0 - 1], T.float32(0))
    """
    source = check_tensor(data, "nn.pad")
    before = _amounts(source, pad_before)
    after = before if pad_after is None else _amounts(source, pad_after)
    return padded(source, before, after, pad_value, name, PAD_TAG, "i", attrs)


def padded(
    data: Tensor,
    before: Sequence[Any],
    after: Sequence[Any],
    pad_value: Number,
    name: str,
    tag: str = PAD_TAG,
    prefix: str = "i",
    attrs: Mapping[str, Any] | None = None,
) -> Tensor:
    """`pad` with the name, tag and axis names of the calling operator."""
    border = ops.cast(data.dtype, ops.convert(pad_value))
    amounts = list(zip(before, data.shape, after, strict=True))
    shape = tuple([simplify(low + extent + high) for low, extent, high in amounts])

    def element(*i: Any) -> Any:
        inside, indices = [], []
        for index, (low, extent, high) in zip(i, amounts, strict=True):
            is_whole = as_constant(low) == 0 and as_constant(high) == 0
            indices.append(index if is_whole else index - low)
            inside += [] if is_whole else [index >= low, index < simplify(extent + low)]
        value = data(*indices)
        return te.if_then_else(te.all(*inside), value, border) if inside else value

    names = axis_names(len(shape), prefix)
    return compute(shape, element, name=name, tag=tag, attrs=attrs, varargs_names=names)


def _amounts(data: Tensor, widths: Sequence[Any]) -> tuple[Any, ...]:
    amounts = get_const_tuple(widths)
    if len(amounts) != data.ndim:
        raise DeclarationError(
            f"topi.nn.pad amounts {amounts} do not match the {data.ndim} dimensions of {data.name}",
            "",
            "give a number of elements for each dimension",
            tensor_label(data),
        )
    return amounts


def mirror_pad(
    data: Tensor,
    pad_before: Sequence[int],
    pad_after: Sequence[int] | None = None,
    mode: str = "SYMMETRIC",
    name: str = "MirrorPadInput",
) -> Tensor:
    """The tensor padded with its mirrored elements; "REFLECT" does not repeat the edge.

    >>> V = te.placeholder((8,), name="V")
    >>> topi.nn.mirror_pad(V, [1], [2]).shape
    [11]
    """
    source = check_tensor(data, "nn.mirror_pad")
    check_choice(mode, ("SYMMETRIC", "REFLECT"), "nn.mirror_pad", "mode")
    before = _amounts(source, pad_before)
    after = before if pad_after is None else _amounts(source, pad_after)
    edge = int(mode == "SYMMETRIC")
    amounts = list(zip(before, source.shape, after, strict=True))

    def mirrored(index: Any, low: Any, extent: Any) -> Any:
        offset = index - low
        behind = extent * 2 - offset - (2 - edge)
        return te.if_then_else(
            offset >= extent, behind, te.if_then_else(offset < 0, offset * -1 - edge, offset)
        )

    def element(*i: Any) -> Any:
        pairs = zip(i, amounts, strict=True)
        return source(*[mirrored(index, low, extent) for index, (low, extent, _) in pairs])

    shape = [simplify(low + extent + high) for low, extent, high in amounts]
    return tensor_of(shape, element, name, PAD_TAG, "i")


def dilate(
    data: Tensor, strides: Sequence[int], dilation_value: float = 0.0, name: str = "DilatedInput"
) -> Tensor:
    """The tensor with strides[d] - 1 elements dilation_value inserted between those of dimension d.

    >>> V = te.placeholder((8,), name="V")
    >>> topi.nn.dilate(V, [2]).op.body[0]
    T.if_then_else(i0 % 2 == 0, V[i0 // 2], T.float32(0))
    """
    source = check_tensor(data, "nn.dilate")
    steps = as_pair(strides, len(strides), "nn.dilate strides")
    if len(steps) != source.ndim:
        raise DeclarationError(
            f"topi.nn.dilate strides {steps} do not fit {source.name} of {source.ndim} dimensions",
            "",
            "give a stride for each dimension",
            tensor_label(source),
        )
    gap = te.const(dilation_value, source.dtype)
    shape = [simplify((n - 1) * step + 1) for n, step in zip(source.shape, steps, strict=True)]

    def element(*i: Any) -> Any:
        pairs = list(zip(i, steps, strict=True))
        value = source(*[ops.floordiv(index, step) for index, step in pairs])
        on_grid = [ops.equal(ops.floormod(a, s), 0) for a, s in pairs if not equal_const_int(s, 1)]
        return te.if_then_else(te.all(*on_grid), value, gap) if on_grid else value

    return tensor_of(shape, element, name, f"{INJECTIVE},dilate", "i")


def get_pad_tuple_generic(
    padding: Padding, kernel: Sequence[Size]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The padding (before, after) of each dimension.

    padding : "SAME" (at stride 1 the output has the extents of the input), "VALID" (none), a
        number, a number for each dimension, or the numbers before and then those after.

    >>> topi.nn.get_pad_tuple_generic("SAME", (3, 2))
    ((1, 1), (1, 0))
    """
    count = len(kernel)
    if isinstance(padding, str):
        return _named_padding(padding, kernel)
    widths = tuple(padding) if is_sequence(padding) else (padding,) * count
    if len(widths) == 1:
        widths = widths * count
    if len(widths) == count:
        widths = widths * 2
    if len(widths) != 2 * count:
        raise DeclarationError(
            f"padding {repr_of(padding)} does not match {count} dimensions",
            "",
            f'give "SAME", "VALID", one number, {count} numbers or {2 * count}',
        )
    amounts = get_const_tuple(widths)
    return amounts[:count], amounts[count:]


def _named_padding(padding: str, kernel: Sequence[Size]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    if padding == "VALID":
        zeros = (0,) * len(kernel)
        return zeros, zeros
    if padding != "SAME":
        raise DeclarationError(
            f"unknown padding {repr_of(padding)}",
            "",
            'use "SAME", "VALID" or numbers',
        )
    borders = get_const_tuple([extent - 1 for extent in kernel])
    before = [simplify(ops.floordiv(ops.convert(border) + 1, 2)) for border in borders]
    after = [simplify(ops.sub(b, low)) for b, low in zip(borders, before, strict=True)]
    return get_const_tuple(before), get_const_tuple(after)


def get_pad_tuple(padding: Padding, kernel: Sequence[Size]) -> tuple[Any, Any, Any, Any]:
    """The padding (top, left, bottom, right) of two dimensions.

    >>> topi.nn.get_pad_tuple((1, 2), (3, 3))
    (1, 2, 1, 2)
    """
    check_same(len(kernel), 2, "nn.get_pad_tuple", "length of kernel")
    (top, left), (bottom, right) = get_pad_tuple_generic(padding, kernel)
    return top, left, bottom, right


def get_pad_tuple1d(padding: Padding, kernel: Sizes) -> tuple[Any, Any]:
    """The padding (left, right) of one dimension.

    >>> topi.nn.get_pad_tuple1d(1, 3)
    (1, 1)
    """
    extents = kernel if is_sequence(kernel) else (kernel,)
    check_same(len(extents), 1, "nn.get_pad_tuple1d", "length of kernel")
    (left,), (right,) = get_pad_tuple_generic(padding, extents)
    return left, right


def get_pad_tuple3d(padding: Padding, kernel: Sequence[Size]) -> tuple[Any, ...]:
    """The padding (front, top, left, back, bottom, right) of three dimensions.

    >>> topi.nn.get_pad_tuple3d("VALID", (3, 3, 3))
    (0, 0, 0, 0, 0, 0)
    """
    check_same(len(kernel), 3, "nn.get_pad_tuple3d", "length of kernel")
    before, after = get_pad_tuple_generic(padding, kernel)
    return (*before, *after)
