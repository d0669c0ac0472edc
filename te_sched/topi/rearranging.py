"""Operators that rearrange elements: layouts, windows, diagonals, sequences.

Must not know targets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from te_sched import te
from te_sched.errors import DeclarationError, repr_of
from te_sched.ir import ops
from te_sched.te.tensor import Tensor
from te_sched.topi.tag import COMM_REDUCE
from te_sched.topi.utils import (
    Size,
    Sizes,
    as_constant,
    as_pair,
    check_choice,
    check_divides,
    check_lengths,
    check_rank,
    check_same,
    check_tensor,
    compute,
    get_const_int,
    get_const_tuple,
    is_same,
    normalized_axis,
    prod,
    ravel_index,
    shape_text,
    simplify,
    tensor_of,
    unravel_index,
)

# Dimensions of a layout: a letter and, of a block, its extent ("NCHW8c": C is split into 8 of c).
_Layout = list[tuple[str, int | None]]


def _parsed(layout: str) -> _Layout:
    parts = [(letter, int(size) if size else None) for size, letter in _PART.findall(layout)]
    blocks = [letter.upper() for letter, size in parts if size is not None]
    letters = [letter for letter, size in parts if size is None]
    is_whole = _PART.sub("", layout) == "" and len(set(letters)) == len(letters)
    is_right = all((size is not None) == letter.islower() for letter, size in parts)
    if not parts or not is_whole or not is_right or not set(blocks) <= set(letters):
        raise DeclarationError(
            f"topi.layout_transform: invalid layout {layout!r}",
            "each dimension is one capital letter, and each block a size and its small letter",
            'write "NCHW" or "NCHW8c"',
        )
    return parts


_PART = re.compile(r"(\d*)([A-Za-z])")


def get_shape(src_shape: Sequence[Size], src_layout: str, dst_layout: str) -> tuple[Any, ...]:
    """The shape, in another layout, of a tensor."""
    source, target = _parsed(src_layout), _parsed(dst_layout)
    if {letter.upper() for letter, _ in source} != {letter.upper() for letter, _ in target}:
        raise DeclarationError(
            f"topi.layout_transform: {src_layout} and {dst_layout} name different dimensions",
            "",
            "use the same capital letters in both",
        )
    check_same(len(source), len(src_shape), "layout_transform", f"rank of {src_layout}")
    whole: dict[str, Any] = {}
    for (letter, _), extent in zip(source, src_shape, strict=True):
        whole[letter.upper()] = whole.get(letter.upper(), 1) * extent
    return get_const_tuple(
        size if size is not None else _outer(letter, whole[letter], _block(target, letter))
        for letter, size in target
    )


def _block(layout: _Layout, letter: str) -> int:
    """The number of elements of a dimension that a layout puts into blocks."""
    return int(
        np.prod([size for axis_name, size in layout if size and axis_name.upper() == letter] or [1])
    )


def _outer(letter: str, extent: Any, block: int) -> Any:
    check_divides(block, extent, "layout_transform", "block", f"the extent of {letter}")
    return simplify(ops.floordiv(ops.convert(extent), block))


def layout_transform(
    array: Tensor, src_layout: str, dst_layout: str, schedule_rule: str = "None"
) -> Tensor:
    """The tensor in another layout ("NCHW" to "NCHW8c").

    >>> X = te.placeholder((1, 4, 8, 8), name="X")
    >>> topi.layout_transform(X, "NCHW", "NCHW2c").shape
    [1, 2, 8, 8, 2]
    """
    data = check_tensor(array, "layout_transform")
    shape = get_shape(data.shape, src_layout, dst_layout)
    source, target = _parsed(src_layout), _parsed(dst_layout)

    def element(*i: Any) -> Any:
        places: dict[str, Any] = {}
        for (letter, size), index in zip(target, i, strict=True):
            if size is None:
                places[letter] = index * _block(target, letter)
        left = {letter: _block(target, letter) for letter in places}
        for (letter, size), index in zip(target, i, strict=True):
            if size is not None:
                left[letter.upper()] //= size
                places[letter.upper()] = places[letter.upper()] + index * left[letter.upper()]
        return data(*_split(source, places))

    attrs = {"schedule_rule": schedule_rule, "src_layout": src_layout, "dst_layout": dst_layout}
    return compute(
        shape,
        lambda *i: element(*i),
        name="T_layout_trans",
        tag="injective",
        attrs=attrs,
        varargs_names=[f"ax{n}" for n in range(len(shape))],
    )


def _split(layout: _Layout, places: dict[str, Any]) -> list[Any]:
    """The indices, in a layout, of the element at a place in each dimension."""
    left = {letter: _block(layout, letter) for letter in places}
    indices = []
    for letter, size in layout:
        name = letter.upper()
        if size is None:
            indices.append(ops.floordiv(places[name], left[name]))
        else:
            left[name] //= size
            indices.append(ops.floormod(ops.floordiv(places[name], left[name]), size))
    return indices


def sliding_window(
    data: Tensor, axis: int, window_shape: Sequence[int], strides: Sequence[int]
) -> Tensor:
    """Windows over the dimensions from `axis` on: one dimension for each window position, then one
    for each element of a window.


    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.sliding_window(A, 0, (2, 2), (1, 3)).shape
    [3, 3, 2, 2]
    """
    source = check_tensor(data, "sliding_window")
    at = normalized_axis(axis, source.ndim, "sliding_window")
    check_same(len(window_shape), source.ndim - at, "sliding_window", "length of window_shape")
    check_same(len(strides), source.ndim - at, "sliding_window", "length of strides")
    as_pair(window_shape, len(window_shape), "sliding_window window_shape")
    as_pair(strides, len(strides), "sliding_window strides")
    stands = [
        simplify(ops.floordiv(ops.convert(extent - size), step) + 1)
        for extent, size, step in zip(source.shape[at:], window_shape, strides, strict=True)
    ]

    def element(*i: Any) -> Any:
        moving, inside = i[at : source.ndim], i[source.ndim :]
        places = [a * step + b for a, step, b in zip(moving, strides, inside, strict=True)]
        return source(*i[:at], *places)

    return tensor_of([*source.shape[:at], *stands, *window_shape], element, "T_sliding_window")


def reverse_sequence(
    a: Tensor, seq_lengths: Tensor, seq_axis: int = 1, batch_axis: int = 0
) -> Tensor:
    """The tensor with the first seq_lengths[b] elements along seq_axis reversed in each batch b.

    >>> A, L = te.placeholder((4, 8), name="A"), te.placeholder((4,), "int32", name="L")
    >>> topi.reverse_sequence(A, L).op.body[0]
    A[ax0, T.if_then_else(ax1 < L[ax0], L[ax0] - 1 - ax1, ax1)]
    """
    source, lengths = (
        check_tensor(a, "reverse_sequence"),
        check_tensor(seq_lengths, "reverse_sequence"),
    )
    along = normalized_axis(seq_axis, source.ndim, "reverse_sequence")
    batch = normalized_axis(batch_axis, source.ndim, "reverse_sequence")
    check_rank(lengths, 1, "reverse_sequence")
    check_same(lengths.shape[0], source.shape[batch], "reverse_sequence", "extent of seq_lengths")

    def element(*i: Any) -> Any:
        length = ops.cast("int32", lengths(i[batch]))
        position = te.if_then_else(i[along] < length, length - 1 - i[along], i[along])
        return source(*i[:along], position, *i[along + 1 :])

    return tensor_of(source.shape, element, "T_reverse_sequence")


def strided_set(
    a: Tensor,
    v: Tensor,
    begin: Sequence[Size],
    end: Sequence[Size | None],
    strides: Sequence[int] | None = None,
) -> Tensor:
    """A copy of `a` with the slice begin:end:strides set to `v`, as in numpy.

    >>> V, W = te.placeholder((8,), name="V"), te.placeholder((2,), name="W")
    >>> topi.strided_set(V, W, begin=[3], end=[5]).shape
    [8]
    """
    source, value = check_tensor(a, "strided_set"), check_tensor(v, "strided_set")
    taken = () if strides is None else tuple(strides)
    steps = [*taken, *[1] * (source.ndim - len(taken))]
    check_lengths("strided_set", begin=begin, end=end)
    check_same(value.ndim, source.ndim, "strided_set", "rank of v")
    if max(len(begin), len(taken)) > source.ndim or 0 in steps:
        raise DeclarationError(
            f"topi.strided_set: {len(begin)} bounds and strides {repr_of(taken)} do not fit"
            f" {source.name} of {source.ndim} dimensions",
            "",
            "give at most one bound and one stride other than 0 for each dimension",
        )
    bounds = [*zip(begin, end, strict=True), *[(0, None)] * (source.ndim - len(begin))]
    cuts = [
        range(get_const_int(extent))[
            get_const_int(low) : None if high is None else get_const_int(high) : step
        ]
        for (low, high), step, extent in zip(bounds, steps, source.shape, strict=True)
    ]
    for cut, extent in zip(cuts, value.shape, strict=True):
        check_same(extent, len(cut), "strided_set", "extent of v")

    def element(*i: Any) -> Any:
        inside, places = [], []
        for index, cut in zip(i, cuts, strict=True):
            far = (index - cut.start) * (1 if cut.step > 0 else -1)
            width = abs(cut.step)
            places.append(ops.floordiv(far, width))
            inside += [far >= 0, ops.equal(ops.floormod(far, width), 0), places[-1] < len(cut)]
        return te.if_then_else(te.all(*inside), value(*places), source(*i))

    return tensor_of(source.shape, element, "strided_set")


_ALIGNMENTS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


def matrix_set_diag(
    data: Tensor, diagonal: Tensor, k: Sizes = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """A copy of matrices with diagonal k, or diagonals k[0] to k[1], set.

    diagonal : the new diagonal, or one in each row, the highest first.

    align : alignment of the rows of superdiagonals and of subdiagonals, e.g. "RIGHT_LEFT".

    >>> A, D = te.placeholder((4, 4), name="A"), te.placeholder((4,), name="D")
    >>> topi.matrix_set_diag(A, D).shape
    [4, 4]
    """
    source, new = check_tensor(data, "matrix_set_diag"), check_tensor(diagonal, "matrix_set_diag")
    first, last = map(get_const_int, as_pair(k, 2, "matrix_set_diag diagonals", None))
    check_choice(align, _ALIGNMENTS, "matrix_set_diag", "align")
    above, below = align.split("_")
    if source.ndim < 2 or new.ndim != source.ndim - (first == last):
        raise DeclarationError(
            f"topi.matrix_set_diag: diagonal of {new.ndim} dimensions does not fit {source.name}"
            f" of {source.ndim} dimensions",
            "",
            "give matrices, and diagonals of one dimension less (of as many if k is a pair)",
        )
    rows, columns = (get_const_int(extent) for extent in source.shape[-2:])
    longest = get_const_int(new.shape[-1])

    def element(*i: Any) -> Any:
        row, column = i[-2], i[-1]
        number = column - row
        target_column = row + ops.minimum(number, 0)
        if first != last:
            shorter = longest - ops.minimum(
                columns - ops.maximum(number, 0), rows + ops.minimum(number, 0)
            )
            ends = [shorter if side == "RIGHT" else 0 for side in (above, below)]
            target_column = target_column + te.if_then_else(number >= 0, ends[0], ends[1])
            value = new(*i[:-2], last - number, target_column)
        else:
            value = new(*i[:-2], target_column)
        return te.if_then_else(te.all(number >= first, number <= last), value, source(*i))

    return tensor_of(source.shape, element, "matrix_set_diag")


def collapse_sum(data: Tensor, target_shape: Sequence[Size]) -> Tensor:
    """The sum over the dimensions that broadcasting `target_shape` to the data would repeat.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.collapse_sum(A, (8,)).shape
    [8]
    """
    source, target = check_tensor(data, "collapse_sum"), list(target_shape)
    extra = source.ndim - len(target)
    if extra < 0:
        raise DeclarationError(
            f"topi.collapse_sum cannot add dimensions to {source.name}: {shape_text(target)}",
            f"it has {source.ndim} dimensions",
            "use an extent of the data or 1 for each dimension",
        )
    wanted = [*[1] * extra, *target]
    over = [
        n for n, (a, b) in enumerate(zip(source.shape, wanted, strict=True)) if not is_same(a, b)
    ]
    if any(as_constant(wanted[n]) != 1 for n in over):
        raise DeclarationError(
            f"topi.collapse_sum: {shape_text(target)} does not broadcast to {source.name}",
            f"its shape is {shape_text(source.shape)}",
            "use an extent of the data or 1 for each dimension",
        )
    over = sorted({*over, *range(extra)})
    if not over:
        return source
    axes = {at: te.reduce_axis((0, source.shape[at]), f"k{at}") for at in over}

    def element(*i: Any) -> Any:
        index = [axes[at] if at in axes else i[at - extra] for at in range(source.ndim)]
        return te.sum(source(*index), axis=list(axes.values()))

    return tensor_of(target, element, f"{source.op.name}_red", COMM_REDUCE)


def space_to_batch_nd(
    data: Tensor,
    block_shape: Sequence[int],
    pad_before: Sequence[int],
    pad_after: Sequence[int],
    pad_value: float = 0.0,
) -> Tensor:
    """The tensor with blocks of the padded spatial dimensions moved into the batch.

    data : (batch, space..., rest...), with a spatial dimension for each item of block_shape.

    >>> X = te.placeholder((1, 4, 4, 3), name="X")
    >>> topi.nn.space_to_batch_nd(X, [2, 2], [0, 0], [0, 0]).shape
    [4, 2, 2, 3]
    """
    source, count = check_tensor(data, "nn.space_to_batch_nd"), len(block_shape)
    borders = {"pad_before": pad_before, "pad_after": pad_after}
    _check_blocks(source, "nn.space_to_batch_nd", block_shape, **borders)
    sizes = [
        simplify(extent + low + high)
        for extent, low, high in zip(
            source.shape[1 : count + 1], pad_before, pad_after, strict=True
        )
    ]
    for size, block in zip(sizes, block_shape, strict=True):
        check_divides(block, size, "nn.space_to_batch_nd", "block", "the padded extent")
    outer = [
        ops.floordiv(ops.convert(n), block) for n, block in zip(sizes, block_shape, strict=True)
    ]
    shape = [simplify(source.shape[0] * prod(block_shape)), *map(simplify, outer)]
    batch, fill = source.shape[0], te.const(pad_value, source.dtype)

    def element(*i: Any) -> Any:
        offsets = unravel_index(ops.floordiv(i[0], batch), list(block_shape))
        places = [
            index * block + offset - low
            for index, block, offset, low in zip(
                i[1 : count + 1], block_shape, offsets, pad_before, strict=True
            )
        ]
        value = source(ops.floormod(i[0], batch), *places, *i[count + 1 :])
        inside = [
            condition
            for index, extent, low, high in zip(
                places, source.shape[1:], pad_before, pad_after, strict=False
            )
            for condition in ([index >= 0] if low else []) + ([index < extent] if high else [])
        ]
        return te.if_then_else(te.all(*inside), value, fill) if inside else value

    return tensor_of([*shape, *source.shape[count + 1 :]], element, "space_to_batch_nd")


def _check_blocks(
    source: Tensor, what: str, blocks: Sequence[int], **borders: Sequence[int]
) -> None:
    check_lengths(what, block_shape=blocks, **borders)
    if len(blocks) >= source.ndim:
        raise DeclarationError(
            f"topi.{what}: {len(blocks)} blocks do not fit {source.name} of rank {source.ndim}",
            "the first dimension is the batch",
            "give at most one block for each other dimension",
        )
    as_pair(blocks, len(blocks), f"{what} block_shape")


def batch_to_space_nd(
    data: Tensor,
    block_shape: Sequence[int],
    crop_begin_list: Sequence[int],
    crop_end_list: Sequence[int],
) -> Tensor:
    """The inverse of space_to_batch_nd: blocks moved from the batch into space, which is cropped.

    >>> X = te.placeholder((4, 2, 2, 3), name="X")
    >>> topi.nn.batch_to_space_nd(X, [2, 2], [0, 0], [0, 0]).shape
    [1, 4, 4, 3]
    """
    source, count = check_tensor(data, "nn.batch_to_space_nd"), len(block_shape)
    borders = {"crop_begin_list": crop_begin_list, "crop_end_list": crop_end_list}
    _check_blocks(source, "nn.batch_to_space_nd", block_shape, **borders)
    batch = simplify(ops.floordiv(ops.convert(source.shape[0]), prod(block_shape)))
    crops = list(zip(crop_begin_list, crop_end_list, strict=True))
    extents = [
        simplify(extent * block - low - high)
        for extent, block, (low, high) in zip(
            source.shape[1 : count + 1], block_shape, crops, strict=True
        )
    ]

    def element(*i: Any) -> Any:
        places = [index + low for index, (low, _) in zip(i[1 : count + 1], crops, strict=True)]
        pairs = list(zip(places, block_shape, strict=True))
        offset = ravel_index([ops.floormod(index, block) for index, block in pairs], block_shape)
        outer = [ops.floordiv(index, block) for index, block in pairs]
        return source(offset * batch + i[0], *outer, *i[count + 1 :])

    return tensor_of([batch, *extents, *source.shape[count + 1 :]], element, "batch_to_space_nd")
