"""Operators on images."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax import op
from te_sched.relax.operators import image
from tests.relax.operator_tables import (
    Build,
    Case,
    Results,
    floats,
    followed,
    inferred,
    of_rank,
    operators_of,
    tensor,
    text_of,
    unknown,
)

ARRAYS: dict[str, Any] = {
    "image": floats(1, 2, 4, 4),
}


def torch_resized(image: Any, size: tuple[int, int], mode: str) -> Any:
    """The images with half pixels, as torch has them."""
    interpolate = pytest.importorskip("torch").nn.functional.interpolate
    tensors = [pytest.importorskip("torch").from_numpy(image)]
    return interpolate(*tensors, size=size, mode=mode, align_corners=False).numpy()


CASES: dict[str, Case] = {
    "resize2d nearest": (
        lambda v: op.image.resize2d(
            v["image"],
            (8, 8),
            method="nearest_neighbor",
            coordinate_transformation_mode="asymmetric",
        ),
        lambda v: v["image"].repeat(2, 2).repeat(2, 3),
    ),
    "resize2d same": (
        lambda v: op.image.resize2d(v["image"], (4, 4), method="linear"),
        lambda v: v["image"],
    ),
    "resize2d linear": (
        lambda v: op.image.resize2d(
            v["image"], (2, 8), coordinate_transformation_mode="half_pixel"
        ),
        lambda v: torch_resized(v["image"], (2, 8), "bilinear"),
    ),
    "resize2d cubic": (
        lambda v: op.image.resize2d(v["image"], (7, 3), method="cubic", cubic_alpha=-0.75),
        lambda v: torch_resized(v["image"], (7, 3), "bicubic"),
    ),
    "resize2d to one": (
        lambda v: op.image.resize2d(v["image"], 1, method="nearest_neighbor"),
        lambda v: v["image"][:, :, 2:3, 2:3],
    ),
}
RESULTS = Results(ARRAYS, CASES)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(image)


def test_rounding_of_whole_factors_is_that_of_tvm() -> None:
    mode = {"method": "nearest_neighbor", "coordinate_transformation_mode": "asymmetric"}
    roundings = []
    for size in ((4, 6), (4, 5)):
        call = op.image.resize2d(tensor(1, 2, 2, 3), size, **mode)
        inferred(call)
        roundings.append(image._rounding(call))
    assert roundings == ["floor", "round"]


X = tensor(2, 3, 4, 5)
NHWC = (0, 2, 3, 1)
PLANS: list[tuple[Build, Any, Any, dict[str, Any]]] = [
    (lambda: op.image.resize2d(X, 2), NHWC, NHWC, {"layout": "NHWC"}),
]


@pytest.mark.parametrize(("build", "inputs", "output", "attrs"), PLANS)
def test_orders_of_dimensions(
    build: Build, inputs: Any, output: Any, attrs: dict[str, Any]
) -> None:
    plan = followed(build(), inputs)
    assert plan is not None
    assert (plan.inputs, plan.output, plan.attrs) == ({0: inputs}, output, attrs)


INFERRED: list[tuple[Build, str]] = [
    (
        lambda: op.image.resize2d(tensor(1, 8, 8, 3), 4, layout="NHWC", out_dtype="int8"),
        text_of("1, 4, 4, 3", "int8"),
    ),
    (lambda: op.image.resize2d(unknown(), (2, 3)), of_rank(4)),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


FLOAT = tensor(2, 3)
REFUSED: list[tuple[Build, type[Exception], str]] = [
    (
        lambda: op.image.resize2d(FLOAT, 2, layout="OIHW"),
        GraphError,
        "is not a layout of images",
    ),
    (lambda: op.image.resize2d(FLOAT, 2), GraphTypeError, "4 dimensions, NCHW"),
    (
        lambda: op.image.resize2d(tensor(1, 2, 3, 4), (2, 3, 4)),
        GraphTypeError,
        "expected a shape of two sizes",
    ),
    (
        lambda: op.image.resize2d(tensor(1, 2, 3, 4), FLOAT),
        GraphTypeError,
        "expected a shape of two sizes",
    ),
    (
        lambda: op.image.resize2d(tensor(1, 2, 3, 4), 2, roi=["a", 0, 1, 1]),
        GraphTypeError,
        "a value of roi is 'a'",
    ),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
