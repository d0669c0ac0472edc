"""Writes to memory that tensors share: views, their sources, inputs, parameters and buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from te_sched.relax.frontend.torch import from_exported_program
from te_sched.relax.frontend.torch.shared_memory import is_known, written_memory
from tests.relax.frontend.torch.torch_models import check, model_of, results_of

torch = pytest.importorskip("torch")

X = torch.arange(24.0).reshape(2, 3, 4) - 7.5
Y = torch.linspace(-1, 1, 4)


@pytest.fixture(autouse=True)
def _without_decompositions(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch decomposes only the programs of tests that say so."""

    def refuse(*_: object) -> None:
        raise AssertionError("the program is decomposed")

    if "decomposed" not in request.node.name:
        monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", refuse)


def written(write: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that writes to a copy, and returns views from before and after, and the copy."""

    def function(x: Any) -> Any:
        base = x * 2
        before = (base[0], base.transpose(0, 1)[1:], base.view(-1), base.unsqueeze(1))
        sums = base.sum()
        write(base)
        return (*before, base[:, 1], sums, base)

    return function


WRITES: dict[str, Callable[[Any], Any]] = {
    "select": lambda b: b[1].fill_(3),
    "select negative": lambda b: b.select(-1, -2).copy_(b[:, :, 0]),
    "slice": lambda b: b[:, 1:3].mul_(2),
    "slice of steps": lambda b: b[:, ::2, 1::2].add_(1),
    "empty slice": lambda b: b[:, 3:].add_(1),
    "last slice": lambda b: b[..., -1:].neg_(),
    "transpose": lambda b: b.transpose(0, 2)[1].add_(1),
    "permute": lambda b: b.permute(2, 0, 1)[:, 1].mul_(3),
    "negative permute": lambda b: b.permute(-1, -3, -2)[0].mul_(3),
    "t": lambda b: b[0].t()[2].sub_(1),
    "view": lambda b: b.view(6, 4)[3].zero_(),
    "unsqueeze": lambda b: b.unsqueeze(0)[0, 1, 2].exp_(),
    "squeeze": lambda b: b[:, 1:2].squeeze(1).mul_(5),
    "diagonal": lambda b: b.diagonal(0, 1, 2).fill_(9),
    "detach": lambda b: b.detach()[0].add_(1),
    "broadcast copy": lambda b: b[:, 0].copy_(Y),
    "other dtype": lambda b: b[0, 0].copy_(torch.arange(4)),
    "index": lambda b: b[1].index_fill_(0, torch.tensor([0, 2]), 4.0),
    "chain": lambda b: b[0].add_(1).mul_(2)[1].sub_(5),
    "two": lambda b: (b[0].add_(b[1]), b[1].add_(b[0])),
    "of a result": lambda b: b.add_(1)[0].mul_(2),
    "reshape after all": lambda b: b[0].add_(1).reshape(-1),
    "dropout": lambda b: torch.nn.functional.dropout(b, 0.5, False)[1].add_(2),
}


@pytest.mark.parametrize("name", WRITES)
def test_all_views_have_the_new_elements(name: str) -> None:
    check(written(WRITES[name]), X)


def test_rows_are_written_in_turn() -> None:
    def function(x: Any) -> Any:
        output, state = torch.zeros_like(x), x[0] * 0
        for row in range(x.shape[0]):
            state = state * 0.5 + x[row]
            output[row] = state
        return output

    check(function, X)


def test_nan_and_infinities_are_written() -> None:
    def function(x: Any) -> Any:
        base = x.clone()
        base[0].div_(torch.zeros(3, 4))
        return base, base[0]

    check(function, torch.tensor([0.0, 1, -1, float("nan")]).expand(2, 3, 4).contiguous())


@pytest.mark.parametrize("shape", [(1, 1, 4), (2, 1, 4), (1, 3, 4)])
def test_extents_of_one(shape: tuple[int, ...]) -> None:
    check(written(lambda b: b[-1:].squeeze(0)[0].add_(1)), torch.rand(shape).expand(2, 3, 4) + 0)
    check(lambda x: (y := x + 0, y[0, 0].mul_(2), y)[-1], torch.rand(shape))


def test_no_elements_are_written() -> None:
    check(lambda x: (y := x + 0, y[:, 0].mul_(2), y)[-1], torch.rand(0, 3))


class Changing(torch.nn.Module):
    """Writes to an input, a parameter and a buffer, through views."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(Y.clone(), requires_grad=False)
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x: Any) -> Any:
        self.count[1:].add_(1)
        self.weight.div_(2)
        x[0].add_(self.weight)
        return x.sum(-1) + self.count


def test_inputs_parameters_and_buffers_are_written() -> None:
    program = torch.export.export(Changing(), (X.clone(),))
    module = from_exported_program(program, state="outputs")
    assert list(module["main"].attrs["buffers"]) == ["weight", "count"]
    args = (X.clone(), Y.clone(), torch.zeros(3))
    model, x = Changing(), X.clone()
    expected = [model(x), model.weight, model.count, x]
    results = results_of(module, args)
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, value.detach().numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "write",
    [
        lambda b: b.reshape(6, 4)[0].add_(1),
        lambda b: (c := b.reshape(6, 4), b[0].add_(1), b.copy_(c.view(2, 3, 4))),
        lambda b: b.split(1)[1].add_(1),
        lambda b: b.to(torch.float32)[0].add_(1),
        lambda b: b.view(torch.int32)[0].add_(1),
        lambda b: torch.view_as_complex(b.view(2, 3, 2, 2))[0].add_(1),
    ],
)
def test_what_torch_alone_can_tell_is_decomposed(write: Callable[[Any], Any]) -> None:
    program = torch.export.export(model_of(written(write), 1), (X,))
    inputs = {node.name for node in program.graph.nodes if node.op == "placeholder"}
    memory = written_memory(list(program.graph.nodes))
    assert [is_known(part, inputs) for part in memory] == [False]


def test_programs_whose_writes_are_decomposed_have_the_same_results() -> None:
    check(written(lambda b: b.reshape(6, 4)[0].add_(1)), X)
    check(written(lambda b: b.split(1)[1].add_(1)), X)


def test_views_that_may_be_copies_are_read_after_all_writes() -> None:
    check(
        lambda x: (y := x * 2, y[0].mul_(3), y.mT.reshape(6, 4) + y.contiguous().view(6, 4))[-1], X
    )


def test_views_that_may_be_copies_do_not_matter_if_one_side_is_not_used_again() -> None:
    def function(x: Any) -> Any:
        inner = (x * 2).reshape(6, 4)[1:].reshape(-1, 2)[1:]
        inner.mul_(3)
        inner[0].add_(1)
        outer = x + 1
        flat = outer.reshape(-1) + 1
        outer[0].add_(2)
        return inner, flat, outer

    check(function, X)


def test_memory_is_written_only_by_changes() -> None:
    def function(x: Any) -> Any:
        base = x + 1
        other = x[0] * 2
        base[0].add_(other)
        return base, x[1]

    program = torch.export.export(model_of(function, 1), (X,))
    (memory,) = written_memory(list(program.graph.nodes))
    assert [node.name for node in memory.nodes] == ["add", "select_1", "add_"]
    assert is_known(memory, ())
