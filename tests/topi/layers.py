"""Arrays and layouts of images, and references of layers."""

from __future__ import annotations

from typing import Any

from tests.topi.running import floats

IMAGE, KERNEL = floats(2, 4, 7, 6), floats(6, 4, 3, 3)


SIGNAL, FILTER = floats(1, 3, 8), floats(5, 3, 3)


def nhwc(x: Any) -> Any:
    return x.transpose(0, 2, 3, 1).copy()


def nchw(x: Any) -> Any:
    return x.transpose(0, 3, 1, 2)


A, GAMMA, BETA = floats(4, 6), floats(6), floats(6, seed=1)


def column(x: Any) -> Any:
    return x[:, None, None]
