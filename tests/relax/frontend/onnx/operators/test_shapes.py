"""Operators of shapes beside onnx's reference."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.frontend.onnx.models import IMAGE, RNG, X, check, model_of


@pytest.mark.parametrize(
    ("kind", "attrs", "constants"),
    [
        ("Transpose", {"perm": [2, 0, 1]}, ()),
        ("Flatten", {"axis": 2}, ()),
        ("Reshape", {}, [np.array([0, -1])]),
        ("Squeeze", {}, ()),
        ("Unsqueeze", {}, [np.array([0, 2])]),
        ("Expand", {}, [np.array([2, 1, 1, 4])]),
        ("Tile", {}, [np.array([1, 2, 1])]),
        ("Pad", {"mode": "reflect"}, [np.array([0, 1, 1, 0, 1, 2])]),
        ("Trilu", {"upper": 0}, [np.array(1)]),
        ("Reshape", {"allowzero": 1}, [np.array([2, 3, 4])]),
    ],
)
def test_operators_of_a_tensor(kind, attrs, constants) -> None:
    names = {f"c{n}": np.asarray(one) for n, one in enumerate(constants)}
    check(model_of([(kind, ["x", *names], ["y"], attrs)], {"x": X}, names), {"x": X})


@pytest.mark.parametrize(
    ("kind", "attrs", "constants"),
    [
        ("SpaceToDepth", {"blocksize": 1}, []),
    ],
)
def test_operators_of_images(kind, attrs, constants) -> None:
    names = {f"c{n}": RNG.random(one, dtype=np.float32) for n, one in enumerate(constants)}
    check(model_of([(kind, ["x", *names], ["y"], attrs)], {"x": IMAGE}, names), {"x": IMAGE})
