"""Layers that only move elements: flatten, upsampling, space_to_depth, depth_to_space."""

from __future__ import annotations

from typing import Any

from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.ir import ops
from te_sched.te.tensor import Tensor
from te_sched.topi.tag import INJECTIVE
from te_sched.topi.utils import (
    Count,
    Factor,
    Sizes,
    check_choice,
    check_rank,
    check_tensor,
    prod,
    simplify,
    tensor_of,
    wrapped_index,
)


def flatten(data: Tensor) -> Tensor:
    """The tensor reshaped to (batch, product of the other extents).

    >>> X = te.placeholder((1, 4, 8, 8), name="X")
    >>> topi.nn.flatten(X).shape
    [1, 256]
    """
    source = check_tensor(data, "nn.flatten")
    if not source.ndim:
        check_rank(source, 2, "nn.flatten")
    rest = source.shape[1:]
    return te.compute(
        (source.shape[0], simplify(prod(rest))),
        lambda i, j: source(i, *wrapped_index(j, rest)),
        tag=INJECTIVE,
    )


def upsampling(
    data: Tensor,
    scale_h: Factor,
    scale_w: Factor,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
) -> Tensor:
    """The tensor with each element repeated scale_h times along H and scale_w times along W.

    >>> X = te.placeholder((1, 4, 8, 8), name="X")
    >>> topi.nn.upsampling(X, 2, 3).shape
    [1, 4, 16, 24]
    """
    return _upsampled(data, {"H": scale_h, "W": scale_w}, layout, method, "upsampling")


def upsampling3d(
    data: Tensor,
    scale_d: Factor,
    scale_h: Factor,
    scale_w: Factor,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
) -> Tensor:
    """The tensor with each element repeated scale_d, scale_h and scale_w times along D, H and W.

    >>> X = te.placeholder((1, 4, 5, 8, 8), name="X")
    >>> topi.nn.upsampling3d(X, 2, 2, 3).shape
    [1, 4, 10, 16, 24]
    """
    scales = {"D": scale_d, "H": scale_h, "W": scale_w}
    return _upsampled(data, scales, layout, method, "upsampling3d")


def _upsampled(
    data: Tensor, scales: dict[str, Factor], layout: str, method: str, what: str
) -> Tensor:
    rank = len(scales) + 2
    source = check_rank(data, rank, f"nn.{what}")
    if method != "nearest_neighbor" or sorted(layout) != sorted(["N", "C", *scales]):
        raise DeclarationError(
            f"topi.nn.{what} does not support method={method!r} with layout {layout!r}",
            f"only nearest_neighbor of {rank} dimensions is supported",
            'use method="nearest_neighbor", or declare the interpolation with te.compute',
        )
    factors = [int(scales.get(letter, 1)) for letter in layout]
    shape = [simplify(extent * f) for extent, f in zip(source.shape, factors, strict=True)]

    def element(*i: Any) -> Any:
        return source(*[ops.truncdiv(x, factor) for x, factor in zip(i, factors, strict=True)])

    return tensor_of(shape, element, "resize", prefix="i")


def space_to_depth(data: Tensor, block_size: Count, layout: str = "NCHW") -> Tensor:
    """Spatial blocks moved into the channels; H and W shrink by block_size.

    >>> X = te.placeholder((1, 4, 8, 8), name="X")
    >>> topi.nn.space_to_depth(X, 2).shape
    [1, 16, 4, 4]
    """
    n, c, h, w = _extents(data, layout, "space_to_depth")

    def element(b: Any, k: Sizes, y: Any, x: Any) -> Any:
        block = ops.truncdiv(k, c)
        row = y * block_size + ops.truncdiv(block, block_size)
        column = x * block_size + ops.truncmod(block, block_size)
        return b, ops.truncmod(k, c), row, column

    shape = [n, c * block_size**2, ops.floordiv(h, block_size), ops.floordiv(w, block_size)]
    return _moved(data, shape, element, layout, "space_to_depth")


def depth_to_space(
    data: Tensor, block_size: Count, layout: str = "NCHW", mode: str = "DCR"
) -> Tensor:
    """Channels moved into spatial blocks; H and W grow by block_size.

    mode : whether the block is the outer ("DCR") or the inner ("CRD") part of the channel.

    >>> X = te.placeholder((1, 4, 8, 8), name="X")
    >>> topi.nn.depth_to_space(X, 2).shape
    [1, 1, 16, 16]
    """
    n, c, h, w = _extents(data, layout, "depth_to_space")
    check_choice(mode, ("DCR", "CRD"), "nn.depth_to_space", "mode")
    channels = ops.floordiv(c, block_size**2)

    def element(b: Any, k: Sizes, y: Any, x: Any) -> Any:
        block = ops.truncmod(y, block_size) * block_size + ops.truncmod(x, block_size)
        channel = block * channels + k if mode == "DCR" else k * block_size**2 + block
        return b, channel, ops.truncdiv(y, block_size), ops.truncdiv(x, block_size)

    return _moved(
        data, [n, channels, h * block_size, w * block_size], element, layout, "depth_to_space"
    )


def _extents(data: Tensor, layout: str, what: str) -> list[Any]:
    source = check_rank(data, 4, f"nn.{what}")
    check_choice(layout, ("NCHW", "NHWC"), f"nn.{what}", "layout")
    return [source.shape[layout.index(letter)] for letter in "NCHW"]


def _moved(data: Tensor, shape: list[Any], element: Any, layout: str, name: str) -> Tensor:
    """The tensor in `layout` of a shape and a function of indices in the order NCHW."""

    def value(*i: Any) -> Any:
        read = element(*[i[layout.index(letter)] for letter in "NCHW"])
        return data(*[read["NCHW".index(letter)] for letter in layout])

    extents = [simplify(shape["NCHW".index(letter)]) for letter in layout]
    return tensor_of(extents, value, name, prefix="i")
