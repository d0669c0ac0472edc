"""`module.jit`."""

from __future__ import annotations

import pytest

from te_sched.errors import GraphError
from te_sched.relax.frontend import nn

torch = pytest.importorskip("torch")
SPEC = {"forward": {"x": nn.spec.Tensor([2, 3], "float32")}}


def test_jit_takes_and_returns_tensors_of_torch() -> None:
    model = nn.Linear(3, 4)
    model.weight.data, model.bias.data = torch.rand(4, 3), torch.rand(4)
    x = torch.rand(2, 3)
    found = model.jit(SPEC)["forward"](x)
    wanted = x @ torch.tensor(model.weight.data.numpy()).T + torch.tensor(model.bias.data.numpy())
    assert torch.allclose(found, wanted)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: nn.ReLU().jit(SPEC, out_format="numpy"), "cannot be compiled to format 'numpy'"),
        (lambda: nn.Linear(3, 4).jit(SPEC), "parameter weight has no values"),
        (lambda: nn.ReLU().jit(SPEC)["backward"], "no method backward"),
        (lambda: nn.ReLU().jit(SPEC)["forward"](), "is called with 0 arguments"),
    ],
)
def test_jit_rejects(act, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        act()
