"""`while_loop` in exported programs, beside what torch computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax
from te_sched.errors import GraphError
from te_sched.relax.frontend.torch import from_exported_program
from tests.relax.frontend.torch.torch_models import check, torch

while_loop = pytest.importorskip("torch._higher_order_ops.while_loop").while_loop
scan = pytest.importorskip("torch._higher_order_ops.scan").scan
map_rows = pytest.importorskip("torch._higher_order_ops.map").map
associative_scan = pytest.importorskip("torch._higher_order_ops.associative_scan").associative_scan
ROWS = {0: torch.export.Dim("rows", max=64)}


class Layers(torch.nn.Module):
    """A layer as often as a call says, unless the sum becomes large."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, count: Any, x: Any) -> Any:
        def goes_on(count: Any, x: Any) -> Any:
            return (count > 0) & (x.sum() < 40)

        return while_loop(
            goes_on, lambda count, x: (count - 1, self.layer(x) + x.exp().mean()), (count, x)
        )


class Rows(torch.nn.Module):
    """As many steps as an open size says, and a loop in a condition."""

    def forward(self, count: Any, x: Any) -> Any:
        first, shifted = while_loop(
            lambda k, x: k < x.shape[0], lambda k, x: (k + 1, x + k), (count.clone(), x)
        )
        halved = torch.cond(
            shifted.sum() > 10,
            lambda y: while_loop(lambda y: y.abs().max() > 1, lambda y: (y / 2,), (y,))[0],
            lambda y: y - 1,
            (shifted,),
        )
        return first, halved


class Nested(torch.nn.Module):
    """A loop in a loop."""

    def forward(self, count: Any, x: Any) -> Any:
        def step(k: Any, x: Any) -> Any:
            _, y = while_loop(lambda m, y: m > 0, lambda m, y: (m - 1, y + x), (k.clone(), x))
            return k - 1, y / 2

        return while_loop(lambda k, x: k > 0, step, (count, x))


class Recurrence(torch.nn.Module):
    """Scans of states and elements, of which one is reversed, and a function of each row."""

    def forward(self, count: Any, x: Any) -> Any:
        bias = x.mean()
        last, steps = scan(
            lambda h, row: (h * 0.5 + row, torch.stack([h, row]) + bias), x[0] * count, x, dim=0
        )
        sums, numbers = scan(
            lambda s, row: ([s[0] + row[0], s[1] + 1], [s[1] * 1.0, row[1] * s[0]]),
            [torch.zeros(4), torch.zeros(())],
            [x, x.sin()],
            reverse=True,
        )
        rows = map_rows(lambda row, y: (row @ y.T).exp(), x, x - bias)
        return last, steps, *sums, *numbers, rows


@pytest.mark.parametrize("is_open", [False, True], ids=["fixed", "open"])
@pytest.mark.parametrize("kind", [Layers, Rows, Nested, Recurrence])
def test_loops_are_what_torch_computes(kind: type[Any], is_open: bool) -> None:
    torch.manual_seed(0)
    model = kind().eval()
    example = torch.tensor(2), torch.linspace(-1, 2, 12).reshape(3, 4)
    shapes = ({}, ROWS) if is_open else None
    program = torch.export.export(model, example, dynamic_shapes=shapes)
    machine = relax.VirtualMachine(relax.build(from_exported_program(program), "llvm"), nd.cpu())
    for count in (0, 1, 5):
        for rows in (3, 7) if is_open else (3,):
            inputs = torch.tensor(count), torch.randn(rows, 4)
            results = machine["main"](*[nd.array(value.numpy()) for value in inputs])
            for result, expected in zip(results, model(*inputs), strict=True):
                np.testing.assert_allclose(result.numpy(), expected.detach().numpy(), rtol=1e-4)


def test_a_state_of_numbers_is_refused() -> None:
    class Numbers(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return while_loop(lambda k, x: k < 5, lambda k, x: (k + 1, x + k), (0, x))[1]

    program = torch.export.export(Numbers(), (torch.ones(3),))
    with pytest.raises(GraphError, match="the state of a loop has the number 0") as raised:
        from_exported_program(program)
    assert "torch.tensor(0)" in str(raised.value)


def test_associative_scans() -> None:
    def function(x: Any) -> Any:
        return associative_scan(lambda a, b: a * 0.5 + b, x, 0, combine_mode="generic")

    for rows in (1, 2, 7):
        check(function, torch.randn(rows, 3))
