"""Layers of torch: products, convolutions, pooling, norms, attention, paddings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import tir
from te_sched.errors import GraphError
from tests.relax.frontend.torch.torch_models import BOTH, check, traced

torch = pytest.importorskip("torch")
F = torch.nn.functional

A, B = torch.rand(2, 3, 4) - 0.3, torch.rand(2, 3, 4) + 0.5
IMAGE = torch.rand(1, 2, 7, 9)
N = tir.Var("n", "int64")
ATTEND = F.scaled_dot_product_attention


def test_products() -> None:
    check(
        lambda a, b: (
            *(
                a @ b.transpose(1, 2),
                torch.einsum("bij,bkj->bik", a, b),
                torch.outer(a[0, 0], b[0, 0]),
            ),
            *(torch.addbmm(a[0, :, :3], a, b.mT, beta=2, alpha=0.5), a.bmm(b.mT)),
            *(torch.baddbmm(a[:, :, :3], a, b.mT, alpha=2), torch.mv(a[0], b[0, 0])),
            torch.addmm(a[0, :1, :3], a[0], b[0].T, beta=0.5),
            torch.addmv(a[0, :, 0], a[0], b[0, 0], beta=0.5, alpha=2),
        ),
        *(A, B),
        importers=BOTH,
    )


def test_products_of_three_tensors() -> None:
    weight, bias = torch.rand(5, 4, 4), torch.rand(5)
    names = ("exported", "decomposed")
    check(lambda a, b: F.bilinear(a, b, weight, bias), A, B, importers=names)


VOLUMES = torch.rand(2, 3, 2, 3, 1)  # weights
OF_IMAGES: dict[str, Any] = {
    "means of windows": lambda x: (
        *(F.avg_pool2d(x, 3, 2, padding=1), F.avg_pool2d(x, 2, divisor_override=3)),
        *(F.avg_pool2d(x, 3, 2, padding=1, count_include_pad=False), F.avg_pool1d(x[0], 2)),
        *(F.avg_pool2d(x, 1, 3, ceil_mode=True), F.avg_pool3d(x[None], 2)),
        F.avg_pool2d(x, (2, 3), 2, 1, True, False, divisor_override=4),
    ),
    "maxima of windows": lambda x: (
        *(F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 1, 3, ceil_mode=True)),
        *(F.adaptive_max_pool2d(x, (3, 2)), F.adaptive_max_pool2d(x, (1, None))),
    ),
    "means of parts": lambda x: (F.adaptive_avg_pool2d(x, (3, 2)), F.adaptive_avg_pool1d(x[0], 3)),
    "convolutions": lambda x: (
        *(F.conv2d(x, torch.ones(4, 1, 3, 3), torch.arange(4.0), 2, "valid", 1, 2),),
        F.conv2d(x, torch.ones(3, 2, 3, 3), padding="same"),
    ),
    "transposed convolutions": lambda x: (
        F.conv_transpose2d(x, torch.ones(2, 3, 3, 3), stride=2, output_padding=1),
        F.conv_transpose2d(x, torch.ones(2, 3, 3, 2), None, 2, 1, 0, 2, (1, 2)),
        F.conv_transpose2d(x[0], torch.ones(2, 3, 1, 2), None, 1, 0, 1, 1, 2),
    ),
    "transposed convolutions of volumes": lambda x: (
        F.conv_transpose3d(x[:, :, :, None], VOLUMES, None, 2, 1, (1, 0, 1)),
        F.conv_transpose3d(x[0, :, :3, None], VOLUMES[:, :1, :1], torch.ones(2), groups=2),
        F.conv_transpose3d(
            x.double()[None], torch.ones(1, 2, 2, 1, 2).double(), dilation=(2, 1, 3)
        ),
    ),
    "norms": lambda x: (
        *(F.group_norm(x, 2, torch.ones(2) * 3), F.layer_norm(x, (9,)), F.normalize(x, dim=1)),
        F.instance_norm(x, torch.ones(2), torch.ones(2) * 2, use_input_stats=False),
        *(F.rms_norm(x.repeat(1, 1, 5, 1)[..., None], (1,)), F.rms_norm(x, (7, 9))),
    ),
    "rearranged": lambda x: (F.pixel_shuffle(x.repeat(1, 2, 1, 1), 2), F.unfold(x, 2)),
    "sampled": lambda x: F.grid_sample(x, torch.zeros(1, 3, 2, 2), align_corners=False),
}


@pytest.mark.parametrize("name", OF_IMAGES)
def test_operators_of_images(name: str) -> None:
    check(OF_IMAGES[name], IMAGE, atol=1e-5)


def test_windows_of_open_sizes() -> None:
    check(
        lambda x: (F.max_pool2d(x, 1, 3, ceil_mode=True), F.adaptive_max_pool1d(x, 1)),
        A,
        importers=["dynamic"],
    )


def test_paddings_of_open_sizes() -> None:
    def function(x: Any) -> list[Any]:
        modes = ("reflect", "replicate", "circular")
        filled = (F.pad(x, (1, 2, 0, 1), value=1.5), F.pad(x, (-1, 2)), F.pad(x[:0], (0, 0, 1, 1)))
        return [*filled, *[F.pad(x, (1, 2), mode) for mode in modes]]

    check(function, A, importers=("exported", "dynamic"))


def test_places_of_maxima_of_parts() -> None:
    def function(x: Any) -> tuple[Any, ...]:
        options = {"return_indices": True}
        return (
            F.adaptive_max_pool2d(x, (3, 4), **options),
            F.adaptive_max_pool1d(x[0], 4, **options),
            F.adaptive_max_pool3d(x, (1, None, 4), **options),
            torch.ops.aten.adaptive_max_pool2d(x, [2, 2])[1],
        )

    check(function, IMAGE, importers=BOTH)
    layer = torch.nn.AdaptiveMaxPool2d((2, 9), return_indices=True)
    check(layer, (IMAGE * 4).round().repeat(2, 1, 1, 1), importers=BOTH)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_convolutions_with_other_borders(mode: str) -> None:
    layer = torch.nn.Conv2d(2, 3, 3, 2, padding=(1, 2), padding_mode=mode).requires_grad_(False)
    check(layer, IMAGE, importers=BOTH, atol=1e-5)
    layer = torch.nn.Conv1d(2, 3, 4, padding="same", padding_mode=mode).requires_grad_(False)
    check(layer, IMAGE[0].mT[..., 0], importers=BOTH, atol=1e-5)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_places_of_maxima(rank: int) -> None:
    """Those of the first maximum, or of the last NaN, in all of the spatial dimensions."""
    rng = np.random.default_rng(rank)
    values = rng.integers(-3, 4, (1, 2, 9, 7, 6)[: rank + 2])
    floats = values.astype("float32")
    floats[rng.random(values.shape) < 0.1] = np.nan
    floats[rng.random(values.shape) < 0.1] = -np.inf
    options = {"dilation": 2, "ceil_mode": True, "return_indices": True}
    layer = getattr(torch.nn, f"MaxPool{rank}d")(3, 2, 1, **options)
    pool = getattr(F, f"max_pool{rank}d")

    def places(x: Any, y: Any) -> tuple[Any, ...]:
        of_integers = () if rank < 2 else pool(y[0], 3, 2, 1, **options)  # torch has no max_pool1d
        return (*pool(x[0], 3, 2, 1, **options), *of_integers)

    check(places, torch.from_numpy(floats), torch.from_numpy(values.astype("int32")))
    check(layer, torch.from_numpy(floats), importers=["fx"])


def test_last_window_may_end_after_the_data() -> None:
    def pooled(x: Any, y: Any) -> list[Any]:
        pools = (F.avg_pool2d, F.max_pool2d)
        of_x = [pool(x, (1, 2), ceil_mode=True) for pool in pools]
        return of_x + [pool(y, (2, 3), ceil_mode=True) for pool in pools]

    check(pooled, torch.rand(2, 1, 2, 1), torch.rand(1, 2, 1, 2), importers=BOTH)


def test_pooled_integers_are_whole_quotients() -> None:
    numbers = torch.tensor([[3, 1, 2], [0, 2, 2]])
    options = {"divisor_override": 2, "ceil_mode": True}
    check(lambda i: F.avg_pool2d(i[None], 2, 1, 1, **options), numbers)


def test_layers_of_instances() -> None:
    plain, scaled = torch.nn.InstanceNorm2d(2), torch.nn.InstanceNorm2d(2, affine=True)
    with torch.no_grad():
        scaled.weight.copy_(torch.tensor([2.0, 3.0]))
    model = torch.nn.Sequential(plain, scaled).requires_grad_(False)
    check(model, IMAGE, importers=["fx"], atol=1e-4)


def masks_of(q: Any, k: Any, m: Any) -> tuple[Any, ...]:
    return (
        *(ATTEND(q, k, k, m), ATTEND(q, k, k, m * 1.0), ATTEND(q[0], k[0], k[0], m[0])),
        *(ATTEND(q[None], k[None], k[None], m), ATTEND(q, k[:1], k[:1], enable_gqa=True)),
        ATTEND(q, k, k, torch.tensor([[True, False, True]]).expand(2, 3)),
    )


def test_attention_with_masks() -> None:
    mask = torch.arange(4 * 2 * 3).reshape(4, 2, 3) % 5 > 1
    mask[1, 1] = False  # this query has no key
    check(masks_of, torch.rand(4, 2, 5), torch.rand(4, 3, 5), mask)


def test_attention_with_broadcast_heads() -> None:
    q, k, mask = torch.rand(2, 4, 5, 8), torch.rand(4, 6, 8), torch.rand(5, 6) > 0.2
    check(lambda q, k, m: [ATTEND(q, x, x, m) for x in (k, k[:1], k[0])], q, k, mask)


def test_attention_of_four_and_five_dimensions() -> None:
    q, mask = torch.rand(2, 3, 2, 3, 4), torch.rand(3, 1, 3, 3) > 0.2

    def attended(q: Any, mask: Any) -> tuple[Any, ...]:
        causal = [ATTEND(x, x, x, is_causal=True) for x in (q, q[0])]
        return ATTEND(q, q, q, mask), *causal

    check(attended, q, mask, importers=BOTH)


def test_paddings() -> None:
    modes = ("constant", "reflect", "replicate", "circular")

    def padded(x: Any) -> list[Any]:
        cropped = [F.pad(x, (-1, 1, -2, 1), mode) for mode in modes]
        empty = [F.pad(x[:0, 0], (1, 2), mode) for mode in modes]
        wide = [F.pad(x[0], (2, 1), mode) for mode in modes]
        return cropped + empty + wide + [F.pad(x, (1, 2), value=2.5)]

    check(padded, IMAGE, importers=BOTH)


@pytest.mark.filterwarnings("ignore:size_average and reduce")
def test_cross_entropies() -> None:
    """With a class that is ignored, and with names of reductions of older programs."""
    x, target, weight = torch.rand(3, 5), torch.tensor([1, 4, -100]), torch.rand(5) + 0.5

    def losses(x: Any, target: Any, weight: Any) -> tuple[Any, ...]:
        return (
            *[F.cross_entropy(x, target, weight, reduction=r) for r in ("none", "sum", "mean")],
            *(F.cross_entropy(x, target, reduce=False), F.cross_entropy(x, target, reduce=True)),
            F.cross_entropy(x, target, weight, size_average=False),
            F.cross_entropy(x.T[None], target[None].clamp(0)),
        )

    check(losses, x, target, weight, importers=BOTH)
    layer = torch.nn.CrossEntropyLoss(ignore_index=4)
    check(layer, x, target.clamp(0), importers=BOTH)


BATCH_NORM = torch.nn.BatchNorm2d(2, track_running_stats=False)


@pytest.mark.parametrize(
    ("function", "shape", "message"),
    [
        (
            lambda x: F.adaptive_max_pool1d(x, 1, return_indices=True)[1],
            (1, 2, N),
            "result 1 of .* is not computed",
        ),
        (
            lambda x: F.adaptive_max_pool1d(x, 2),
            (1, 2, N),
            "cannot divide a dimension of size n into 2 parts",
        ),
        (
            lambda x: F.cross_entropy(x, x.argmax(1), label_smoothing=0.1),
            (2, 3),
            "label_smoothing of a cross entropy is 0.1",
        ),
        (BATCH_NORM, (1, 2, 2, 2), "statistics of the batch"),
    ],
)
def test_layers_reject(function: Any, shape: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        traced(function, (shape, "float32"))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_elements_return_to_the_places_of_maxima(rank: int) -> None:
    pool, unpool = getattr(F, f"max_pool{rank}d"), getattr(F, f"max_unpool{rank}d")
    x = torch.rand(2, 3, *(8, 6, 4)[:rank])

    def function(x: torch.Tensor) -> Any:
        best, places = pool(x, 2, return_indices=True)
        whole = unpool(best, places, 2, output_size=x.shape[2:])
        return whole, unpool(best[0], places[0], 2)

    check(function, x)
