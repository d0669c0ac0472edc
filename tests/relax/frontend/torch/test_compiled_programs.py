"""Programs of users of `torch.compile`, beside torch without it."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from te_sched.relax.frontend.torch.compile_backend import compile_graph

torch = pytest.importorskip("torch")
nn = torch.nn
# A graph of one of these programs that is not built as a whole is an error.
STRICT = {"backend": compile_graph, "options": {"strict": True}}


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    torch.compiler.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        yield
    torch.compiler.reset()


def check(function: Any, *calls: Any, **options: Any) -> Any:
    """The compiled function, after calls of it and of the function itself."""
    other = copy.deepcopy(function) if isinstance(function, nn.Module) else function
    fast = torch.compile(function, **{**STRICT, **options})
    for args in calls:
        mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
        result, expected = fast(*mine), other(*theirs)
        torch.testing.assert_close(result, expected, equal_nan=True)
        torch.testing.assert_close(mine, theirs, equal_nan=True)
    return fast


def test_perceptron_with_batches_of_several_sizes() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4), nn.Softmax(-1)).eval()
    check(model, *[(torch.rand(batch, 8),) for batch in (4, 5, 6, 1, 4)])


def test_convolutions_with_batch_norm() -> None:
    model = nn.Sequential(
        *(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)),
    ).eval()
    image = torch.rand(2, 3, 12, 12)
    check(model, (image,), (image.to(memory_format=torch.channels_last),))


class Attention(nn.Module):
    """A layer of a transformer that asks torch for scaled dot products."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.norm = nn.LayerNorm(16)

    def forward(self, x: Any) -> Any:
        q, k, v = self.project(self.norm(x)).view(*x.shape[:2], 3, 2, 8).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).flatten(2))


def test_attention_over_texts_of_several_lengths() -> None:
    check(Attention().eval(), *[(torch.rand(2, length, 16),) for length in (5, 7, 3)])


def test_encoder_layer_with_a_mask() -> None:
    model = nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    check(model, (torch.rand(2, 5, 16), mask))


def test_flow_that_depends_on_data() -> None:
    def model(x: Any) -> Any:
        y = x * 2
        if y.sum() > 0:
            return y.relu()
        return y - 1

    check(model, (torch.ones(3),), (-torch.ones(3),))


def test_print_between_operators(capsys: pytest.CaptureFixture[str]) -> None:
    def model(x: Any) -> Any:
        y = x * 2
        print("half way")
        return y + 1

    check(model, (torch.rand(3),))
    assert capsys.readouterr().out == "half way\n" * 2


def test_lists_and_dictionaries() -> None:
    def model(batch: Any) -> Any:
        return {"sum": batch["x"] + batch["parts"][0], "parts": [batch["parts"][1] * 2, batch["x"]]}

    check(model, ({"x": torch.rand(3), "parts": [torch.rand(3), torch.rand(2)]},))


def test_decorated_functions_and_methods() -> None:
    @torch.compile(**STRICT)
    def scaled(x: Any, factor: float = 2.0) -> Any:
        return torch.tanh(x) * factor

    x = torch.rand(4)
    torch.testing.assert_close(scaled(x), torch.tanh(x) * 2)
    torch.testing.assert_close(scaled(x, factor=0.5), torch.tanh(x) * 0.5)

    class Model:
        weight = torch.rand(4)

        @torch.compile(**STRICT)
        def __call__(self, x: Any) -> Any:
            return (x * self.weight).sum()

    torch.testing.assert_close(Model()(x), (x * Model.weight).sum())


def test_dynamic_shapes() -> None:
    def model(x: Any) -> Any:
        return torch.softmax(x, -1) @ x.t() + x.shape[0]

    check(model, *[(torch.rand(n, 4),) for n in (3, 5, 2)], dynamic=True)
    fast = torch.compile(lambda x: x.view(-1, 2).sum(1), **STRICT)
    for n in (4, 6, 8):
        x = torch.rand(n, 2)
        torch._dynamo.mark_dynamic(x, 0)
        torch.testing.assert_close(fast(x), x.view(-1, 2).sum(1))


def test_halves_of_an_open_size() -> None:
    """torch knows that they are equal, and te_sched checks it."""

    def rotated(x: Any) -> Any:
        angles = torch.outer(torch.arange(x.shape[0]), 1 / torch.arange(1, x.shape[1], 2))
        first, second = x[:, ::2], x[:, 1::2]
        return first * angles.cos() - second * angles.sin()

    options = {"backend": "te_sched", "dynamic": True, "options": {"strict": True}}
    fast = torch.compile(rotated, **options)
    for sizes in ((3, 4), (5, 8)):
        x = torch.rand(sizes)
        torch.testing.assert_close(fast(x), rotated(x))


def test_numbers_as_arguments() -> None:
    calls = [(torch.rand(3), n, scale) for n, scale in ((2, 1.5), (3, 2.5), (4, -0.0))]
    check(lambda x, n, scale: x * n * scale + n, *calls)


def test_recurrent_layers() -> None:
    check(nn.LSTM(4, 8, batch_first=True).eval(), (torch.rand(2, 5, 4),))
    check(nn.GRU(4, 8).eval(), (torch.rand(5, 2, 4),))


def test_counters_and_statistics_in_buffers() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.tensor(0))
            self.register_buffer("total", torch.zeros(2))

        def forward(self, x: Any) -> Any:
            self.count += 1
            self.total[0] += x.sum()
            return x * self.total.sum() / self.count

    model = Counter()
    check(model, *[(torch.rand(3),) for _ in range(3)])
    assert model.count == 3
    norm = nn.BatchNorm1d(3).train()
    other = copy.deepcopy(norm)
    fast = torch.compile(norm, **STRICT)
    for _ in range(2):
        x = torch.rand(4, 3)
        torch.testing.assert_close(fast(x), other(x))
    torch.testing.assert_close(dict(norm.state_dict()), dict(other.state_dict()))


def test_changes_in_place_and_results_that_share_memory() -> None:
    check(lambda x: x.add_(1).mul_(2), (torch.rand(3),))
    check(lambda x: x[0].add_(1), (torch.rand(3, 2),))

    def doubles(x: Any) -> None:
        x.mul_(2)

    check(doubles, (torch.rand(3),))
    fast = check(lambda x: (x.view(-1), x[0], x, x + 1), (torch.rand(3, 2),))
    x = torch.rand(3, 2)
    flat, row, same, _ = fast(x)
    assert same is x
    assert flat.data_ptr() == row.data_ptr() == x.data_ptr()
    y = (torch.rand(4, 3).t() + 1).t()
    check(lambda x: (x.t() + 1).t().view(-1), (y,))


def test_other_dtypes_compile_again() -> None:
    dtypes = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int32)
    check(lambda x: (x * 2 + 1).abs(), *[(torch.arange(4).to(dtype),) for dtype in dtypes])
    check(lambda x, mask: (x[mask], ~mask), (torch.arange(4), torch.arange(4) > 1), options={})


def test_two_threads() -> None:
    model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8)).eval()
    fast = check(model, (torch.rand(4, 8),))
    faults: list[str] = []

    def work(seed: int) -> None:
        x = torch.rand(4, 8, generator=torch.Generator().manual_seed(seed))
        with torch.no_grad():
            expected = model(x)
            for _ in range(200):
                if not torch.allclose(fast(x), expected, 1e-4, 1e-5):
                    faults.append(f"thread {seed}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


def test_a_model_of_transformers() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(32, 16, 1, 2, 32, max_position_embeddings=16)
    model = transformers.BertModel(config).eval()
    fast = torch.compile(model, **{**STRICT, "options": {}})
    ids = torch.randint(0, 32, (1, 6))
    expected = model(ids).last_hidden_state
    torch.testing.assert_close(fast(ids).last_hidden_state, expected, rtol=1e-4, atol=1e-4)
