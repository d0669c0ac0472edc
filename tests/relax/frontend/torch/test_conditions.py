"""`torch.cond` in exported programs, and blocks with autocast or without gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax
from te_sched.relax.frontend.torch import from_exported_program
from tests.relax.frontend.torch.torch_models import torch

X = torch.linspace(-1, 2, 12).reshape(3, 4)


class Chosen(torch.nn.Module):
    """A layer in one branch alone."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        taken = torch.cond(x.sum() > 0, lambda x: self.layer(x) + 1, lambda x: x * 2, (x,))
        return torch.cond(taken[0, 0] > 1, lambda y: y.exp(), lambda y: -y, (taken,))


class Surrounded(Chosen):
    """Blocks that torch runs in other modes."""

    def forward(self, x: Any) -> Any:
        with torch.no_grad():
            y = self.layer(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.layer(y)
        return y


def check(model: Any, options: dict[str, Any], tolerance: float, *arrays: Any) -> None:
    """Compare what a model computes with what its graph does."""
    program = torch.export.export(model.eval(), (X,), **options)
    machine = relax.VirtualMachine(relax.build(from_exported_program(program), "llvm"), nd.cpu())
    for x in arrays:
        (result,) = machine["main"](nd.array(x.numpy()))
        expected = model(x).detach().float().numpy()
        np.testing.assert_allclose(result.numpy().astype("float32"), expected, rtol=tolerance)


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_a_call_chooses_a_branch(is_dynamic: bool) -> None:
    options = {"dynamic_shapes": ({0: torch.export.Dim("n", max=64)},)} if is_dynamic else {}
    more = (X.repeat(3, 1),) if is_dynamic else ()
    check(Chosen(), options, 1e-5, X, -X, X * 10, *more)


def test_modes_of_torch_are_what_torch_computes_in_them() -> None:
    check(Surrounded(), {}, 2e-2, X, -X)
