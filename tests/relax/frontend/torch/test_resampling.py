"""Interpolation of torch against torch, over a grid of sizes and modes."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.errors import GraphError
from tests.relax.frontend.torch.torch_models import BOTH, check, torch, traced

F = torch.nn.functional
IMAGE = torch.rand(1, 2, 7, 9)
SIZES = [
    *[{"size": size} for size in ((3, 5), (14, 18), (1, 1), (13, 31))],
    *[{"scale_factor": factor} for factor in (2, 1.7, (0.7, 1.3), 0.33)],
    {"scale_factor": 1.7, "recompute_scale_factor": True},
]
MODES = [
    *[{"mode": mode} for mode in ("nearest", "nearest-exact", "area", "bilinear")],
    {"mode": "bilinear", "align_corners": True},
    {"mode": "bicubic", "align_corners": True},
    *[{"mode": mode, "antialias": True} for mode in ("bilinear", "bicubic")],
    {"mode": "bilinear", "align_corners": True, "antialias": True},
]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_interpolate(mode: dict[str, Any]) -> None:
    check(
        lambda x: tuple([F.interpolate(x, **size, **mode) for size in SIZES]), IMAGE, importers=BOTH
    )


@pytest.mark.parametrize("mode", [*MODES[:2], MODES[3], {"mode": "bicubic"}, MODES[-1]], ids=str)
def test_interpolate_of_open_sizes(mode: dict[str, Any]) -> None:
    sizes = SIZES[1:2] + SIZES[4:6]
    check(
        lambda x: tuple([F.interpolate(x, **size, **mode) for size in sizes]),
        IMAGE,
        importers=["dynamic"],
    )


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "trilinear"])
def test_interpolate_of_other_ranks(mode: str) -> None:
    x = IMAGE[0] if mode == "linear" else IMAGE[None]
    sizes = (5,) if mode == "linear" else (3, 5, 4)
    check(
        lambda x: (F.interpolate(x, sizes, mode=mode), F.interpolate(x, None, 1.7, mode)),
        x,
        importers=BOTH,
    )


def test_interpolate_of_other_dtypes() -> None:
    check(lambda x: F.interpolate(x, (5, 14), mode="bicubic"), IMAGE.double())
    check(lambda x: F.interpolate(x, (5, 14)), (IMAGE * 255).to(torch.uint8))
    check(lambda x: F.interpolate(x, (7, 18), mode="bilinear"), (IMAGE * 255).to(torch.uint8))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: F.interpolate(x), "neither size nor scale_factor"),
        (lambda x: F.interpolate(x, (3, 3), mode="lanczos"), "with mode 'lanczos'"),
        (lambda x: F.grid_sample(x, x, "cubic"), "grid_sample with mode 'cubic'"),
    ],
)
def test_interpolate_rejects(function: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        traced(function, ((1, 1, 2, 2), "float32"))


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_images_at_coordinates(mode: str, padding: str) -> None:
    grid = torch.rand(IMAGE.shape[0], 3, 4, 2) * 3 - 1.5
    check(
        lambda x, g: (
            F.grid_sample(x, g, mode, padding, False),
            F.grid_sample(x[..., :1], g, mode, align_corners=False),
        ),
        IMAGE,
        grid,
        importers=BOTH,
        rtol=1e-4,
        atol=1e-5,
    )


def test_volumes_at_coordinates() -> None:
    grid = torch.rand(1, 2, 3, 4, 3) * 3 - 1.5
    check(lambda x, g: F.grid_sample(x, g, align_corners=True), IMAGE[:1][None], grid)


def test_missing_values_at_coordinates_are_missing() -> None:
    x = torch.tensor([[1.0, float("nan")], [float("inf"), 2.0]])[None, None]
    grid = torch.tensor([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [0.9, 0.9]])[None, None]
    check(lambda x, g: F.grid_sample(x, g, align_corners=True), x, grid)
