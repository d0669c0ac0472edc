"""Images of other sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import te, topi
from te_sched.errors import DeclarationError
from tests.topi import reference
from tests.topi.running import case, check, floats, integers

IMAGE = floats(1, 2, 6, 5)
REGION = (0.1, -0.2, 0.9, 1.1)
MODES = (
    *("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn"),
    "tf_crop_and_resize",
)
SIZES = ((12, 5), (4, 7), (1, 1))
ROUNDINGS = ("round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil")


def resized(size: Any, **options: Any) -> Any:
    """The operator and its reference in numpy."""
    return (
        lambda x: topi.image.resize2d(x, REGION, size, **options),
        lambda x: reference.resized(x, size, REGION, **options),
    )


@pytest.mark.parametrize("method", ["nearest_neighbor", "linear", "cubic"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", SIZES)
def test_resize2d(method: str, mode: str, size: tuple[int, int]) -> None:
    options = {
        "method": method,
        "coordinate_transformation_mode": mode,
        "extrapolation_value": 3.0,
    }
    check(case("resize2d", *resized(size, **options), IMAGE))


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("mode", ["half_pixel", "asymmetric"])
def test_resize2d_rounding(rounding: str, mode: str) -> None:
    options = {
        "method": "nearest_neighbor",
        "rounding_method": rounding,
        "coordinate_transformation_mode": mode,
    }
    check(case("rounding", *resized((12, 7), **options), IMAGE))


def test_resize2d_without_elements_outside() -> None:
    options = {"method": "cubic", "bicubic_alpha": -0.75, "bicubic_exclude": 1}
    check(case("exclude", *resized((9, 4), **options), IMAGE))


def test_resize2d_keeps_large_integers() -> None:
    numbers = integers(1, 2, 6, 5) + 2**30
    check(case("integers", *resized((12, 10), method="nearest_neighbor"), numbers))


def test_resize2d_layouts() -> None:
    last = np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1))
    check(
        case(
            "NHWC",
            lambda x: topi.image.resize2d(x, None, (4, 9), "NHWC"),
            lambda x: reference.resized(IMAGE, (4, 9), REGION).transpose(0, 2, 3, 1),
            last,
        )
    )
    X = te.placeholder((1, 2, 6, 5, 4))
    blocked = topi.image.resize2d(X, None, (3, 3), "NCHW4c")
    assert topi.get_const_tuple(blocked.shape) == (1, 2, 3, 3, 4)


def test_resize1d_and_resize3d() -> None:
    check(
        case(
            "resize1d",
            lambda x: topi.image.resize1d(x, None, (11,)),
            lambda x: reference.resized(x, (11,), ()),
            floats(1, 2, 4),
        )
    )
    check(
        case(
            "resize3d",
            lambda x: topi.image.resize3d(x, None, (3, 5, 4)),
            lambda x: reference.resized(x, (3, 5, 4), ()),
            floats(1, 2, 4, 3, 5),
        )
    )


def test_resize2d_dtypes_and_shape() -> None:
    X = te.placeholder((1, 2, 6, 5), "int8")
    found = topi.image.resize2d(X, None, (3, 3), out_dtype="float16", output_shape=(1, 2, 3, 3))
    assert (found.dtype, topi.get_const_tuple(found.shape)) == ("float16", (1, 2, 3, 3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "bilinear"}, "unknown method 'bilinear'"),
        ({"coordinate_transformation_mode": "corners"}, "unknown coordinate_transformation_mode"),
        ({"rounding_method": "up"}, "unknown rounding_method 'up'"),
        ({"coordinate_transformation_mode": "tf_crop_and_resize"}, "roi has 0 numbers, expected 4"),
        ({"layout": "NCWX"}, "lacks the dimensions H, W"),
        ({"output_shape": (1, 2, 3)}, "output_shape has 3 dimensions, expected 4"),
    ],
)
def test_resize2d_rejects(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        topi.image.resize2d(te.placeholder((1, 2, 6, 5)), None, (3, 3), **options)
