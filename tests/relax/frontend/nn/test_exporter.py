"""Modules become graphs that run."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.errors import CallError, GraphError
from te_sched.relax.frontend import nn
from te_sched.relax.frontend.nn import spec
from te_sched.relax.vm.model_builtins import AttentionCache


def run(mod, name, *args):
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), te_sched.cpu())
    return machine[name](*args)


class Packed(nn.Module):
    def __init__(self) -> None:
        self.linear_1 = nn.Linear(3, 2)

    def forward(self, x, parts, count: int):
        return self.linear_1(x), nn.op.reshape(parts[0], (count, 2))


@pytest.mark.parametrize("mode", ["plain", "packed"])
def test_exported_module_runs(mode: str) -> None:
    tensor = spec.Tensor([4, 3], "float32")
    settings = {"param_mode": mode, "effect_mode": "none"}
    parts = (spec.Tensor([4], "float32"),)
    given = {"x": tensor, "parts": parts, "count": int, "$": settings}
    mod, params = Packed().export_tvm({"forward": given})
    rng = np.random.default_rng(0)
    x, w, b = [rng.random(s).astype("float32") for s in [(4, 3), (2, 3), (2,)]]
    p = rng.random(4).astype("float32")
    weights = [nd.array(w), nd.array(b)]
    rest = weights if mode == "plain" else [tuple(weights)]
    args = [nd.array(x), (nd.array(p),), relax.vm.ShapeTuple([2]), *rest]
    found, shaped = run(mod, "forward", *args)
    np.testing.assert_allclose(found.numpy(), x @ w.T + b, rtol=1e-5)
    assert shaped.numpy().tolist() == p.reshape(2, 2).tolist()
    assert len(params) == 2


def test_results_are_tensors() -> None:
    class Odd(nn.Module):
        def forward(self, n: int):
            return n

    with pytest.raises(GraphError, match="method forward returns n"):
        Odd().export_tvm({"forward": {"n": int}})


def test_cache_rejects_other_shapes() -> None:
    cache = AttentionCache(nd.empty((1, 2)), relax.vm.ShapeTuple([1, 2]), 0)
    with pytest.raises(CallError, match="of shape \\(1, 3\\)"):
        cache.append(nd.empty((1, 3)))
    with pytest.raises(CallError, match="is viewed as \\(5, 2\\)"):
        cache.view(relax.vm.ShapeTuple([5, 2]))
