"""Operators of torch against torch, in both importers; errors."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax, tir
from te_sched.errors import GraphError
from te_sched.relax.frontend import detach_params
from te_sched.relax.frontend.torch import dynamo_capture_subgraphs, from_exported_program, from_fx
from te_sched.relax.frontend.torch.importer import Importer
from te_sched.relax.frontend.torch.sizes import size_expr

torch = pytest.importorskip("torch")
F = torch.nn.functional


class Model(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function, **parts) -> None:
        super().__init__()
        self.function = function
        for name, one in parts.items():
            setattr(self, name, one)

    def forward(self, *args):
        return self.function(*args)


class Residual(torch.nn.Module):
    """The sum of a value and what a module makes of it."""

    def __init__(self, inner) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x):
        y = x * 2
        return self.inner(y) + y


def traced(function, count: int):
    arguments = ", ".join("abcdef"[:count])
    scope = {"function": function}
    exec(f"def forward({arguments}): return function({arguments})", scope)
    return torch.fx.symbolic_trace(scope["forward"])


def infos(args):
    return [(tuple(one.shape), str(one.dtype).removeprefix("torch.")) for one in args]


def run(mod, args):
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), te_sched.cpu())
    found = machine["main"](*[nd.array(one.numpy()) for one in args])
    return [one.numpy() for one in (found if isinstance(found, tuple | list) else [found])]


def check(function, *args, importers=("fx", "exported")) -> None:
    wanted = function(*args)
    wanted = [one.numpy() for one in (wanted if isinstance(wanted, tuple | list) else [wanted])]
    for importer in importers:
        if importer == "fx":
            mod = from_fx(traced(function, len(args)), infos(args))
        else:
            auto = torch.export.Dim.AUTO
            sizes = [dict.fromkeys(range(one.ndim), auto) for one in args]
            given = {"dynamic_shapes": (tuple(sizes),)} if importer == "dynamic" else {}
            mod = from_exported_program(torch.export.export(Model(function), args, **given))
        for one, other in zip(run(mod, args), wanted, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


torch.manual_seed(0)
A, B = torch.rand(2, 3, 4) - 0.3, torch.rand(2, 3, 4) + 0.5
IMAGE = torch.rand(1, 2, 7, 9)
INTS = torch.tensor([[3, 1, 2], [0, 2, 2]])


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: (a + b * 2 - 1) / b,
        lambda a, b: torch.add(a, b, alpha=0.5) // 0.25,
        lambda a, b: (a > b) & (a != 0) | ~(a <= 0.1),
        lambda a, b: torch.where(a < b, a, 0.5) ** 2,
        lambda a, b: ((a > b) & (a > 0), (a > b) | (b > 0)),
        lambda a, b: next((c & (b > 0), c) for c in [a > b]),
        lambda a, b: torch.cat([a, b], dim=-1).chunk(4, dim=2)[1],
        lambda a, b: torch.stack([a, b], dim=1).sum((0, 1)),
        lambda a, b: a @ b.transpose(1, 2),
        lambda a, b: torch.einsum("bij,bkj->bik", a, b),
        lambda a, b: torch.maximum(a, b) - torch.min(a, b),
    ],
)
def test_operators_of_two_tensors(function) -> None:
    check(function, A, B)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.leaky_relu(x, 0.1) + F.elu(x, 0.5) + F.softplus(x),
        lambda x: F.hardswish(x) * F.hardsigmoid(x) + F.relu6(x * 9) + F.silu(x),
        lambda x: F.gelu(x) + F.gelu(x, approximate="tanh") + F.mish(x) + F.selu(x),
        lambda x: torch.clamp(x, 0.1, 0.5) + x.clamp(min=0.2),
        lambda x: torch.exp(x) + torch.log(x + 1) + torch.rsqrt(x + 1) + torch.erf(x),
        lambda x: x.mean(1, keepdim=True) + x.var(1, keepdim=True) + x.amax(2, keepdim=True),
        lambda x: (x.max(dim=1)[0], x.argmax(dim=2), torch.topk(x, 2)[1]),
        lambda x: torch.linalg.vector_norm(x, dim=1) + x.std(dim=1),
        lambda x: x.reshape(2, -1).unsqueeze(1).expand(2, 3, 12).permute(1, 2, 0),
        lambda x: x.flatten(1).squeeze(0).repeat(1, 2),
        lambda x: x[0, 1:, ::2],
        lambda x: x[:, None, :, 1],
        lambda x: x[:, :, -1] + x.select(2, 0),
        lambda x: torch.tril(x, 1) - torch.triu(x),
        lambda x: x.split([1, 3], dim=2)[1] + x.narrow(2, 0, 3),
        lambda x: torch.flip(x, [1]) + torch.roll(x, 1, 2),
        lambda x: F.layer_norm(x, (4,)) + F.normalize(x, dim=1),
        lambda x: F.pad(x, (1, 2)) + torch.zeros(2, 3, 7) + torch.full((3, 7), 2.0),
        lambda x: x.masked_fill(x > 0.2, 0.0).cumsum(1),
        lambda x: (x * 10).to(torch.int32) + 1,
        lambda x: torch.round(x * 9) + torch.trunc(x * 9) + x.floor(),
        lambda x: torch.unbind(x, 1)[2] + x.movedim(2, 0)[3].sum(),
        lambda x: torch.remainder(x, 0.3) + torch.sign(x) * torch.abs(x),
        lambda x: x.all(dim=1) | x.any(dim=1),
        lambda x: F.pad(x, (-1, 2, 1, -1)) + F.pad(x, (1, 0), mode="replicate").sum(),
        lambda x: F.pad(x, (2, 1), mode="circular") * F.pad(x, (2, 1), mode="reflect"),
        lambda x: torch.logical_xor(x.floor(), x > 0.2) | torch.logical_not(x.floor()),
        lambda x: (x.roll(2), x.unfold(2, 2, 1), torch.tensor_split(x, 3, 2)[0]),
        lambda x: (x.kthvalue(2, 1)[0], x.median(), x.median(2)[1]),
        lambda x: torch.hypot(x, x + 1) + torch.fmod(x, 0.3) + torch.linalg.vector_norm(x, 0),
        lambda x: torch.fmax(x, torch.log(x)) + torch.fmin(torch.log(x), x),
        lambda x: (x[:, 2:1].reshape(2, 0, 4), x[None, 2:1, 0], x[:0].split(2)[0]),
        lambda x: (x.sum().sum(), x.sum().amax(), x.sum().argmin(), x.mean().mean()),
        lambda x: x.sum().std(0, correction=0) + x.sum().max(0)[0],
        lambda x: (x[:0].any(), x[:, :0].all(1), x[:0].any(2)),
    ],
)
def test_operators_of_a_tensor(function) -> None:
    check(function, A)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.avg_pool2d(x, 3, 2, padding=1),
        lambda x: F.avg_pool2d(x, 2, divisor_override=3),
        lambda x: F.avg_pool2d(x, 3, 2, padding=1, count_include_pad=False),
        lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
        lambda x: F.interpolate(x, (14, 18), mode="bilinear"),
        lambda x: F.interpolate(x, (5, 4)),
        lambda x: F.interpolate(x, scale_factor=2),
        lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"),
        lambda x: F.interpolate(x, scale_factor=(0.7, 1.5), mode="bicubic", align_corners=True),
        lambda x: F.interpolate(x, scale_factor=0.7),
        lambda x: F.interpolate(x, (4, 5), mode="nearest-exact"),
        lambda x: F.interpolate(x[0], 5, mode="linear"),
        lambda x: F.interpolate(x[None], scale_factor=(1, 1.5, 2), mode="trilinear"),
        lambda x: F.conv2d(x, torch.ones(4, 1, 3, 3), torch.arange(4.0), 2, "valid", 1, 2),
        lambda x: F.conv2d(x, torch.ones(3, 2, 3, 2), padding="same"),
        lambda x: F.conv_transpose2d(x, torch.ones(2, 3, 3, 3), stride=2, output_padding=1),
        lambda x: F.group_norm(x, 2, torch.ones(2) * 3),
        lambda x: F.max_pool2d(x, 3, 2, 1),
        lambda x: F.pixel_shuffle(x.repeat(1, 2, 1, 1), 2),
        lambda x: F.conv_transpose2d(x, torch.ones(2, 3, 3, 2), None, 2, 1, 0, 2, (1, 2)),
        lambda x: F.conv_transpose2d(x[0], torch.ones(2, 3, 1, 2), None, 1, 0, 1, 1, 2),
        lambda x: F.max_pool2d(x, 1, 3, ceil_mode=True) + F.avg_pool2d(x, 1, 3, ceil_mode=True),
        lambda x: F.avg_pool2d(x, (2, 3), 2, 1, True, False, divisor_override=4),
        lambda x: (F.adaptive_max_pool2d(x, (3, 2)), F.adaptive_max_pool2d(x, (1, None))),
        lambda x: F.grid_sample(x, torch.zeros(1, 3, 2, 2), align_corners=False),
        lambda x: F.unfold(x, 2),
        lambda x: F.instance_norm(x, torch.ones(2), torch.ones(2) * 2, use_input_stats=False),
    ],
)
def test_operators_of_images(function) -> None:
    check(function, IMAGE, importers=["exported"])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (F.glu(x, 2), F.cosine_similarity(x, x, dim=1), torch.logsumexp(x, (0, 1))),
        lambda x: (x.mT, x.ravel(), torch.nan_to_num(x / x.floor()), torch.copysign(x, -x)),
        lambda x: (torch.signbit(x.round()), torch.exp2(x), torch.erfc(x), x.diff(), x.diagonal()),
        lambda x: F.rms_norm(x.repeat(2, 10, 2)[..., None], (1,)),
        lambda x: F.mse_loss(x, x * 2) + F.binary_cross_entropy_with_logits(x, x.sigmoid()),
        lambda x: torch.rot90(x) * torch.hstack([x[:1], x[1:]]).sum(),
    ],
)
def test_operators_that_torch_decomposes(function) -> None:
    check(function, A, importers=["exported"])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x[-1], x.squeeze(), x.squeeze(1), x.roll(2, 2), x.split(2, 2)[1]),
        lambda x: (
            x.median(2)[0],
            x.std(dim=(0, 2), correction=2),
            x.chunk(3, 2)[0],
            x.unbind(1)[2],
        ),
        lambda x: F.max_pool2d(x, 1, 3, ceil_mode=True),
        lambda x: torch.tensor_split(x, 3, 2)[1],
        lambda x: F.adaptive_max_pool1d(x, 1),
        lambda x: (torch.nan_to_num(x[:, :, :0]), x[:, :, :0].tile(2)),
        lambda x: x[:, None, 1:].expand(2, 2, -1, -1) + x[:, 1:].unsqueeze(1),
    ],
)
def test_operators_of_tensors_of_any_size(function) -> None:
    check(function, A, importers=["dynamic"])


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_places_of_maxima(rank, dtype) -> None:
    """Those of the first maximum, or of the last NaN, in all of the spatial dimensions."""
    rng = np.random.default_rng(rank)
    values = rng.integers(-3, 4, (1, 2, 9, 7, 6)[: rank + 2]).astype(dtype)
    if dtype == "float32":
        values[rng.random(values.shape) < 0.1] = np.nan
        values[rng.random(values.shape) < 0.1] = -np.inf
    elif rank < 2:
        return  # torch has no max_pool1d of integers
    x, name = torch.from_numpy(values), f"max_pool{rank}d"
    pool, layer = getattr(F, name), getattr(torch.nn, f"MaxPool{rank}d")
    options = {"dilation": 2, "ceil_mode": True, "return_indices": True}
    model = layer(3, 2, 1, **options)
    exported = Model(lambda x: pool(x[0], 3, 2, 1, **options))
    for mod, wanted in (
        (from_fx(torch.fx.symbolic_trace(torch.nn.Sequential(model)), infos([x])), model(x)),
        (from_exported_program(torch.export.export(exported, (x,))), exported(x)),
    ):
        for one, other in zip(run(mod, [x]), wanted, strict=True):
            np.testing.assert_array_equal(one, other.numpy())


@pytest.mark.parametrize("pool", [F.avg_pool2d, F.max_pool2d])
def test_last_window_may_end_after_the_data(pool) -> None:
    check(lambda x: pool(x, (1, 2), ceil_mode=True), torch.rand(2, 1, 2, 1))
    check(lambda x: pool(x, (2, 3), ceil_mode=True), torch.rand(1, 2, 1, 2))


def test_places_of_extrema_that_are_limits() -> None:
    x = torch.tensor([[True, True], [True, False], [False, False]])
    check(lambda x: (x.min(dim=1)[1], x.max(dim=1)[1], x.min(dim=0)[0]), x)
    for dtype in (torch.int8, torch.uint8, torch.int32, torch.int64):
        limits = torch.iinfo(dtype)
        y = torch.tensor([[limits.max] * 3, [limits.min] * 3], dtype=dtype)
        check(lambda y: (y.argmin(1), y.argmax(1), y.min(1)[1], y.max(1)[1]), y)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_partial_results_of_norms_are_wide(dtype) -> None:
    x = torch.tensor([[100.0, 20.0, -30.0], [0.001, 0.0, 0.0]], dtype=dtype)
    functions = [lambda x: x.norm(3, 1), lambda x: x.norm(2, 1), lambda x: x.std(1)]
    functions.append(lambda x: torch.linalg.vector_norm(x, 3, 1, dtype=torch.float32))
    if dtype == torch.float16:
        functions.append(lambda x: torch.cat([x[:1] * 20, x[1:], x[:1] * -20]).cumsum(0))
    for function in functions:
        mod = from_exported_program(torch.export.export(Model(function), (x,)))
        (found,), wanted = run(mod, [x]), function(x).numpy()
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=2e-3)


def test_denormal_divisors() -> None:
    x = torch.tensor([5e-309, -5e-309, 1e300, 7.0, -7.0], dtype=torch.float64)
    check(lambda x: (x // x, x // 5e-309, x // -2.0, x % x), x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_zeros_of_quotients_have_signs(dtype) -> None:
    x = torch.tensor([0.0, -0.0, 0.0, -0.0, 1.0, -1.0], dtype=dtype)
    y = torch.tensor([3.0, 3.0, -3.0, -3.0, 3.0, -3.0], dtype=dtype)
    check(lambda x, y: 1 / (x // y), x, y)


def test_layers_of_instances() -> None:
    for layer in (torch.nn.InstanceNorm2d(2), torch.nn.InstanceNorm2d(2, affine=True)):
        mod = from_fx(torch.fx.symbolic_trace(torch.nn.Sequential(layer)), infos([IMAGE]))
        with torch.no_grad():
            np.testing.assert_allclose(run(mod, [IMAGE])[0], layer(IMAGE), rtol=1e-4, atol=1e-4)


def test_places_and_promotion() -> None:
    check(lambda a, i: a[i[0] % 2] + i.sum(), A, INTS, importers=["exported"])
    check(lambda a, i: F.embedding(i, a[0]), A, INTS % 3, importers=["exported"])
    check(lambda a, i: torch.gather(a[0, :2], 1, i % 3), A, INTS)
    check(lambda i: i / 2 + i * 0.5, INTS)
    check(lambda i: (i**2, i**9, 2**i, torch.div(i - 3, 2, rounding_mode="trunc")), INTS)
    check(lambda i: (i.to(torch.int8).clamp(min=-1), i.clamp(0.5), i.clamp(max=2)), INTS)
    check(lambda a: a.half().cumsum(1).float(), torch.round(A * 8))
    check(lambda i: (i.cumsum(1), i.to(torch.int8).cumprod(0)), INTS)
    check(lambda a, i: torch.stack([i, a[0, :2, :3]]), A, INTS, importers=["exported"])
    check(lambda a, i: torch.gather(a[0], 1, i[:1]), A, INTS)
    check(lambda a, i: torch.scatter(a[0], 1, i[:, :1], 2.0), A, INTS)
    check(lambda a, i: torch.scatter_add(a[0], 1, i, a[1, :2]), A, INTS)


@pytest.mark.parametrize(
    "function",
    [
        lambda a, i: a[:, i - 3],
        lambda a, i: a[i[0] - 3, i],
        lambda a, i: a[:, i, i[0]],
        lambda a, i: a[i, :, i[1:]],
        lambda a, i: a[:, torch.tensor([-1, 0])],
    ],
)
def test_places_of_several_dimensions(function) -> None:
    check(function, torch.rand(4, 4, 5), INTS, importers=["exported", "dynamic"])
    check(lambda i: i + torch.tensor(True), INTS, importers=["exported"])


def test_attention_is_causal() -> None:
    q = torch.rand(1, 2, 3, 4)
    check(lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), q)
    mask = torch.tensor([[True, False, True]]).expand(3, 3)
    check(lambda q: F.scaled_dot_product_attention(q, q, q, mask), q, importers=["exported"])


@pytest.mark.parametrize(
    "function",
    [
        lambda q, k, m: F.scaled_dot_product_attention(q, k, k, m),
        lambda q, k, m: F.scaled_dot_product_attention(q, k, k, m * 1.0),
        lambda q, k, m: F.scaled_dot_product_attention(q[0], k[0], k[0], m[0]),
        lambda q, k, m: F.scaled_dot_product_attention(q[None], k[None], k[None], m),
        lambda q, k, m: F.scaled_dot_product_attention(q, k[:1], k[:1], enable_gqa=True),
    ],
)
def test_attention_with_masks(function) -> None:
    mask = torch.arange(4 * 2 * 3).reshape(4, 2, 3) % 5 > 1
    mask[1, 1] = False  # this query has no key
    check(function, torch.rand(4, 2, 5), torch.rand(4, 3, 5), mask, importers=["exported"])


def test_operators_that_change_a_view() -> None:
    def changed(x):
        y = x * 2
        y[:, 0].add_(1.0)
        z = y.relu_()
        return z + y

    def shared(y):
        row = y[0]
        y.add_(1.0)
        return row

    check(changed, A, importers=["exported"])
    with pytest.raises(GraphError, match="getitem is used after add_ has changed its memory"):
        from_fx(traced(lambda x: shared(x * 2), 1), infos([A]))

    def simple(x):
        y = x * 2
        y.add_(1.0)
        return y + 1

    def rectified(x):
        y = x * 2
        return F.relu(y, inplace=True) + y

    check(simple, A)
    check(rectified, A)
    model = torch.nn.ReLU(inplace=True)
    traced_model = torch.fx.symbolic_trace(Residual(model))
    (found,) = run(from_fx(traced_model, infos([A])), [A])
    np.testing.assert_allclose(found, Residual(model)(A).numpy())


def test_parameters_are_kept() -> None:
    torch.manual_seed(0)
    model, x = torch.nn.Sequential(torch.nn.Linear(4, 3)), torch.rand(2, 4)
    with torch.no_grad():
        wanted = model(x).numpy()
    mods = [
        from_fx(torch.fx.symbolic_trace(model), infos([x]), keep_params_as_input=True),
        from_exported_program(torch.export.export(model, (x,)), keep_params_as_input=True),
    ]
    for mod in mods:
        mod, params = detach_params(mod)
        machine = relax.VirtualMachine(relax.build(mod, "llvm"), te_sched.cpu())
        found = machine["main"](nd.array(x.numpy()), *params["main"])
        found = found[0] if isinstance(found, tuple | list) else found
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5)


def test_graphs_of_torch_compile() -> None:
    mod = dynamo_capture_subgraphs(torch.nn.Linear(4, 3), torch.rand(2, 4))
    assert str(mod["subgraph_0"].ret_struct_info) == 'R.Tensor((2, 3), dtype="float32")'


def test_all_unsupported_operators_are_listed() -> None:
    def odd(x):
        return torch.linalg.det(x) + torch.logdet(x) + torch.linalg.det(x + 1)

    program = torch.export.export(Model(odd), (torch.rand(2, 2),))
    with pytest.raises(GraphError, match="2 operators are not supported") as caught:
        from_exported_program(program)
    text = str(caught.value)
    assert "aten._linalg_det.default, aten._linalg_slogdet.default" in text  # decomposed
    assert "test_operators.py" in text  # where they are
    with pytest.raises(GraphError, match=r"1 operator is not supported: torch\.nn\.GLU"):
        from_fx(torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.GLU())), [((2, 2), "float32")])


N = tir.Var("n", "int64")
BATCH_NORM = torch.nn.BatchNorm2d(2, track_running_stats=False)


@pytest.mark.parametrize(
    ("function", "shape", "message"),
    [
        (lambda x: torch.norm(x, "nuc"), (2, 2), "a norm of order 'nuc'"),
        (lambda x: x.reshape([2], 1), (2,), "are numbers and lists"),
        (lambda x: x.split(2), (N,), "cannot split a dimension of size n"),
        (lambda x: torch.unbind(x), (N, 2), "cannot unbind a dimension of size n"),
        (
            lambda x: torch.ops.aten.adaptive_max_pool2d(x, [2, 2])[1],
            (1, 4, 4),
            "result 1 of .* is not computed",
        ),
        (lambda x: x[1:, x], (2, 2), "expected a tensor of integers"),
        (lambda x: x.is_sparse, (2,), "attribute is_sparse"),
        (lambda x: x.diagonal(), (N, 2), "the elements of a tensor of shape"),
        (lambda x: x.unfold(0, 2, 1), (N, 2), "cannot unfold a dimension of size n"),
        (
            lambda x: F.adaptive_max_pool1d(x, 2),
            (1, 2, N),
            "cannot divide a dimension of size n into 2 parts",
        ),
        (
            lambda x: torch.convolution(x, x, None, [1], [0], [1], True, [0] * 3, 1),
            (1, 1, 2, 2, 2),
            "transposed convolutions of 3",
        ),
        (BATCH_NORM, (1, 2, 2, 2), "statistics of the batch"),
        (
            torch.nn.Conv2d(2, 2, 3, padding_mode="circular"),
            (1, 2, 5, 5),
            "padding_mode='circular'",
        ),
    ],
)
def test_operators_reject(function, shape, message: str) -> None:
    model = function if isinstance(function, torch.nn.Module) else None
    graph = torch.fx.symbolic_trace(torch.nn.Sequential(model)) if model else traced(function, 1)
    with pytest.raises(GraphError, match=message):
        from_fx(graph, [(shape, "float32")])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "the model has 1 inputs, got shapes of 0"),
        ([(2, 3)], "input 0 is \\(2, 3\\)"),
    ],
)
def test_inputs_are_rejected(given, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        from_fx(traced(torch.relu, 1), given)


def test_values_of_nodes_are_tensors_of_known_shape() -> None:
    unknown = relax.Var("x", relax.TensorStructInfo(dtype="float32", ndim=1))
    with pytest.raises(GraphError, match="the shape of x is not known"):
        Importer().shape(unknown)
    with pytest.raises(GraphError, match="an operator of the model is given s"):
        Importer().info(relax.Var("s", relax.ShapeStructInfo([2])))


def test_formulas_of_sizes() -> None:
    sympy = pytest.importorskip("sympy")
    n = sympy.Symbol("n", integer=True)

    class Size:
        def __init__(self, expr) -> None:
            self.node = self
            self.expr = expr

    found = size_expr(Size(2 * n + n**2), {"n": N})
    assert te_sched.arith.Analyzer().can_prove_equal(found, N * N + N * 2)
    with pytest.raises(GraphError, match="size sin"):
        size_expr(Size(sympy.sin(n)), {})


def test_programs_with_graphs_inside_are_rejected() -> None:
    from torch._higher_order_ops.map import map as map_rows

    def mapped(x):
        return map_rows(lambda row, total: row * total, x, x.sum())

    program = torch.export.export(Model(mapped), (A,))
    with pytest.raises(GraphError, match=r"not supported: .*map"):
        from_exported_program(program)


def test_programs_are_decomposed_in_one_run(monkeypatch) -> None:
    def function(x):
        x = x.clone()
        x[:, 1:] *= 2  # which changes a view
        return F.glu(torch.logaddexp(x, x + 1).diff(dim=1), 2)

    program = torch.export.export(Model(function), (A,))
    run_all, runs = type(program).run_decompositions, []

    def counted(self, table):
        runs.append(table)
        return run_all(self, table)

    monkeypatch.setattr(type(program), "run_decompositions", counted)
    (found,) = run(from_exported_program(program), (A,))
    np.testing.assert_allclose(found, function(A).numpy(), rtol=1e-4, atol=1e-5)
    assert len(runs) == 1


def test_programs_without_values_are_rejected() -> None:
    program = torch.export.export(torch.nn.Linear(4, 3), (torch.rand(2, 4),))
    program.state_dict.clear()
    with pytest.raises(GraphError, match="has no values for weight"):
        from_exported_program(program)


def test_models_are_traced_or_exported_first() -> None:
    model = torch.nn.Linear(3, 4)
    with pytest.raises(GraphError, match=r"expected a torch\.fx\.GraphModule"):
        from_fx(model, [((2, 3), "float32")])
    with pytest.raises(GraphError, match="expected an exported program"):
        from_exported_program(model)


def test_trunc_keeps_the_sign_of_zero() -> None:
    x = torch.tensor([-0.0, 0.0, -0.5, 0.5, -1.5, torch.inf, -torch.inf, torch.nan])
    for function in (torch.trunc, lambda a: torch.div(a, 2.0, rounding_mode="trunc")):
        check(lambda a, function=function: 1.0 / function(a), x)
        check(function, x)


@pytest.mark.parametrize("heads", [(1,), (), (4,)])
def test_attention_with_broadcast_heads(heads) -> None:
    q, k, mask = torch.rand(2, 4, 5, 8), torch.rand(*heads, 6, 8), torch.rand(5, 6) > 0.2
    attend = F.scaled_dot_product_attention
    check(lambda q, k, mask: attend(q, k, k, mask), q, k, mask, importers=["exported"])


def test_attention_of_five_dimensions() -> None:
    q, mask = torch.rand(2, 3, 4, 5, 8), torch.rand(3, 1, 5, 5) > 0.2
    attend = F.scaled_dot_product_attention
    check(lambda q, mask: (attend(q, q, q, mask), attend(q, q, q, is_causal=True)), q, mask)


def test_shifts_and_powers_of_integers() -> None:
    numbers, counts = torch.tensor([1, -7, 5, -1]), torch.tensor([1, 70, -1, 3])
    check(lambda a, b: (a << b, a >> b, a << 2, a >> 1, a.pow(b % 9 - 4), a**2), numbers, counts)
    small = torch.tensor([1, 7, 255], dtype=torch.uint8)
    check(lambda a, b: (a << b, a >> b), small, torch.tensor([8, 1, 9], dtype=torch.uint8))


def test_paddings_that_take_elements_away() -> None:
    modes = ("constant", "reflect", "replicate", "circular")
    check(lambda x: [F.pad(x, (-1, 1, -2, 1), mode) for mode in modes], IMAGE)
    check(lambda x: [F.pad(x[:0, 0], (1, 2), mode) for mode in modes], IMAGE)


def test_numbers_as_tensors() -> None:
    check(lambda x: (x.softmax(0), x.log_softmax(0), x.transpose(0, -1)), torch.tensor(1.5))
    check(lambda i: (i.log2(), i.log10(), (i > 1).sign(), (i > 1).square()), INTS)
    check(lambda i: torch.where(i > 1, 1, 0), INTS)
    pool = {"divisor_override": 2, "ceil_mode": True}
    check(lambda i: F.avg_pool2d(i[None].abs(), 2, 1, 1, **pool), INTS, importers=["exported"])


def test_rounding_to_decimals() -> None:
    check(lambda x: [torch.round(x * 300, decimals=n) for n in (2, -1, 0)], A)


def test_sums_of_products() -> None:
    check(lambda a, b: torch.addbmm(a[0, :, :3], a, b.mT, beta=2, alpha=0.5), A, B)


def test_ranks_and_splits() -> None:
    def function(a):
        ranks = [
            f(x) for f in (torch.atleast_1d, torch.atleast_2d) for x in (a, a[0, 0], a[0, 0, 0])
        ]
        ranks += [torch.atleast_3d(x) for x in (a[0], a[0, 0], a[0, 0, 0])]
        parts = (*a.hsplit(3), *a.vsplit([1]), *a.dsplit(2), *a[0, 0].hsplit(2))
        return *ranks, *parts, torch.cartesian_prod(a[0, 0], a[0, :, 0])

    check(function, A, importers=["exported"])
